//! Opens the files of a model. If a file or folder is something else, the error says what it is and
//! what to do. Contents are inspected only after an error.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;

use common::fs::names;

use crate::ModelError;
use crate::files::{ADAPTER_WEIGHTS, CONFIG, INDEX, WEIGHTS};

/// Bytes of a file that are looked at.
const BEGIN: usize = 1024;
/// The ends of files with weights of other programs, and how such weights become ours.
const FOREIGN: [(&str, &str); 9] = [
    (".bin", PICKLE),
    (".pt", PICKLE),
    (
        ".pth",
        "which Meta's own format stores as a pickle, and kgagent never reads one, because it can run \
        code; get the model in the layout of Hugging Face",
    ),
    (".ckpt", PICKLE),
    (
        ".h5",
        "the weights of TensorFlow; get the model's safetensors",
    ),
    (
        ".msgpack",
        "the weights of Flax; get the model's safetensors",
    ),
    (".onnx", "a graph for ONNX; get the model's safetensors"),
    (
        ".gguf",
        "a model in one file; name the file itself instead of the folder",
    ),
    (
        ".safetensors",
        "but a folder needs model.safetensors, or model.safetensors.index.json with all \
        files that it lists; fetch the missing ones",
    ),
];
const PICKLE: &str = "a pickle of PyTorch, which kgagent never reads, because it can run code; convert \
    it where you trust it: python -c \"from transformers import AutoModelForCausalLM as M; \
    M.from_pretrained('FOLDER').save_pretrained('NEW')\"";

/// What a file should be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// JSON.
    Text,
    /// Weights of a model folder.
    Safetensors,
    /// A model in one file.
    Gguf,
}

/// Opens a file.
///
/// # Errors
/// The system's error; for a broken link, what the link is and what to do.
pub(crate) fn open(path: &Path) -> Result<File, ModelError> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        false => Ok(file),
    });
    opened.map_err(|error| failed(path, error))
}

/// Reads a file of up to `most` bytes.
///
/// # Errors
/// Those of [`open`], and when the file is larger.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, ModelError> {
    let file = open(path)?;
    let size = file.metadata().map_err(ModelError::io(path))?.len();
    if size > most {
        let message = format!("{size} bytes, the limit is {most}");
        return Err(ModelError::json(path, message));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(ModelError::io(path))?;
    Ok(bytes)
}

/// The error of a file that could not be opened.
pub(crate) fn failed(path: &Path, error: io::Error) -> ModelError {
    match broken_link(path) {
        Some(message) => ModelError::weights(path, message),
        None => ModelError::io(path)(error),
    }
}

/// What is wrong with a link to a file that is not there.
fn broken_link(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok().filter(|_| !path.exists())?;
    Some(format!(
        "a link to {}, which is not there: a download that was not finished, or a cache that was \
         copied without its blobs; fetch the model again",
        target.display()
    ))
}

/// Describes a file that is clearly not of the `expected` kind, with advice; `None` if it might be.
pub(crate) fn what(file: &mut File, expected: Kind) -> Option<String> {
    let size = file.metadata().ok()?.len();
    let mut begin = Vec::new();
    file.rewind().ok()?;
    file.take(BEGIN as u64).read_to_end(&mut begin).ok()?;
    describe(&begin, size, expected)
}

