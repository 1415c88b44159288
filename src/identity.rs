//! What answers depend on besides options: this program, and the files of a model. Unfinished work of
//! another program is not continued.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use common::hex::hex;
use model::adapter::base_of;
use sha2::{Digest, Sha256};

/// Bytes of a digest that are kept.
const BYTES: usize = 12;
/// Files up to this size are compared by their content, larger ones by their size and time.
const READ: u64 = 64 << 20;

/// The identity of this program: a digest of its executable. It changes with the sources, with every
/// dependency, feature and file that is compiled in, and with the compiler; copies of an executable
/// have the same one. An executable that cannot be read has another identity in every process.
pub(crate) fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let digest = executable().and_then(|mut file| digest_of(&mut file));
        digest.unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.unwrap_or_default().as_nanos();
            format!("unreadable-{}-{now}", std::process::id())
        })
    })
}

/// The executable that runs, even if another one has replaced it on the disk since.
fn executable() -> io::Result<File> {
    File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?))
}

fn digest_of(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(file, &mut hasher)?;
    Ok(hex(&hasher.finalize()[..BYTES]))
}

/// The names and contents of a model's files and of those of an adapter's base, so that another model
/// in the same place is seen to be another one.
pub(crate) fn of_model(model: &Path) -> Vec<String> {
    let base = base_of(model);
    let folders = [Some(model), base.as_deref()].into_iter().flatten();
    let files = |folder: &Path| {
        let inside = fs::read_dir(folder).into_iter().flatten().flatten();
        inside.map(|file| file.path()).collect::<Vec<_>>()
    };
    let all = folders.flat_map(|folder| [files(folder), vec![folder.to_path_buf()]].concat());
    let mut all: Vec<String> = all.filter_map(|path| of_file(&path)).collect();
    all.sort_unstable();
    all
}

fn of_file(path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let state = match File::open(path) {
        Ok(mut file) if data.len() <= READ => digest_of(&mut file).ok()?,
        _ => format!("{} {:?}", data.len(), data.modified().ok()),
    };
    Some(format!("{} {state}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_one_identity() {
        assert_eq!(program().len(), 2 * BYTES);
        let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program(), hex(&Sha256::digest(bytes)[..BYTES]));
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
}
