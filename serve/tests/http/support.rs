//! A server on the demo graph with a few hostile labels, and a small client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use infer::engine::EngineDevice;
use kg::{GraphFolder, LoadOptions};
use serde_json::Value;
use serve::{AccessRules, ServeError, Server, Service, ServiceOptions};
use tempfile::TempDir;

/// Labels that would do harm if they were more than text.
const HOSTILE: &str = r#"
@prefix : <http://kgagent.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:evil rdfs:label "Evil <script>alert(1)</script> [x](http://evil.example)"@en ; a :location.city ; :location.city.country :evilland .
:evilland rdfs:label "Evilland ![i](x) <img src=x onerror=alert(1)>"@en ; a :location.country ; :location.country.capital :evil .
"#;

/// The graph folder, loaded once for all tests.
pub(crate) fn graph() -> &'static Path {
    static FOLDER: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, graph) = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
        let hostile = folder.path().join("hostile.ttl");
        std::fs::write(&hostile, HOSTILE).unwrap();
        let files = [data.join("graph.ttl"), data.join("ontology.ttl"), hostile];
        let graph = folder.path().join("graph");
        GraphFolder::load(&graph, &files, &LoadOptions::default(), &|_| {}).unwrap();
        (folder, graph)
    });
    graph
}

pub(crate) fn options() -> ServiceOptions {
    ServiceOptions {
        graphs: vec![("demo".to_owned(), graph().to_owned())],
        models: Vec::new(),
        device: EngineDevice::Cpu,
        ranker: toolbox::rank::lexical(),
        workers: Some(2),
        batch: None,
        queue: Some(8),
        deadline: Duration::from_secs(60),
        feedback: None,
        tools: toolbox::call::ToolTable::Extended,
    }
}

/// A running server; it stops when this is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    pub(crate) fn start(options: ServiceOptions, access: AccessRules) -> Self {
        let service = Service::open(options).unwrap();
        let server = Server::bind(service, "127.0.0.1:0".parse().unwrap(), access).unwrap();
        let address = server.address().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || {
            server.run(&flag, &AtomicBool::new(false))
        }));
        Self {
            address,
            stop,
            thread,
        }
    }

    pub(crate) fn plain() -> Self {
        Self::start(options(), AccessRules::default())
    }

    /// Stops the server and says how long that took.
    pub(crate) fn stop(&mut self) -> Duration {
        let begun = Instant::now();
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap().unwrap();
        begun.elapsed()
    }

    /// Sends the head and body of a request and leaves the connection open.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        self.open_bytes(method, path, headers, body.as_bytes())
    }

    fn open_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Connection: close\r\n\r\n");
        // The server may refuse a body before all of it is sent.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        stream
    }

    /// [`send`](Self::send) with a body that need not be text.
    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        Reply::read(self.open_bytes(method, path, headers, body))
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        Reply::read(self.open(method, path, headers, body))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Reply {
        self.send("POST", path, &[("Content-Type", "application/json")], body)
    }

    /// Waits until a line of the metrics has this value.
    pub(crate) fn wait_for(&self, line: &str) {
        let begun = Instant::now();
        while !self.get("/metrics").body.lines().any(|own| own == line) {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no `{line}` in\n{}",
                self.get("/metrics").body
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut rest = Vec::new();
        // A refused body ends the connection hard.
        let _ = reader.read_to_end(&mut rest);
        let chunked = headers
            .iter()
            .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let bytes = if chunked { unchunked(&rest) } else { rest };
        Self {
            status,
            headers,
            body: String::from_utf8(bytes).unwrap(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks status and code of a refusal; the message is not empty.
    pub(crate) fn refused(&self, status: u16, code: &str) {
        let value = self.json();
        assert_eq!(
            (self.status, value["error"]["code"].as_str()),
            (status, Some(code)),
            "{value}"
        );
        assert!(!value["error"]["message"].as_str().unwrap().is_empty());
    }

    /// Names and data of server-sent events.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        let field = |part: &str, name: &str| {
            let line = part.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let parts = self.body.split("\n\n").filter(|part| !part.is_empty());
        parts
            .map(|part| (field(part, "event:"), field(part, "data:")))
            .collect()
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        bytes = &bytes[end + 2..];
        out.extend(&bytes[..size]);
        bytes = &bytes[(size + 2).min(bytes.len())..];
    }
    out
}

/// A text as part of an address.
pub(crate) fn quoted(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
