//! Text files from users: compressed or not, with or without a byte order mark.
//!
//! A file is decompressed if its first bytes are those of gzip, bzip2, xz or Zstandard, whatever its name. Text in
//! UTF-16 is read as UTF-8. All readers of this program open their files here.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

pub use self::encoding::{Encoding, decoded};

mod encoding;
mod zstd;

/// The file extensions of compressed files.
pub const COMPRESSED: [&str; 4] = [".gz", ".bz2", ".xz", ".zst"];

/// Memory limit of a decompressor if the caller sets none; the `zstd` command has the same default.
pub const WINDOW: usize = 128 << 20;

/// The window size that RFC 8878 asks every Zstandard decompressor to support.
const LEAST_WINDOW: usize = 8 << 20;

/// The most that [`read_text`] reads.
const TEXT_BYTES: u64 = 1 << 28;

/// Bytes that are looked at to recognise a format.
const HEAD: u64 = 16;

/// Bytes per read.
const BUFFER: usize = 1 << 16;

/// A text input, decompressed, in UTF-8 and without a byte order mark.
pub type Input<'a> = Box<dyn BufRead + 'a>;

/// A format of compressed files.
#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

/// The first bytes of each format. A frame of Zstandard that is to be skipped has other bytes.
const MAGIC: [(&[u8], Packing); 4] = [
    (b"\x1f\x8b", Packing::Gzip),
    (b"BZh", Packing::Bzip2),
    (b"\xfd7zXZ\0", Packing::Xz),
    (b"\x28\xb5\x2f\xfd", Packing::Zstd),
];

/// Archives of files, and formats without a decompressor here.
const OTHERS: [(&[u8], &str); 4] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
];

/// Opens a text input. A folder is an error that says so.
///
/// # Errors
/// If it cannot be opened, is cut short at its start, or is an archive.
pub fn open(path: &Path) -> io::Result<Input<'static>> {
    if path.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "this is a folder; name a file",
        ));
    }
    of_file(File::open(path)?, path, WINDOW)
}

/// The text in an open file. A decompressor may take about `memory` bytes. `path` is the file's name.
///
/// # Errors
/// Those of [`open`].
pub fn of_file(file: File, path: &Path, memory: usize) -> io::Result<Input<'static>> {
    let (head, reader) = peek(Box::new(BufReader::with_capacity(BUFFER, file)))?;
    let name = path.to_string_lossy().to_ascii_lowercase();
    let plain = match packing(&head) {
        Some(packing) => unpacked(packing, reader, memory)?,
        None => {
            let cut = MAGIC.iter().any(|(magic, _)| magic.starts_with(&head));
            if cut && plain_name(&name) != name {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "this file ends within its first bytes; was the download cut short?",
                ));
            }
            if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("this is {what}; unpack it first"),
                ));
            }
            reader
        }
    };
    text(plain)
}

/// The whole text of an input of at most `most` bytes.
///
/// # Errors
/// Those of [`open`], or if it is longer or not UTF-8; the message has no path.
pub fn read_to_string(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("more than {most} bytes"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("line {line}: not UTF-8 text"),
        )
    })
}

/// [`read_to_string`] for small inputs, such as a token, word tables or a user's questions.
///
/// # Errors
/// Those of [`read_to_string`].
pub fn read_text(path: &Path) -> io::Result<String> {
    read_to_string(path, TEXT_BYTES)
}

/// A line without a byte order mark. Files that were joined have marks at the start of later lines.
#[must_use]
pub fn without_mark(line: &str) -> &str {
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

/// A file name without the extension of a compressed file.
#[must_use]
pub fn plain_name(name: &str) -> &str {
    COMPRESSED
        .iter()
        .find_map(|extension| {
            let start = name.len().checked_sub(extension.len())?;
            let end = name.get(start..)?;
            end.eq_ignore_ascii_case(extension).then(|| &name[..start])
        })
        .unwrap_or(name)
}

/// The first bytes of a reader, and the reader with them.
fn peek(mut reader: Input<'_>) -> io::Result<(Vec<u8>, Input<'_>)> {
    let mut head = Vec::new();
    // A pipe may give less than it is asked for.
    reader.by_ref().take(HEAD).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(whole)))
}

fn packing(head: &[u8]) -> Option<Packing> {
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && &head[1..4] == b"\x2a\x4d\x18";
    if skippable {
        return Some(Packing::Zstd);
    }
    let (_, packing) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic))?;
    // A text may begin with `BZh`. A block, or the end of an empty file, follows in bzip2.
    let text = matches!(packing, Packing::Bzip2)
        && head.len() >= 10
        && !matches!(&head[4..10], b"1AY&SY" | b"\x17\x72\x45\x38\x50\x90");
    (!text).then_some(*packing)
}

