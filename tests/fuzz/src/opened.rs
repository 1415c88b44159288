//! Targets for files that are opened with a model, a question or unfinished work: tokenizers, weights,
//! GGUF files, adapters, manifests, traces, journals, word tables. Seeds are good files, so changes
//! reach behind lengths and headers.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use common::journal::Journal;
use common::wordings::Wordings;
use kg::GraphFolder;
use kg::subgraph::Neighbourhood;
use model::{Dataset, GgufModel, KgAgentInfo, ModelFolder, Preset, Tensor, Tokenizer, Weights};
use toolbox::explain::WordTables;
use toolbox::trace;

use super::{FILMS, must, scratch};

/// A small model folder, written once.
static MODEL: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let texts = ["who directed the film of 1987? ans = end(e0)"];
    let tokenizer = must(Tokenizer::train_bpe(texts.iter().cycle().take(50), 300));
    let mut config = Preset::Tiny.config(tokenizer.vocab_size());
    (
        config.num_hidden_layers,
        config.hidden_size,
        config.intermediate_size,
    ) = (1, 32, 32);
    (config.num_attention_heads, config.num_key_value_heads) = (1, 1);
    let mut weights = Weights::default();
    for (name, shape) in config.tensors() {
        let data = vec![0.5; shape.iter().product()];
        weights.insert(name, Tensor { shape, data });
    }
    let folder = scratch().join("good");
    let info = KgAgentInfo::default();
    must(ModelFolder::write(
        &folder, &config, &tokenizer, &info, &weights,
    ));
    let names = ["config.json", "tokenizer.json", "model.safetensors"];
    names
        .map(|name| (name.to_owned(), must(fs::read(folder.join(name)))))
        .into()
});

fn good(name: &str) -> Vec<u8> {
    let found = MODEL.iter().find(|(known, _)| known == name);
    found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
}

/// The first bytes of a file; those behind it are numbers, whose changes nothing finds.
fn beginning(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(6_000);
    bytes
}

/// A folder with the good files, one of them replaced. Missing bytes at its end are those of the good
/// one.
fn with(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let folder = scratch().join("changed");
    must(fs::create_dir_all(&folder));
    for (known, good) in MODEL.iter() {
        let content = if known == name {
            let rest = good.get(bytes.len()..).unwrap_or_default();
            [bytes, rest].concat()
        } else {
            good.clone()
        };
        must(fs::write(folder.join(known), content));
    }
    folder
}

/// A tokenizer, which reads what it wrote.
pub fn tokenizer(bytes: &[u8]) {
    let Ok(tokenizer) = Tokenizer::from_bytes(bytes) else {
        return;
    };
    let _ = (tokenizer.control(), tokenizer.vocab_size());
    if let Ok(ids) = tokenizer.encode("who directed <|end|> İ 1987?") {
        let _ = tokenizer.decode(&ids);
    }
    let _ = tokenizer.decode(&[0, 1, u32::MAX]);
}

/// A model folder: its configuration, or the header of its weights.
pub fn weights(bytes: &[u8]) {
    for name in ["config.json", "model.safetensors"] {
        if let Ok(folder) = ModelFolder::open(&with(name, bytes)) {
            let _ = folder.weights();
        }
    }
}

/// The names, sizes and settings of a GGUF file.
pub fn gguf(bytes: &[u8]) {
    let file = scratch().join("changed.gguf");
    if fs::write(&file, bytes).is_ok()
        && let Ok(model) = GgufModel::open(&file)
    {
        let _ = model.config.vocab_size;
    }
}

/// An adapter in PEFT layout on the good model.
pub fn adapter(bytes: &[u8]) {
    let base = with("", &[]);
    let folder = scratch().join("adapter");
    let config = format!(
        r#"{{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"], "base_model_name_or_path": "{}"}}"#,
        base.display()
    );
    must(fs::create_dir_all(&folder));
    for (json, tensors) in [
        (bytes, &good("model.safetensors")[..]),
        (config.as_bytes(), bytes),
    ] {
        must(fs::write(folder.join("adapter_config.json"), json));
        must(fs::write(folder.join("adapter_model.safetensors"), tensors));
        if let Ok(folder) = ModelFolder::open(&folder) {
            let _ = folder.weights();
        }
    }
}

/// A trace: what is read is written and read again.
pub fn traces(bytes: &[u8]) {
    if let Ok(events) = trace::read(bytes) {
        let mut written = Vec::new();
        must(trace::write(&events, &mut written));
        assert_eq!(must(trace::read(&written[..])).len(), events.len());
    }
}

/// A journal: what is found in it is read, or reported as damaged. The checksums of a journal reject
/// nearly every change of a record, so the bytes are also read as the content of one.
pub fn journal(bytes: &[u8]) {
    if let Some(record) = Neighbourhood::from_record(bytes) {
        assert_eq!(record.to_record(), bytes);
    }
    let file = scratch().join("journal");
    must(fs::write(&file, bytes));
    if let Ok((journal, found)) = Journal::open(&file, "fuzz", "1") {
        for entry in found {
            let _ = journal.read(&entry);
        }
        let entry = must(journal.append(7, b"more"));
        assert_eq!(must(journal.read(&entry)), b"more");
    }
}

