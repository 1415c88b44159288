//! `kgagent fetch` from a local hub that breaks connections: complete parts are not fetched again,
//! and corrupt files are not kept.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use model::digest::sha256_hex;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The files of the hub, its faults, and the requests it received.
#[derive(Default)]
struct Hub {
    files: BTreeMap<String, Vec<u8>>,
    /// Digests to send instead of the right ones.
    told: BTreeMap<String, String>,
    /// What to send as etag or as commit instead of the right ones.
    etag: Option<String>,
    commit: Option<String>,
    /// Whether to send more bytes than the file has.
    endless: bool,
    /// Whether to say and send half of what is requested.
    short: bool,
    /// Bytes after which each connection of a file breaks.
    breaks: BTreeMap<String, Vec<usize>>,
    /// `FILE FROM`: requested bytes, without the short requests for a file's size.
    asked: Vec<String>,
}

fn answer(stream: TcpStream, hub: &Mutex<Hub>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let mut range = String::new();
    for line in lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
    {
        if let Some(bytes) = line.to_lowercase().strip_prefix("range: bytes=") {
            range = bytes.to_owned();
        }
    }
    let mut out = stream;
    let mut hub = hub.lock().unwrap();
    if path == "/api/models/some/model" || path == "/api/models/some/model/revision/main" {
        let siblings: Vec<_> = hub
            .files
            .keys()
            .map(|name| serde_json::json!({ "rfilename": name }))
            .collect();
        let body = serde_json::json!({ "siblings": siblings, "sha": COMMIT }).to_string();
        return write!(
            out,
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .ok();
    }
    let name = path
        .strip_prefix("/some/model/resolve/main/")
        .unwrap_or_default()
        .to_owned();
    let Some(body) = hub.files.get(&name).cloned() else {
        return write!(
            out,
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        .ok();
    };
    let (from, to) = range.split_once('-')?;
    let from: usize = from.parse().ok()?;
    let size = !to.is_empty() && from == 0;
    let to = to
        .parse()
        .map_or(body.len(), |to: usize| (to + 1).min(body.len()));
    if from >= body.len() {
        return write!(
            out,
            "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        .ok();
    }
    let digest = hub
        .told
        .get(&name)
        .cloned()
        .unwrap_or_else(|| sha256_hex([body.as_slice()]));
    let mut part = &body[from..to];
    if hub.short && !size {
        part = &part[..part.len() / 2];
    }
    write!(
        out,
        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {from}-{}/{}\r\n",
        to - 1,
        body.len()
    )
    .ok()?;
    if size || !hub.endless {
        write!(out, "content-length: {}\r\n", part.len()).ok()?;
    }
    let etag = hub.etag.clone().unwrap_or(digest);
    let commit = hub.commit.clone().unwrap_or_else(|| COMMIT.to_owned());
    write!(
        out,
        "etag: \"{etag}\"\r\nx-repo-commit: {commit}\r\nconnection: close\r\n\r\n"
    )
    .ok()?;
    if !size {
        hub.asked.push(format!("{name} {from}"));
        if let Some(breaks) = hub
            .breaks
            .get_mut(&name)
            .filter(|breaks| !breaks.is_empty())
        {
            part = &part[..breaks.remove(0).min(part.len())];
        }
    }
    let endless = hub.endless && !size;
    drop(hub);
    out.write_all(part).ok()?;
    if endless {
        // Until the client closes the connection.
        loop {
            out.write_all(&[0; 4096]).ok()?;
        }
    }
    Some(())
}

/// Serves until the test ends; returns the address.
fn serve(hub: Hub) -> (String, Arc<Mutex<Hub>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let hub = Arc::new(Mutex::new(hub));
    let shared = Arc::clone(&hub);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &shared);
        }
    });
    (address, hub)
}