/// Decompresses a file of any number of members, streams or frames.
fn unpacked(packing: Packing, reader: Input<'static>, memory: usize) -> io::Result<Input<'static>> {
    let window = memory.max(LEAST_WINDOW);
    let plain: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        Packing::Xz => {
            let kib = u32::try_from(window >> 10).unwrap_or(u32::MAX);
            Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, kib))
        }
        Packing::Zstd => Box::new(zstd::ZstdReader::new(reader, window)),
    };
    Ok(Box::new(BufReader::with_capacity(
        BUFFER,
        Damaged(plain, packing),
    )))
}

/// Turns a decompressor's errors into messages that name the format and the cause.
struct Damaged(Box<dyn Read>, Packing);

impl Read for Damaged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let kind = match self.1 {
                Packing::Gzip => "gzip",
                Packing::Bzip2 => "bzip2",
                Packing::Xz => "xz",
                Packing::Zstd => "Zstandard",
            };
            let why = match error.kind() {
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => "it is cut short".to_owned(),
                io::ErrorKind::OutOfMemory => {
                    "unpacking it takes more memory than is allowed; unpack it first".to_owned()
                }
                _ => format!("it is damaged ({error})"),
            };
            io::Error::new(error.kind(), format!("this is a {kind} file, and {why}"))
        })
    }
}