/// The manifest of a graph folder. Its own hash rejects every change, so it is also read without one,
/// as in folders of early versions.
pub fn manifest(bytes: &[u8]) {
    let folder = scratch().join("graph-of-manifest");
    if !folder.exists() {
        must(GraphFolder::write(&folder, &FILMS, &[]));
    }
    let mut forms = vec![bytes.to_vec()];
    if let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_slice(bytes) {
        fields.insert("sha256".to_owned(), "".into());
        forms.push(serde_json::Value::Object(fields).to_string().into_bytes());
    }
    for form in forms {
        must(fs::write(folder.join("manifest.json"), form));
        let _ = GraphFolder::open(&folder);
        let _ = GraphFolder::verify(&folder);
    }
}

/// Word tables, hashes of wordings, and lines of training data.
pub fn words(bytes: &[u8]) {
    let folder = scratch().join("data");
    must(fs::create_dir_all(&folder));
    must(fs::write(folder.join("train.jsonl"), bytes));
    let _ = Dataset::read(Path::new(&folder));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(tables) = WordTables::parse(text) {
        let _ = (tables.name().len(), tables.with(&tables).len());
    }
    if let Some(wordings) = Wordings::parse(text) {
        assert_eq!(
            Wordings::parse(&wordings.to_text()).map(|one| one.len()),
            Some(wordings.len())
        );
    }
}

pub(super) fn tokenizers() -> Vec<Vec<u8>> {
    vec![good("tokenizer.json")]
}

pub(super) fn weight_files() -> Vec<Vec<u8>> {
    vec![good("config.json"), beginning(good("model.safetensors"))]
}

pub(super) fn adapters() -> Vec<Vec<u8>> {
    let config = br#"{"peft_type": "LORA", "r": 2, "lora_alpha": 4.0, "target_modules": ["q_proj", "v_proj"], "base_model_name_or_path": "../changed", "use_rslora": true}"#;
    vec![config.to_vec(), beginning(good("model.safetensors"))]
}

/// A GGUF file with one value of each kind and one tensor.
pub(super) fn gguf_files() -> Vec<Vec<u8>> {
    let mut out = b"GGUF".to_vec();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    out.extend(3_u32.to_le_bytes());
    out.extend(1_u64.to_le_bytes());
    out.extend(4_u64.to_le_bytes());
    for (name, value) in [("general.architecture", "llama"), ("general.name", "a")] {
        text(&mut out, name);
        out.extend(8_u32.to_le_bytes());
        text(&mut out, value);
    }
    text(&mut out, "llama.block_count");
    out.extend(4_u32.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    text(&mut out, "tokenizer.ggml.tokens");
    out.extend(9_u32.to_le_bytes());
    out.extend(8_u32.to_le_bytes());
    out.extend(2_u64.to_le_bytes());
    text(&mut out, "a");
    text(&mut out, "b");
    text(&mut out, "token_embd.weight");
    out.extend(2_u32.to_le_bytes());
    out.extend(32_u64.to_le_bytes());
    out.extend(2_u64.to_le_bytes());
    out.extend(0_u32.to_le_bytes());
    out.extend(0_u64.to_le_bytes());
    out.resize(out.len().next_multiple_of(32) + 256, 0);
    vec![out]
}

pub(super) fn trace_files() -> Vec<Vec<u8>> {
    super::texts(&[
        "{\"event\":\"observe\",\"kg_hash\":\"a\",\"question\":\"q\",\"entities\":[\"e\"],\"values\":[],\"template_hash\":\"t\",\"agent\":\"kg-agent\"}\n{\"event\":\"error\",\"message\":\"m\"}\n{\"event\":\"timing\",\"kg\":0.1,\"model\":0.2}\n",
        "{\"event\":\"call\",\"call\":\"v0 = get_relation(e0)\",\"result\":{\"relations\":{\"out\":[],\"in\":[]}}}\n{\"event\":\"answer\",\"value\":{\"set\":[]}}\n",
    ])
}

pub(super) fn journals() -> Vec<Vec<u8>> {
    let file = scratch().join("good-journal");
    let (journal, _) = must(Journal::open(&file, "fuzz", "1"));
    must(journal.append(1, b"first"));
    must(journal.append(2, &[7; 300]));
    drop(journal);
    vec![must(fs::read(file))]
}

pub(super) fn manifests() -> Vec<Vec<u8>> {
    let folder = scratch().join("graph-of-seed");
    must(GraphFolder::write(&folder, &FILMS, &[]));
    vec![must(fs::read(folder.join("manifest.json")))]
}

pub(super) fn word_files() -> Vec<Vec<u8>> {
    super::texts(&[
        "kgagent words 1\nwho\tdirector\t0.5\nwhen\tyear\t0.25\n",
        "{\"id\":\"1\",\"messages\":[{\"role\":\"user\",\"content\":\"who\"},{\"role\":\"assistant\",\"content\":\"v0 = get_relation(e0)\"}],\"agent\":\"kg-agent\",\"layout\":\"dialogue\",\"template_hash\":\"a\"}\n",
    ])
}
