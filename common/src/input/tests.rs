//! Tests of compressed inputs, marks and encodings.

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
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
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
