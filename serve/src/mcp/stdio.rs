//! The protocol over standard input and output: one message, or one batch, a line. Questions are
//! answered at the same time; each has its answer when it is done. Those of a batch are answered one
//! after the other.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::cancel::Cancel;
use serde_json::Value;

use super::{Begun, McpError, McpInput, McpMessage, McpRequest, NO_REQUEST, Notify, agreed, read};
use crate::queue::Asker;
use crate::service::Service;

/// Longest message, in bytes.
const MESSAGE: u64 = 1 << 20;

/// Answers the messages of `input` until it ends and all questions are answered.
///
/// # Errors
/// If `input` cannot be read or `output` cannot be written.
pub fn serve_mcp(
    service: &Arc<Service>,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let talk = Talk::new(output);
    let mut revision = None;
    std::thread::scope(|scope| {
        loop {
            let mut line = Vec::new();
            let read_bytes = io::Read::take(&mut input, MESSAGE).read_until(b'\n', &mut line)?;
            if read_bytes == 0 {
                return Ok(());
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if line.last() != Some(&b'\n') && read_bytes as u64 == MESSAGE {
                skip_line(&mut input)?;
                let message = format!("a message has at most {MESSAGE} bytes");
                talk.write(&McpError::new(NO_REQUEST, message).reply(&Value::Null))?;
                continue;
            }
            match read(&line, revision) {
                Err(reply) => talk.write(&reply)?,
                Ok(McpInput::One(McpMessage::Request(request))) => {
                    if request.method == "initialize" {
                        revision = Some(agreed(&request.params));
                    }
                    let cancel = talk.begun(&request.id);
                    match request.begin(service, asker(cancel), Some(talk.notify())) {
                        Begun::Done(done) => talk.finish(&request, &request.reply(done))?,
                        working => {
                            let talk = &talk;
                            scope.spawn(move || {
                                let reply = request.reply(working.wait());
                                // The main thread notices a closed output by itself.
                                let _ = talk.finish(&request, &reply);
                            });
                        }
                    }
                }
                Ok(McpInput::One(other)) => talk.note(&other),
                Ok(McpInput::Batch(messages)) => {
                    let batch = talk.begun_batch(messages);
                    let talk = &talk;
                    scope.spawn(move || {
                        let _ = talk.answer_batch(service, batch);
                    });
                }
            }
        }
    })
}

fn asker(cancel: Cancel) -> Asker {
    Asker {
        cancel,
        ..Asker::default()
    }
}

/// Reads to the end of a line without keeping it.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let part = input.fill_buf()?;
        let (used, ended) = match part.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (part.len(), part.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

/// The connection: its output, and what is being answered.
struct Talk<W> {
    output: Arc<Mutex<W>>,
    /// What cancels each request, by its id as JSON. Cancelled ones have left.
    running: Mutex<HashMap<String, Cancel>>,
}

impl<W: Write + Send + 'static> Talk<W> {
    fn new(output: W) -> Self {
        Self {
            output: Arc::new(Mutex::new(output)),
            running: Mutex::default(),
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self, id: &Value) -> Cancel {
        let cancel = Cancel::default();
        self.running().insert(id.to_string(), cancel.clone());
        cancel
    }

    /// Does what a message without an answer asks for.
    fn note(&self, message: &McpMessage) {
        if let McpMessage::Notification(method, params) = message
            && method == "notifications/cancelled"
        {
            self.cancel(&params["requestId"]);
        }
    }

    /// The requests of a batch with what cancels each, and the replies to what is no message. All of
    /// them can be cancelled from now on.
    fn begun_batch(
        &self,
        messages: Vec<Result<McpMessage, Value>>,
    ) -> Vec<Result<(McpRequest, Cancel), Value>> {
        let mut batch = Vec::new();
        for message in messages {
            match message {
                Ok(McpMessage::Request(request)) => {
                    let cancel = self.begun(&request.id);
                    batch.push(Ok((request, cancel)));
                }
                Ok(other) => self.note(&other),
                Err(reply) => batch.push(Err(reply)),
            }
        }
        batch
    }

    /// Answers the requests of a batch one after the other and writes all replies together.
    fn answer_batch(
        &self,
        service: &Arc<Service>,
        batch: Vec<Result<(McpRequest, Cancel), Value>>,
    ) -> io::Result<()> {
        let mut replies = Vec::new();
        for message in batch {
            match message {
                Ok((request, cancel)) => {
                    let done = request.begin(service, asker(cancel), None).wait();
                    if self.running().remove(&request.id.to_string()).is_some() {
                        replies.push(request.reply(done));
                    }
                }
                Err(reply) => replies.push(reply),
            }
        }
        match replies.is_empty() {
            true => Ok(()),
            false => self.write(&replies.into()),
        }
    }

    fn cancel(&self, id: &Value) {
        if let Some(cancel) = self.running().remove(&id.to_string()) {
            cancel.cancel();
        }
    }

    /// Writes the reply to a request, unless it was cancelled.
    fn finish(&self, request: &McpRequest, reply: &Value) -> io::Result<()> {
        match self.running().remove(&request.id.to_string()) {
            Some(_) => self.write(reply),
            None => Ok(()),
        }
    }

    fn write(&self, message: &Value) -> io::Result<()> {
        write_line(&self.output, message)
    }

    fn notify(&self) -> Notify {
        let output = Arc::clone(&self.output);
        Arc::new(move |message: Value| {
            // The main thread notices a closed output by itself.
            let _ = write_line(&output, &message);
        })
    }
}

fn write_line(output: &Mutex<impl Write>, message: &Value) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(output, "{message}")?;
    output.flush()
}
