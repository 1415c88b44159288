//! Random changes of bytes and texts.

use common::rng::Rng;

/// Pieces that parsers stumble over.
const ODD: &[&[u8]] = &[
    b"\0",
    b"\xff\xfe",
    b"\"",
    b"\\",
    b"\\u0000",
    b"<",
    b">",
    b"&",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x1b[2J",
    "\u{202e}".as_bytes(),
    "\u{301}\u{301}\u{301}".as_bytes(),
    "İſK".as_bytes(),
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"4294967295",
    b"18446744073709551615",
    b"99999999999999999999999999",
    b"null",
    b"true",
    b"../../../elsewhere",
    b"/etc/passwd",
    b"/dev/zero",
];

/// Between one and twelve changes.
pub(crate) fn changed(base: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for _ in 0..1 + rng.below(12) {
        change(&mut bytes, rng);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.below(bytes.len() + 1);
    let end = (at + 1 + rng.below(16)).min(bytes.len());
    match rng.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        1 if at < end => drop(bytes.drain(at..end)),
        2 if at < end => {
            let again = bytes[at..end].repeat(1 + rng.below(50));
            bytes.splice(at..at, again);
        }
        3 => {
            let piece = ODD[rng.below(ODD.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        4 if at < end => {
            let piece = ODD[rng.below(ODD.len())].to_vec();
            bytes.splice(at..end, piece);
        }
        5 if at + 8 <= bytes.len() => {
            let numbers = [0, 1, u64::MAX, u64::from(u32::MAX), 1 << 40, rng.next()];
            let width = if rng.chance(0.5) { 4 } else { 8 };
            let number = numbers[rng.below(numbers.len())].to_le_bytes();
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        6 if rng.chance(0.3) => bytes.truncate(at),
        7 => {
            // One token many times.
            let piece = ODD[rng.below(ODD.len())].repeat(1 + rng.below(3_000));
            bytes.splice(at..at, piece);
        }
        _ if at < bytes.len() => bytes[at] = (rng.next() & 0xff) as u8,
        _ => {}
    }
}

/// The first inputs are the known ones, the others are changes of `bases`.
pub(crate) fn known_or_changed(
    known: &[&dyn Fn() -> Vec<u8>],
    bases: &[&[u8]],
    at: usize,
    rng: &mut Rng,
) -> Vec<u8> {
    match known.get(at) {
        Some(known) => known(),
        None => changed(bases[rng.below(bases.len())], rng),
    }
}

/// `open` many times, `inner`, and as many times `close`.
pub(crate) fn nested(open: &str, inner: &str, close: &str, depth: usize) -> Vec<u8> {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}
