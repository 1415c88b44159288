//! Line-based formats: one thread reads and decompresses blocks of whole lines, the others parse
//! them.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::options::LoadProgress;
use super::sink::{FileContext, LoadState, ReadStop, Sink};
use crate::limits::statement_bytes;

/// Bytes per block: a few thousand lines, small compared with the memory of the chunks.
const BLOCK: usize = 1 << 20;

/// Whole lines, and the number of the first.
struct LineBlock<'a> {
    bytes: Vec<u8>,
    line: u64,
    _room: Taken<'a>,
}

/// Reads a file in blocks. `parse` puts the lines of a block into a sink; its last argument is the
/// number of the first line.
pub(super) fn read(
    state: &LoadState<'_>,
    file: FileContext<'_>,
    progress: &dyn Fn(LoadProgress),
    reader: &mut dyn BufRead,
    parse: impl Fn(&mut Sink<'_>, &[u8], u64) -> Result<(), ReadStop> + Sync,
) -> Result<(), ReadStop> {
    let threads = state.threads().max(1);
    let most = statement_bytes(state.options.memory);
    let room = Room::new(2 * most);
    let (send, receive) = sync_channel::<LineBlock<'_>>(threads * 2);
    let parse = &parse;
    std::thread::scope(|scope| {
        // Only the workers own the receiver: if all of them panic, sending fails instead of waiting
        // forever.
        let receive = Arc::new(Mutex::new(receive));
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let receive = Arc::clone(&receive);
                scope.spawn(move || work(Sink::new(state, file, None), &receive, parse))
            })
            .collect();
        drop(receive);
        let mut blocks = BlockReader {
            reader,
            rest: Vec::new(),
            line: 1,
            most,
            room: &room,
        };
        let read = loop {
            match blocks.next() {
                Ok(Some(block)) if !state.halted() => {
                    if send.send(block).is_err() {
                        break Ok(());
                    }
                    progress(LoadProgress::Read(state.read()));
                }
                Ok(_) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        drop(send);
        let mut result = read;
        for worker in workers {
            let worked = worker
                .join()
                .unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            result = result.and(worked);
        }
        result
    })
}

/// Parses blocks until the channel is closed. After a failure it only receives them, so that the
/// reader never waits forever. Other workers finish their blocks, so the first fault of the file is
/// among those found.
fn work(
    mut sink: Sink<'_>,
    blocks: &Mutex<Receiver<LineBlock<'_>>>,
    parse: &(impl Fn(&mut Sink<'_>, &[u8], u64) -> Result<(), ReadStop> + Sync),
) -> Result<(), ReadStop> {
    let mut result = Ok(());
    loop {
        let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(block) = block else { break };
        if result.is_ok() {
            sink.begin_block();
            result = parse(&mut sink, &block.bytes, block.line);
        }
    }
    sink.finish();
    result
}

/// Bounds the bytes of all blocks that are not parsed yet: a few long lines could fill the memory.
struct Room {
    most: usize,
    taken: Mutex<usize>,
    freed: Condvar,
}

impl Room {
    fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::new(0),
            freed: Condvar::new(),
        }
    }

    /// Waits until there is room for a block. A block that is larger than all room waits for all others.
    fn take(&self, bytes: usize) -> Taken<'_> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && *taken + bytes > self.most {
            taken = (self.freed.wait(taken)).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
        Taken(self, bytes)
    }
}

/// The room of a block. It is given back when the block is dropped, be it parsed or not.
struct Taken<'a>(&'a Room, usize);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *(self.0.taken.lock()).unwrap_or_else(PoisonError::into_inner) -= self.1;
        self.0.freed.notify_one();
    }
}

struct BlockReader<'a> {
    reader: &'a mut dyn BufRead,
    rest: Vec<u8>,
    line: u64,
    /// Maximum bytes of a line.
    most: usize,
    room: &'a Room,
}

impl<'a> BlockReader<'a> {
    fn next(&mut self) -> io::Result<Option<LineBlock<'a>>> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.reserve(BLOCK);
        // Up to here there is no line break.
        let mut searched = 0;
        let end = loop {
            let more = self.reader.fill_buf()?;
            if more.is_empty() {
                break bytes.len();
            }
            let read = more.len();
            bytes.extend_from_slice(more);
            self.reader.consume(read);
            if bytes.len() >= BLOCK {
                if let Some(end) = memchr::memrchr(b'\n', &bytes[searched..]) {
                    break searched + end + 1;
                }
                searched = bytes.len();
            }
            if bytes.len() > self.most {
                return Err(io::Error::other(format!(
                    "line {} is longer than {} bytes; raise --memory, which allows lines of a sixteenth of it",
                    self.line, self.most
                )));
            }
        };
        self.rest = bytes.split_off(end);
        if bytes.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        let _room = self.room.take(bytes.len());
        Ok(Some(LineBlock { bytes, line, _room }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::load::LoadOptions;

    #[test]
    fn the_time_for_a_line_is_proportional_to_its_length() {
        const LONG: usize = 1 << 26;
        let start = std::time::Instant::now();
        let room = Room::new(4 * LONG);
        let text = [&b"x".repeat(LONG)[..], b"\nlast\n", &b"y".repeat(BLOCK)].concat();
        let mut reader = io::BufReader::with_capacity(1 << 10, &text[..]);
        let mut blocks = BlockReader {
            reader: &mut reader,
            rest: Vec::new(),
            line: 1,
            most: 2 * LONG,
            room: &room,
        };
        let mut found = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            found.push((block.line, block.bytes.len()));
        }
        assert_eq!(found, [(1, LONG + 6), (3, BLOCK)]);
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn workers_that_panic_do_not_block_the_reader() {
        let (done, end) = channel();
        std::thread::spawn(move || {
            let options = LoadOptions {
                threads: 1,
                ..LoadOptions::default()
            };
            let stop = AtomicBool::new(false);
            let state = LoadState::new(&options, None, &stop);
            let file = FileContext {
                index: 0,
                rank: 0,
                base: "",
                uses_base: &AtomicBool::new(false),
            };
            let mut lines = Cursor::new(b"a\n".repeat(4 * BLOCK));
            let result = catch_unwind(AssertUnwindSafe(|| {
                read(&state, file, &|_| {}, &mut lines, |_, _, _| {
                    resume_unwind(Box::new("a fault of the parser"))
                })
            }));
            done.send(result.is_err()).unwrap();
        });
        assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
}