/// Removes a byte order mark, and decodes UTF-16.
fn text(reader: Input<'_>) -> io::Result<Input<'_>> {
    let (head, mut reader) = peek(reader)?;
    let encoding = match &head[..] {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this text is in UTF-32; convert it with `iconv -f UTF-32 -t UTF-8`",
            ));
        }
        [0xef, 0xbb, 0xbf, ..] => {
            reader.consume(3);
            return Ok(reader);
        }
        [0xff, 0xfe, ..] => Encoding::Utf16Le,
        [0xfe, 0xff, ..] => Encoding::Utf16Be,
        // No other text has these zeros. XML and text from databases may come without a mark.
        [1..0x80, 0, 1..0x80, 0, ..] => return Ok(decoded(reader, Encoding::Utf16Le)),
        [0, 1..0x80, 0, 1..0x80, ..] => return Ok(decoded(reader, Encoding::Utf16Be)),
        _ => return Ok(reader),
    };
    reader.consume(2);
    Ok(decoded(reader, encoding))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const TEXT: &str = "head\trelation\ttail\n";

    /// Writes a text in a compressed format.
    type Pack = fn(&str) -> Vec<u8>;

    /// [`TEXT`] in the formats that have several members, streams or frames in a file. The function makes one of them.
    fn packers() -> [(&'static str, Pack); 3] {
        [
            ("t.tsv.gz", |text| {
                let mut out =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(text.as_bytes()).unwrap();
                out.finish().unwrap()
            }),
            ("t.tsv.bz2", |text| {
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                out.write_all(text.as_bytes()).unwrap();
                out.finish().unwrap()
            }),
            ("t.tsv.zst", |text| {
                compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
            }),
        ]
    }

    /// `<x:a> <x:r> <x:b> .` in xz, with a CRC64.
    const XZ: &str = "fd377a585a000004e6d6b4460200210116000000742fe5a3e0001300125d001e1e034621bcde8e5aa19164dfa62b08d400000000fae4abd71268f45100012e147a685b311fb6f37d010000000004595a";

    fn xz() -> Vec<u8> {
        (0..XZ.len() / 2)
            .map(|i| u8::from_str_radix(&XZ[2 * i..2 * i + 2], 16).unwrap())
            .collect()
    }

    fn read(name: &str, bytes: &[u8]) -> io::Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read_text(&path)
    }

    fn refused(name: &str, bytes: &[u8], why: &str) {
        let error = read(name, bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
    }

    #[test]
    fn every_member_of_a_compressed_file_is_read_whatever_its_name() {
        let long = TEXT.repeat(20_000);
        for (name, pack) in packers() {
            for name in [name, "t.tsv", "t.TSV.GZ"] {
                assert_eq!(read(name, &pack(TEXT)).unwrap(), TEXT, "{name}");
                let two = [pack(TEXT), pack(&long), pack("")].concat();
                assert_eq!(read(name, &two).unwrap(), format!("{TEXT}{long}"), "{name}");
            }
        }
        let two = [xz(), xz()].concat();
        assert_eq!(
            read("t.nt.xz", &two).unwrap(),
            "<x:a> <x:r> <x:b> .\n".repeat(2)
        );
        let (_, zst) = packers()[2];
        let frame = [&b"\x5a\x2a\x4d\x18\x03\0\0\0abc"[..], &zst(TEXT)].concat();
        assert_eq!(
            read("t.zst", &[&frame[..], &frame].concat()).unwrap(),
            TEXT.repeat(2)
        );
    }

    #[test]
    fn files_that_are_cut_or_damaged_are_errors() {
        let mut all: Vec<(&str, Vec<u8>)> = packers()
            .into_iter()
            .map(|(name, pack)| (name, pack(&TEXT.repeat(50))))
            .collect();
        all.push(("t.nt.xz", xz()));
        for (name, packed) in all {
            for end in 0..packed.len() {
                assert!(read(name, &packed[..end]).is_err(), "{name} cut at {end}");
            }
            let cut = &packed[..packed.len() - 3];
            refused(name, cut, "cut short");
            let mut wrong = packed.clone();
            let middle = wrong.len() / 2;
            wrong[middle] ^= 0x55;
            assert!(read(name, &wrong).is_err(), "{name}");
        }
    }

    #[test]
    fn zstd_windows_and_xz_dictionaries_fit_the_memory() {
        // A frame with a window of 2 GiB, and a block header of 64 MiB in the dictionary of xz.
        refused(
            "t.zst",
            b"\x28\xb5\x2f\xfd\x00\xa8\x01\0\0",
            "takes more memory than is allowed",
        );
        let mut large = xz();
        // The size of the dictionary, and the check sum of the block's header.
        large[16] = 0x28;
        let crc = {
            let mut crc = flate2::Crc::new();
            crc.update(&large[12..20]);
            crc.sum()
        };
        large[20..24].copy_from_slice(&crc.to_le_bytes());
        refused("t.xz", &large, "takes more memory than is allowed");
    }

    #[test]
    fn marks_and_utf16_are_read_in_compressed_files_too() {
        let text = "Zürich\t東京\t😀\n";
        let utf16 =
            |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let (le, be) = (utf16(u16::to_le_bytes), utf16(u16::to_be_bytes));
        let (_, gz) = packers()[0];
        for bytes in [
            format!("\u{feff}{text}").into_bytes(),
            gz(&format!("\u{feff}{text}")),
            [b"\xff\xfe", &le[..]].concat(),
            [b"\xfe\xff", &be[..]].concat(),
        ] {
            assert_eq!(read("t.tsv", &bytes).unwrap(), text);
        }
        let plain: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(
            read("t.tsv", &plain).unwrap(),
            TEXT,
            "UTF-16 without a mark"
        );
        for short in ["", "a", "\u{feff}", "ab"] {
            assert_eq!(
                read("t.tsv", short.as_bytes()).unwrap(),
                short.trim_start_matches('\u{feff}')
            );
        }
        refused(
            "t",
            &[b"\xff\xfe", &le[..5]].concat(),
            "line 1: this text begins as UTF-16",
        );
        refused(
            "t",
            b"\xff\xfea\0\n\0\x00\xdca\0",
            "line 2: this text begins as UTF-16",
        );
        refused("t", b"\xff\xfe\0\0a\0\0\0", "UTF-32");
        refused("t", b"a\nb\xff\n", "line 2: not UTF-8");
    }

    #[test]
    fn archives_are_named_and_texts_that_look_like_bzip2_are_texts() {
        refused("t.zip", b"PK\x03\x04rest", "a zip archive; unpack it first");
        refused("t.nt.gz", b"", "cut short");
        assert_eq!(read("t.nt", b"").unwrap(), "");
        assert_eq!(
            read("t.nt.gz", b"<x:a> <x:r> <x:b> .\n").unwrap(),
            "<x:a> <x:r> <x:b> .\n"
        );
        assert_eq!(
            read("t.tsv", b"BZhou\tin\tChina\n").unwrap(),
            "BZhou\tin\tChina\n"
        );
    }

    #[test]
    fn windows_1252_has_quotation_marks() {
        let mut text = String::new();
        decoded(Box::new(&b"caf\xe9 \x84x\x93"[..]), Encoding::Windows1252)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "café „x“");
    }

    #[test]
    fn names_lose_only_the_extension_of_compression() {
        for (name, plain) in [
            ("a.nt.bz2", "a.nt"),
            ("a.NT.GZ", "a.NT"),
            ("a.zst", "a"),
            ("a.ttl", "a.ttl"),
            ("é.xz", "é"),
            ("gz", "gz"),
        ] {
            assert_eq!(plain_name(name), plain);
        }
    }
}
