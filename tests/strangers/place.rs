//! What all inputs share: a small graph, an untrained model with its exports, a dataset, a trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::digest::sha256_hex;
use model::{KgAgentInfo, ModelFolder, Preset, Tensor, Tokenizer, Weights};
use toolbox::agent::Agent;
use toolbox::prompt::Template;

/// A few cities with what the tools need: classes, labels, numbers, dates, statements.
const GRAPH: &str = r#"@prefix : <http://x.test/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:lisbon a :city ; rdfs:label "Lisbon"@en ; :country :portugal ; :population 545796 ; :founded "1147-10-25"^^xsd:date .
:porto a :city ; rdfs:label "Porto"@en ; :country :portugal ; :population 231800 ; :founded "1123"^^xsd:gYear .
:madrid a :city ; rdfs:label "Madrid"@en ; :country :spain ; :population 3223334 ; :twin :lisbon .
:portugal a :country ; rdfs:label "Portugal"@en ; :capital :lisbon ; :language "Portuguese" .
:spain a :country ; rdfs:label "Spain"@en ; :capital :madrid ; :language "Spanish" .
:city rdfs:label "city"@en . :country rdfs:label "country"@en . :capital rdfs:label "capital"@en .
"#;

const QUESTIONS: &str = concat!(
    r#"{"id": "1", "question": "Which country is Lisbon in?", "sparql": "SELECT ?x { <http://x.test/lisbon> <http://x.test/country> ?x }", "topic": {"lisbon": "Lisbon"}}"#,
    "\n",
    r#"{"id": "2", "question": "Which cities are in Portugal?", "sparql": "SELECT ?x { ?x <http://x.test/country> <http://x.test/portugal> }", "topic": {"portugal": "Portugal"}}"#,
    "\n"
);

/// The shared files. Nothing may change them.
pub(crate) struct Base {
    folder: tempfile::TempDir,
}

impl Base {
    /// The graph alone.
    pub(crate) fn small() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = Self { folder };
        base.write("graph.ttl", GRAPH);
        base.write("q.jsonl", QUESTIONS);
        base.done("kg load --kg g graph.ttl");
        base
    }

    pub(crate) fn new() -> Self {
        let base = Self::small();
        base.done("datagen gold --kg g --source jsonl=q.jsonl --out data");
        untrained(&base.path("m"));
        base.done("export --model m --format gguf --quantize q8_0 --out gguf");
        base.done("train --data data --base m --method lora --adapter --epochs 1 --out adapter");
        for (name, agent) in [("t.jsonl", "words"), ("oda.jsonl", "oda")] {
            let model = if agent == "oda" { "--model m " } else { "" };
            base.done(&format!(
                "ask --kg g {model}--agent {agent} --trace {name} Which-cities-are-in-Portugal?"
            ));
        }
        base
    }

    /// A path of a shared file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The one file of a folder with this ending.
    pub(crate) fn only(&self, folder: &str, ending: &str) -> PathBuf {
        let all = files(&self.path(folder));
        let found = all.into_keys().find(|name| name.ends_with(ending));
        self.path(folder).join(found.unwrap())
    }

    /// Runs a command that must succeed, or find no answer.
    fn done(&self, args: &str) {
        let output = Command::new(env!("CARGO_BIN_EXE_kgagent"))
            .args(
                args.split(' ')
                    .map(|word| word.replace('-', if word.contains('?') { " " } else { "-" })),
            )
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{args}: {said}"
        );
    }

    pub(crate) fn fingerprint(&self) -> BTreeMap<String, String> {
        files(self.folder.path())
    }
}

/// All files below a folder with the hashes of their contents.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(folder: &Path, root: &Path, out: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                walk(&path, root, out);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let bytes = fs::read(&path).unwrap_or_default();
            out.insert(name, sha256_hex([bytes.as_slice()]));
        }
    }
    let mut out = BTreeMap::new();
    walk(folder, folder, &mut out);
    out
}

/// A model with random weights for every agent.
fn untrained(dir: &Path) {
    let texts = ["v0 = get_relation(e0); which city of e0? ans = end(v0)"];
    let tokenizer = Tokenizer::train_bpe(texts.iter().cycle().take(50), 320).unwrap();
    let mut config = Preset::Tiny.config(tokenizer.vocab_size());
    config.num_hidden_layers = 1;
    let mut weights = Weights::default();
    let mut rng = common::rng::Rng::new(1);
    for (name, shape) in config.tensors() {
        let count = shape.iter().product();
        let data = (0..count).map(|_| 0.1 * rng.uniform() - 0.05).collect();
        weights.insert(name, Tensor { shape, data });
    }
    let templates = Agent::ALL.map(|agent| (agent.name().to_owned(), Template::of(agent).hash()));
    let info = KgAgentInfo {
        templates: templates.into(),
        layouts: vec!["dialogue".to_owned()],
        ..KgAgentInfo::default()
    };
    ModelFolder::write(dir, &config, &tokenizer, &info, &weights).unwrap();
}