/// Describes a file by its first bytes and its size.
pub(crate) fn describe(content: &[u8], size: u64, expected: Kind) -> Option<String> {
    const AGAIN: &str = "fetch the file again";
    let begin = &content[..content.len().min(BEGIN)];
    let text = String::from_utf8_lossy(begin);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lower: String = text.chars().take(16).collect::<String>().to_lowercase();
    let starts = |all: &[&str]| all.iter().any(|one| lower.starts_with(one));
    if size == 0 {
        return Some(format!(
            "an empty file: a download that was not finished; {AGAIN}"
        ));
    }
    if text.starts_with("version https://git-lfs.github.com/")
        || text.starts_with("version https://hawser.")
    {
        let bytes = text.lines().find_map(|line| line.strip_prefix("size "));
        let bytes = bytes.and_then(|bytes| bytes.trim().parse::<u64>().ok());
        let bytes = bytes.map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
        return Some(format!(
            "a Git LFS pointer, which stands for the file itself{bytes}: run `git lfs install` and \
             `git lfs pull` in the repository, or download the file"
        ));
    }
    if text.trim_start_matches("../").starts_with("blobs/") && text.starts_with("../") {
        return Some(
            "the text of a link into a cache: the cache was copied without its links; copy it again \
             with them (`cp -a`, `rsync -a`) or with their files (`cp -rL`)"
                .to_owned(),
        );
    }
    if starts(&["<!doctype", "<html", "<?xml", "<head", "<body"]) {
        return Some(format!(
            "a web page, as a server sends it with an error; {AGAIN}"
        ));
    }
    let kinds: [(&[u8], &str); 9] = [
        (
            b"PK\x03\x04",
            "a zip file, as PyTorch writes it with a pickle in it, which kgagent never reads",
        ),
        (b"\x80\x02", "a pickle, which kgagent never reads"),
        (b"\x89HDF", "an HDF5 file, as TensorFlow writes it"),
        (b"\x1f\x8b", "compressed with gzip; unpack it"),
        (b"BZh", "compressed with bzip2; unpack it"),
        (b"\xfd7zXZ", "compressed with xz; unpack it"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it"),
        (
            b"GGUF",
            "a GGUF file; give it a name that ends in .gguf, and name the file itself",
        ),
        (
            &[0; 64],
            "zeros, as a download that was not finished leaves them; fetch the file again",
        ),
    ];
    if let Some((magic, kind)) = kinds.iter().find(|(magic, _)| begin.starts_with(magic)) {
        let is_expected = expected == Kind::Gguf && *magic == b"GGUF";
        return (!is_expected).then(|| (*kind).to_owned());
    }
    if expected != Kind::Safetensors
        && begin.get(8) == Some(&b'{')
        && begin.get(6..8) == Some(&[0, 0])
    {
        return Some("a safetensors file; a folder with a config.json has such files".to_owned());
    }
    // Servers answer "Entry not found" and the like.
    let short = size < BEGIN as u64 && !text.is_empty();
    let prose =
        short && !text.contains(['\0', '{', '[']) && !text.contains(char::REPLACEMENT_CHARACTER);
    let error = short && text.starts_with("{\"error\"");
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(80).collect();
    (prose || error)
        .then(|| format!("the text \"{line}\", as a server sends it with an error; {AGAIN}"))
}

/// Names weights in another format, with advice.
fn foreign(dir: &Path) -> Option<String> {
    let names = names(dir);
    FOREIGN.iter().find_map(|(end, advice)| {
        let is_weights = |name: &&String| name.ends_with(end) && !name.ends_with("_args.bin");
        let name = names.iter().find(is_weights)?;
        let advice = advice.replace("FOLDER", &dir.display().to_string());
        Some(format!("it has {name}, {advice}"))
    })
}

/// The error for a folder without weights that are read. `file` is the file that it should have.
pub(crate) fn without_weights(dir: &Path, file: &str) -> ModelError {
    let path = dir.join(file);
    if let Some(message) = broken_link(&path) {
        return ModelError::weights(&path, message);
    }
    let unfinished = || {
        names(dir)
            .into_iter()
            .find(|name| {
                [".incomplete", ".part", ".crdownload", ".aria2"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .map(|name| format!("it has {name}, a download that was not finished; fetch it again"))
    };
    let other = if file == ADAPTER_WEIGHTS {
        None
    } else {
        Some(INDEX)
    };
    let or = other.map_or_else(String::new, |other| format!(" and no {other}"));
    let hint = unfinished().or_else(|| foreign(dir)).unwrap_or_else(|| {
        "fetch or copy the weights into it (`kgagent fetch ORG/NAME` downloads what is missing)"
            .to_owned()
    });
    ModelError::NoWeights {
        path: dir.to_owned(),
        message: format!("it has no {file}{or}; {hint}"),
    }
}

/// The error for a path that should be a model folder and has no `config.json`.
pub(crate) fn not_a_model(dir: &Path) -> ModelError {
    let wrong = |message: String| ModelError::Folder {
        path: dir.to_owned(),
        what: "model",
        message,
    };
    if let Some(message) = broken_link(&dir.join(CONFIG)) {
        return wrong(format!("its config.json is {message}"));
    }
    if !dir.exists() {
        return wrong("there is no such folder".to_owned());
    }
    if dir.is_file() {
        return wrong(
            "it is a file; name the folder with its config.json, or a GGUF file".to_owned(),
        );
    }
    let names = names(dir);
    let checkpoint = names
        .iter()
        .rev()
        .find(|name| name.starts_with("checkpoint-") && dir.join(name).join(CONFIG).is_file());
    let cache = names.iter().any(|name| name.starts_with("models--"));
    let hint = if let Some(name) = checkpoint {
        format!("it has {name}, which is one; name that folder")
    } else if cache {
        "it is a cache of the hub; name a model in it as ORG/NAME".to_owned()
    } else if !dir.join(WEIGHTS).exists()
        && let Some(hint) = foreign(dir)
    {
        hint
    } else {
        "`kgagent train` writes one".to_owned()
    };
    wrong(format!("it has no config.json; {hint}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_for_what_they_are() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 269060552\n";
        let cases: [(&[u8], &str); 14] = [
            (b"", "not finished"),
            (pointer.as_bytes(), "`git lfs pull`"),
            (pointer.as_bytes(), "269060552 bytes"),
            (b"\xef\xbb\xbf \n<!DOCTYPE html><html>", "web page"),
            (b"<HTML><body>404", "web page"),
            (b"../../blobs/0123456789abcdef", "without its links"),
            (b"PK\x03\x04\x00\x00archive/data.pkl", "pickle"),
            (b"\x80\x02}q\x00", "pickle"),
            (b"\x1f\x8b\x08\x00", "gzip"),
            (b"GGUF\x03\x00\x00\x00", "GGUF"),
            (&[0; 400], "zeros"),
            (b"Entry not found", "\"Entry not found\""),
            (
                b"{\"error\":\"Repository not found\"}",
                "Repository not found",
            ),
            (b"\x10\0\0\0\0\0\0\0{\"a\":{}}", "a safetensors file"),
        ];
        for (bytes, says) in cases {
            let said = describe(bytes, bytes.len() as u64, Kind::Text).unwrap();
            assert!(said.contains(says), "{said}");
        }
        for good in [
            &b"{\"model_type\":\"llama\"}"[..],
            b"[1, 2]",
            b"\xff\x01\x02binary",
        ] {
            assert_eq!(describe(good, good.len() as u64, Kind::Text), None);
        }
        let own: [(&[u8], Kind); 2] = [
            (b"GGUF\x03\x00\x00\x00", Kind::Gguf),
            (b"\x10\0\0\0\0\0\0\0{\"a\":{}}", Kind::Safetensors),
        ];
        for (bytes, kind) in own {
            assert_eq!(describe(bytes, bytes.len() as u64, kind), None);
        }
    }

    #[test]
    fn folders_with_other_weights_say_which() {
        for (name, says) in [
            ("pytorch_model.bin", "save_pretrained"),
            ("pytorch_model-00001-of-00002.bin", "save_pretrained"),
            ("consolidated.00.pth", "layout of Hugging Face"),
            ("tf_model.h5", "TensorFlow"),
            ("flax_model.msgpack", "Flax"),
            ("model.onnx", "ONNX"),
            ("x.Q4_K_M.gguf", "name the file itself"),
            ("model-00001-of-00002.safetensors", "index.json"),
            ("model.safetensors.incomplete", "not finished"),
            ("notes.txt", "fetch or copy"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(name), "x").unwrap();
            let said = without_weights(dir.path(), WEIGHTS).to_string();
            assert!(said.contains(says) && said.contains(WEIGHTS), "{said}");
        }
    }
}