fn weights() -> Vec<u8> {
    (0..300_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

fn hub() -> Hub {
    let file = |name: &str, text: &[u8]| (name.to_owned(), text.to_vec());
    let files = [
        file("config.json", b"{}"),
        file("tokenizer.json", b"{\"a\":1}"),
        file("model.safetensors", &weights()),
        file("x.bin", b"no"),
    ];
    Hub {
        files: files.into(),
        ..Hub::default()
    }
}

fn fetch(address: &str, home: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgagent"));
    command
        .args(["fetch", "some/model"])
        .env("HF_ENDPOINT", address)
        .env("HF_HOME", home)
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_HUB_CACHE")
        .env_remove("HUGGINGFACE_HUB_CACHE");
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn snapshot(home: &Path) -> std::path::PathBuf {
    home.join("hub/models--some--model/snapshots").join(COMMIT)
}

#[test]
fn a_broken_connection_and_an_interrupted_fetch_are_resumed() {
    let home = tempfile::tempdir().unwrap();
    // Two breaks are tolerated; then there is one per attempt, so that the first run fails.
    let breaks = [50_000, 60_000, 0, 0, 0].to_vec();
    let (address, hub) = serve(Hub {
        breaks: [("model.safetensors".to_owned(), breaks)].into(),
        ..hub()
    });
    let output = fetch(&address, home.path());
    assert!(
        output.status.code() == Some(2)
            && errors(&output).contains("model.safetensors")
            && errors(&output).contains("continues the download"),
        "{}",
        errors(&output)
    );
    assert!(!snapshot(home.path()).join("model.safetensors").exists());
    let output = fetch(&address, home.path());
    assert!(output.status.success(), "{}", errors(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(COMMIT));
    assert!(fs::read(snapshot(home.path()).join("model.safetensors")).unwrap() == weights());
    let asked = hub.lock().unwrap().asked.clone();
    let rest = ["50000", "110000", "110000", "110000", "110000"]
        .map(|from| format!("model.safetensors {from}"));
    let expected: Vec<String> = ["config.json 0", "tokenizer.json 0", "model.safetensors 0"]
        .map(str::to_owned)
        .into_iter()
        .chain(rest)
        .collect();
    assert_eq!(
        asked, expected,
        "every byte once, and what is not a model's not at all"
    );
    // Everything is cached: there are no requests.
    assert!(fetch(&address, home.path()).status.success());
    assert_eq!(hub.lock().unwrap().asked, expected);
}

/// A fetched model decides as the published one: what it has learned is fetched with its weights.
#[test]
fn everything_that_a_model_or_an_adapter_has_is_fetched() {
    let learned = ["kgagent.json", "wordings.txt", "words.tsv"];
    let mut of_adapter = hub();
    of_adapter.files.clear();
    let mut of_model = hub();
    for name in learned
        .into_iter()
        .chain(["adapter_config.json", "tokenizer.json"])
    {
        of_adapter.files.insert(name.to_owned(), b"{}".to_vec());
    }
    let weights_of_adapter = "adapter_model.safetensors".to_owned();
    of_adapter.files.insert(weights_of_adapter, weights());
    for name in learned {
        of_model.files.insert(name.to_owned(), b"{}".to_vec());
    }
    for (hub, left_out) in [(of_model, Some("x.bin")), (of_adapter, None)] {
        let home = tempfile::tempdir().unwrap();
        let mut names: Vec<String> = hub.files.keys().cloned().collect();
        names.retain(|name| Some(name.as_str()) != left_out);
        let (address, _) = serve(hub);
        let output = fetch(&address, home.path());
        assert!(output.status.success(), "{}", errors(&output));
        let snapshot = fs::read_dir(snapshot(home.path())).unwrap();
        let mut found: Vec<String> = snapshot
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, names);
    }
}

#[test]
fn an_unrecorded_file_is_fetched_again_and_a_corrupt_one_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let (address, hub) = serve(hub());
    let blobs = home.path().join("hub/models--some--model/blobs");
    fs::create_dir_all(&blobs).unwrap();
    let part = blobs
        .join(sha256_hex([weights().as_slice()]))
        .with_extension("part");
    fs::write(part, weights()).unwrap();
    let output = fetch(&address, home.path());
    assert!(output.status.success(), "{}", errors(&output));
    assert!(fs::read(snapshot(home.path()).join("model.safetensors")).unwrap() == weights());

    let home = tempfile::tempdir().unwrap();
    let other = "a".repeat(64);
    hub.lock()
        .unwrap()
        .told
        .insert("model.safetensors".to_owned(), other.clone());
    let output = fetch(&address, home.path());
    assert!(
        output.status.code() == Some(2)
            && errors(&output).contains(&other)
            && errors(&output).contains("digest"),
        "{}",
        errors(&output)
    );
    assert!(!snapshot(home.path()).join("model.safetensors").exists());
    hub.lock().unwrap().told.clear();
    assert!(fetch(&address, home.path()).status.success());
    assert!(fs::read(snapshot(home.path()).join("model.safetensors")).unwrap() == weights());
}

#[test]
fn a_hub_that_never_sends_everything_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let (address, hub) = serve(Hub {
        short: true,
        ..hub()
    });
    let output = fetch(&address, home.path());
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the hub sends less than the"), "{said}");
    assert!(hub.lock().unwrap().asked.len() < 30);
}

#[test]
fn missing_files_and_wrong_names_are_errors() {
    for (name, text, says) in [
        ("tokenizer.json", None, "it has no tokenizer.json"),
        ("model.safetensors", None, "it has no model.safetensors"),
        (
            "model.safetensors.index.json",
            Some(r#"{"weight_map": {"a": "../../x.bin"}}"#),
            "`../../x.bin`",
        ),
        (
            "model.safetensors.index.json",
            Some(r#"{"weight_map": {"a": "model-2.safetensors"}}"#),
            "it has no model-2.safetensors",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut hub = hub();
        match text {
            Some(text) => hub.files.insert(name.to_owned(), text.into()),
            None => hub.files.remove(name),
        };
        let (address, _) = serve(hub);
        let output = fetch(&address, home.path());
        assert!(
            output.status.code() == Some(2) && errors(&output).contains(says),
            "{}",
            errors(&output)
        );
    }
    let home = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let output = fetch(&nobody, home.path());
    assert!(
        output.status.code() == Some(2) && errors(&output).contains("list of files"),
        "{}",
        errors(&output)
    );
}

/// Names that would lead out of the cache, and a file without an end: nothing is written outside
/// the cache, and little inside it.
#[test]
fn a_hub_cannot_say_where_to_write_nor_fill_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("home");
    let outside = place.path().join("outside");
    let absolute = outside.display().to_string();
    let tell = |etag: Option<&str>, commit: Option<&str>, endless| {
        let (address, _) = serve(Hub {
            etag: etag.map(str::to_owned),
            commit: commit.map(str::to_owned),
            endless,
            ..hub()
        });
        let output = fetch(&address, &home);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        let mut names = Vec::new();
        let mut folders = vec![place.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    assert!(entry.metadata().unwrap().len() < 1 << 20);
                    names.push(entry.path());
                }
            }
        }
        (errors(&output), names)
    };
    for name in [
        "../../../../outside",
        &absolute,
        "..",
        ".part",
        "a/b",
        "",
        "a\\b",
    ] {
        let (errors, names) = tell(Some(name), None, false);
        assert!(
            errors.contains("as the digest, which is not valid") && names.is_empty(),
            "{errors} {names:?}"
        );
        let (errors, names) = tell(None, Some(name), false);
        assert!(
            errors.contains("as the commit, which is not valid") && names.is_empty(),
            "{errors} {names:?}"
        );
    }
    let (errors, _) = tell(None, None, true);
    assert!(errors.contains("sends more than"), "{errors}");
    assert!(!outside.exists());
}
