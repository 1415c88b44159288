//! A server of the test: a thread that gives recorded answers, and the key that nothing may repeat.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The key of every request.
pub(crate) const KEY: &str = "sk-secret-0123456789";

/// How the server answers one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A chat completion with this message.
    Message(Value),
    /// The same, stopped by the limit of tokens.
    Cut(Value),
    /// These bytes as a body, with a status and more headers.
    Raw(u16, &'static str, Vec<u8>),
    /// These pieces of a stream, one after the other. The server notes how many it could send.
    Stream(Vec<String>),
    /// Half a body, then the connection ends.
    Close,
    /// The connection ends before an answer.
    Die,
    /// Nothing while the client waits.
    Hang,
    /// A reply that obeys the constraint of the request, if it is in this field.
    Obey(&'static str),
}

/// A completion with this text.
pub(crate) fn say(text: &str) -> Answer {
    Answer::Message(json!({ "role": "assistant", "content": text }))
}

/// A completion with one tool call.
pub(crate) fn tool(name: &str, arguments: &str) -> Answer {
    Answer::Message(
        json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "1", "type": "function", "function": { "name": name, "arguments": arguments } },
    ] }),
    )
}

/// A stream of these texts, with the count of tokens at its end.
pub(crate) fn stream(texts: &[&str]) -> Answer {
    let piece = |value: &Value| format!("data: {value}\n\n");
    let mut pieces: Vec<String> = texts
        .iter()
        .map(|text| piece(&json!({ "choices": [{ "delta": { "content": text } }] })))
        .collect();
    pieces.push(piece(
        &json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
    ));
    pieces.push(piece(
        &json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 5 } }),
    ));
    pieces.push("data: [DONE]\n\n".to_owned());
    Answer::Stream(pieces)
}

/// A server that gives these answers in order and repeats the last one.
pub(crate) struct Server {
    pub(crate) url: String,
    /// The bodies of the requests.
    pub(crate) seen: Arc<Mutex<Vec<Value>>>,
    /// Pieces of streams that were sent.
    pub(crate) sent: Arc<Mutex<usize>>,
}

impl Server {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, sent) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (kept, counted) = (Arc::clone(&seen), Arc::clone(&sent));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (answers, kept, counted) =
                    (answers.clone(), Arc::clone(&kept), Arc::clone(&counted));
                std::thread::spawn(move || serve(stream, &answers, &kept, &counted));
            }
        });
        Self { url, seen, sent }
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// Reads one request; `None` if the client has closed the connection.
fn request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut key, mut path) = (0, None, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let Some((name, value)) = line.trim().split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            continue;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    assert_eq!(key, Some(format!("Bearer {KEY}")));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let text = body.get("prompt").is_some();
    let right = if text {
        "/v1/completions"
    } else {
        "/v1/chat/completions"
    };
    assert_eq!(path, right);
    Some(body)
}

fn serve(mut stream: TcpStream, answers: &[Answer], seen: &Mutex<Vec<Value>>, sent: &Mutex<usize>) {
    let Some(body) = request(&stream) else { return };
    let answer = {
        let mut seen = seen.lock().unwrap();
        seen.push(body.clone());
        answers[(seen.len() - 1).min(answers.len() - 1)].clone()
    };
    match answer {
        Answer::Message(message) => complete(&mut stream, &message, "stop"),
        Answer::Cut(message) => complete(&mut stream, &message, "length"),
        Answer::Raw(status, headers, bytes) => send(&mut stream, status, headers, &bytes),
        Answer::Stream(pieces) => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            for piece in pieces {
                if stream.write_all(piece.as_bytes()).is_err() {
                    return;
                }
                *sent.lock().unwrap() += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Answer::Close => {
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{{\"choices\":"
            );
        }
        Answer::Die => {}
        Answer::Hang => std::thread::sleep(Duration::from_secs(30)),
        Answer::Obey(field) => {
            let given = &body[field];
            let grammar = given.as_str().or(given["grammar"].as_str());
            let allowed = match grammar {
                Some(grammar) => grammar.split('"').nth(1).map(str::to_owned),
                None => {
                    let text = &given["json_schema"]["schema"]["properties"]["text"];
                    text["enum"][0]
                        .as_str()
                        .map(|text| json!({ "text": text }).to_string())
                }
            };
            let text = allowed.unwrap_or_else(|| "Yes.".to_owned());
            complete(
                &mut stream,
                &json!({ "role": "assistant", "content": text }),
                "stop",
            );
        }
    }
}

fn complete(stream: &mut TcpStream, message: &Value, finish: &str) {
    let body = json!({
        "choices": [{ "message": message, "finish_reason": finish }],
        "usage": {
            "prompt_tokens": 7, "completion_tokens": 3,
            "prompt_tokens_details": { "cached_tokens": 5 },
        },
    });
    send(stream, 200, "", body.to_string().as_bytes());
}

fn send(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(body);
}
