//! What answers depend on besides options: this program, and the files of a model. Unfinished work of
//! another program is not continued.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use common::fs::names;
use model::adapter::base_of;
use model::digest::sha256_file;
use model::{files, hub};

/// Hexadecimal digits of a digest that are kept.
const DIGITS: usize = 24;
/// Files up to this size are compared by their content, larger ones by their size and time.
const READ: u64 = 64 << 20;

/// The identity of this program: a digest of its executable. It changes with the sources, with every
/// dependency, feature and file that is compiled in, and with the compiler; copies of an executable
/// have the same one. An executable that cannot be read has another identity in every process.
pub(crate) fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // On Linux the executable that runs, even if another one has replaced it on the disk since.
        let running = digest_of(Path::new("/proc/self/exe"));
        let digest = running.or_else(|| digest_of(&std::env::current_exe().ok()?));
        digest.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.unwrap_or_default().as_nanos();
            format!("unreadable-{}-{now}", std::process::id())
        })
    })
}

/// The beginning of a file's digest; `None` if it cannot be read.
fn digest_of(path: &Path) -> Option<String> {
    let mut digest = sha256_file(path).ok()?;
    digest.truncate(DIGITS);
    Some(digest)
}

/// The names and contents of a model's files and of those of an adapter's base, so that another model
/// in the same place is seen to be another one. `model` is a path, or a name in the hub's cache.
pub(crate) fn of_model(model: &Path) -> Vec<String> {
    let model = hub::locate(model).unwrap_or_else(|_| model.to_path_buf());
    let mut paths = vec![model.clone()];
    if model.is_file() {
        // A GGUF file is read with what the model has learned beside its weights, and maybe with the
        // tokenizer, in its folder.
        let beside = files::learned_names().chain([files::TOKENIZER]);
        paths.extend(beside.map(|name| model.with_file_name(name)));
    }
    for folder in [base_of(&model), Some(model)].into_iter().flatten() {
        paths.extend(names(&folder).iter().map(|name| folder.join(name)));
    }
    let mut all: Vec<String> = paths.iter().filter_map(|path| of_file(path)).collect();
    all.sort_unstable();
    all
}

fn of_file(path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let state = if data.len() <= READ {
        digest_of(path)?
    } else {
        format!("{} {:?}", data.len(), data.modified().ok())
    };
    Some(format!("{} {state}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_one_identity() {
        assert_eq!(program().len(), DIGITS);
        let whole = sha256_file(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program(), &whole[..DIGITS]);
    }

    #[test]
    fn a_model_is_known_by_its_files_and_those_of_its_base() {
        let dir = tempfile::tempdir().unwrap();
        let (base, adapter) = (dir.path().join("base"), dir.path().join("adapter"));
        for folder in [&base, &adapter] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(base.join("config.json"), "{}").unwrap();
        fs::write(base.join("words.tsv"), "a\tb").unwrap();
        let config = r#"{"peft_type": "LORA", "r": 8, "lora_alpha": 16,
            "target_modules": ["q_proj"], "base_model_name_or_path": "base"}"#;
        fs::write(adapter.join("adapter_config.json"), config).unwrap();
        let [of_base, of_adapter] = [&base, &adapter].map(|folder| of_model(folder));
        assert_eq!((of_base.len(), of_adapter.len()), (2, 3));
        // Neither the size nor the name changes.
        fs::write(base.join("words.tsv"), "a\tc").unwrap();
        assert!(of_model(&base) != of_base && of_model(&adapter) != of_adapter);
        assert_eq!(of_model(&dir.path().join("nothing")), Vec::<String>::new());
    }

    #[test]
    fn a_snapshot_and_the_tokenizer_beside_a_gguf_file_count() {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("models--org--name");
        let snapshot = repository.join("snapshots/0123456789abcdef");
        fs::create_dir_all(&snapshot).unwrap();
        fs::write(snapshot.join("config.json"), "{}").unwrap();
        assert_eq!(of_model(&repository), of_model(&snapshot));
        assert_eq!(of_model(&repository).len(), 1);
        let file = dir.path().join("model.gguf");
        fs::write(&file, "GGUF").unwrap();
        let alone = of_model(&file);
        fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
        assert_eq!((alone.len(), of_model(&file).len()), (1, 2));
        fs::write(dir.path().join("wordings.txt"), "").unwrap();
        assert_eq!(of_model(&file).len(), 3);
    }
}
