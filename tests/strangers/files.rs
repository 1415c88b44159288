//! Hostile graph files: what parsers stumble over, and changes of good files.

use std::io::Write as _;

use common::rng::Rng;

use crate::change::{changed, known_or_changed, nested};
use crate::child::Sent;
use crate::place::Base;

const NT: &str = "<http://x.test/a> <http://x.test/r> <http://x.test/b> .\n<http://x.test/a> <http://www.w3.org/2000/01/rdf-schema#label> \"A\\u0042\"@en .\n_:b <http://x.test/n> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n";
const TRIG: &str = "@prefix : <http://x.test/> . @base <http://x.test/> . :a :r :b , \"c\"@en ; :n 1.5e3 , true . <g> { :a :r ( :b [ :r 2 ] ) . }\n";
const XML: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE r [<!ENTITY t \"http://x.test/\">]>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"http://x.test/\"><rdf:Description rdf:about=\"&t;a\"><t:r rdf:resource=\"&t;b\"/><t:n rdf:parseType=\"Collection\"><rdf:Description rdf:nodeID=\"c\"/></t:n><t:l xml:lang=\"en\">A &amp; B</t:l></rdf:Description></rdf:RDF>";
const JSONLD: &str = r#"{"@context": {"t": "http://x.test/", "r": {"@id": "t:r", "@type": "@id"}, "l": {"@id": "t:l", "@container": "@list"}}, "@graph": [{"@id": "t:a", "@type": "t:C", "r": "t:b", "l": [1, 2.5, "x", {"@value": "y", "@language": "en"}]}]}"#;
const TSV: &str = "lisbon\tcountry\tportugal\nporto\tcountry\tportugal\n\"quoted\"\trel\t12\n";
const METAQA: &str = "Kismet|directed_by|William Dieterle\nKismet|release_year|1944\n";
const ODA: &str =
    r#"{"Q1": {"P31": ["Q5", "Q6"], "P569": ["+1955-06-08T00:00:00Z"]}, "Q5": {"P279": ["Q7"]}}"#;
const KQAPRO: &str = r#"{"concepts": {"Q5": {"name": "human", "instanceOf": []}, "Q6": {"name": "city", "instanceOf": ["Q5"]}}, "entities": {"Q1": {"name": "Ann", "instanceOf": ["Q5"], "attributes": [{"key": "height", "value": {"type": "quantity", "value": 1.7, "unit": "metre"}, "qualifiers": {"point in time": [{"type": "year", "value": 2011}]}}], "relations": [{"predicate": "lives in", "object": "Q6", "direction": "forward", "qualifiers": {}}]}}}"#;

/// Loads one file.
fn load(name: &str, bytes: Vec<u8>) -> Sent {
    let args = format!("kg load --kg out --memory 64MiB --threads 2 {name}");
    Sent {
        writes: "out",
        ..Sent::to(&args).file(name, bytes)
    }
}

fn long(text: &str, times: usize) -> Vec<u8> {
    text.repeat(times).into_bytes()
}

pub(crate) fn n_triples(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let known: [&dyn Fn() -> Vec<u8>; 6] = [
        &|| format!("<x:a> <x:r> \"{}", "x".repeat(20 << 20)).into_bytes(),
        &|| vec![0; 1 << 20],
        &|| long("\n", 5 << 20),
        &|| format!("<x:a> <x:{}> <x:b> .\n", "r".repeat(1 << 20)).into_bytes(),
        &|| format!("<x:a> <x:r> \"{}\" .\n", "\\U0010FFFF".repeat(100_000)).into_bytes(),
        &|| {
            long(
                "<< << <x:a> <x:b> <x:c> >> <x:b> <x:c> >> <x:b> <x:c> .\n",
                1_000,
            )
        },
    ];
    let name = ["a.nt", "a.nq"][rng.below(2)];
    load(name, known_or_changed(&known, &[NT.as_bytes()], at, rng))
}

pub(crate) fn turtle(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let known: [&dyn Fn() -> Vec<u8>; 7] = [
        &|| nested("<x:a> <x:r> ( ", "1", " )", 60_000),
        &|| {
            [
                &b"<x:a> <x:r> "[..],
                &nested("[ <x:r> ", "1", " ]", 60_000),
                b" .",
            ]
            .concat()
        },
        &|| {
            [
                &b"<x:a> <x:r> "[..],
                &nested("( ", "1", " )", 60_000),
                b" .",
            ]
            .concat()
        },
        &|| long("@prefix a: <http://a/> . ", 100_000),
        &|| format!("<x:a> <x:r> \"\"\"{}", "\"\" ".repeat(1 << 20)).into_bytes(),
        &|| {
            format!(
                "@prefix a: <{}> . a:b a:c {} .",
                "x:".repeat(9_000),
                "a:d , ".repeat(9_000) + "a:e"
            )
            .into_bytes()
        },
        &|| nested("<g> { ", "<x:a> <x:r> 1", " }", 50_000),
    ];
    let name = ["a.ttl", "a.trig"][at % 2];
    load(name, known_or_changed(&known, &[TRIG.as_bytes()], at, rng))
}

pub(crate) fn rdf_xml(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let start = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"http://x.test/\">";
    let deep = |depth| {
        nested(
            "<rdf:Description><t:r>",
            "1",
            "</t:r></rdf:Description>",
            depth,
        )
    };
    let known: [&dyn Fn() -> Vec<u8>; 7] = [
        &|| [start.as_bytes(), &deep(30_000), b"</rdf:RDF>"].concat(),
        &|| long("<a>", 300_000),
        &|| {
            format!(
                "{start}<t:a {}/>",
                (0..50_000)
                    .map(|i| format!("t:a{i}='1' "))
                    .collect::<String>()
            )
            .into_bytes()
        },
        &|| b"<!DOCTYPE r [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;&a;\">]><r>&a;</r>".to_vec(),
        &|| {
            b"<!DOCTYPE r SYSTEM \"file:///etc/passwd\" [<!ENTITY a SYSTEM \"/etc/passwd\">]><r>&a;</r>".to_vec()
        },
        &|| format!("{start}<!--{}", "-".repeat(18 << 20)).into_bytes(),
        &|| format!("{start}{}", "<t:a xmlns:q='http://q/'>".repeat(30_000)).into_bytes(),
    ];
    load(
        "a.rdf",
        known_or_changed(&known, &[XML.as_bytes()], at, rng),
    )
}

pub(crate) fn json_ld(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let known: [&dyn Fn() -> Vec<u8>; 6] = [
        &|| nested("[", "1", "]", 1_000_000),
        &|| nested("{\"@context\":", "{}", "}", 60),
        &|| br#"{"@context": "http://127.0.0.1:9/context.jsonld", "@id": "x:a", "r": 1}"#.to_vec(),
        &|| br#"{"@context": "file:///etc/passwd", "@id": "x:a", "x:r": 1}"#.to_vec(),
        &|| format!("{{\"@id\":\"x:a\",\"x:r\":[{}1]}}", "1,".repeat(400_000)).into_bytes(),
        &|| {
            format!(
                "{{\"@context\":{{\"a\":\"b:x\",\"b\":\"a:y\"}},\"a\":{}}}",
                "1".repeat(1 << 20)
            )
            .into_bytes()
        },
    ];
    load(
        "a.jsonld",
        known_or_changed(&known, &[JSONLD.as_bytes()], at, rng),
    )
}

pub(crate) fn tables(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let known: [&dyn Fn() -> Vec<u8>; 5] = [
        &|| long("\t\t\n", 1 << 20),
        &|| long("|", 18 << 20),
        &|| format!("a\t{}\tb\n", "r".repeat(1 << 22)).into_bytes(),
        &|| {
            (0..60_000)
                .map(|i| format!("a\tr{i}\tb{i}\n"))
                .collect::<String>()
                .into_bytes()
        },
        &|| long("a\u{301}\tb\u{202e}\tc\u{0}\n", 1 << 12),
    ];
    let (name, base) = [("a.tsv", TSV), ("kb.txt", METAQA)][at % 2];
    load(name, known_or_changed(&known, &[base.as_bytes()], at, rng))
}

pub(crate) fn json_graphs(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let known: [&dyn Fn() -> Vec<u8>; 6] = [
        &|| nested("{\"a\":", "1", "}", 500_000),
        &|| format!("{{\"Q1\": {{\"P1\": [\"{}\"]}}}}", "x".repeat(20 << 20)).into_bytes(),
        &|| {
            format!(
                "{{\"concepts\": {{}}, \"entities\": {{{}\"Q\": {{}}}}}}",
                "\"Q1\": {\"name\": \"a\"},".repeat(200_000)
            )
            .into_bytes()
        },
        &|| {
            br#"{"concepts": {"A": {"name": "a", "instanceOf": ["B"]}, "B": {"name": "b", "instanceOf": ["A"]}}, "entities": {}}"#.to_vec()
        },
        &|| br#"{"concepts": [], "entities": 7}"#.to_vec(),
        &|| {
            b"{\"concepts\": {}, \"entities\": {\"Q1\": {\"name\": \"a\", \"attributes\": [{\"key\": \"k\", \"value\": {\"type\": \"quantity\", \"value\": 1e400, \"unit\": \"1\"}}]}}}".to_vec()
        },
    ];
    let (name, base) = [("kb.json", KQAPRO), ("near.json", ODA)][at % 2];
    load(name, known_or_changed(&known, &[base.as_bytes()], at, rng))
}

pub(crate) fn compressed(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let packed = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let bomb = |name: &str| load(name, packed(&vec![b' '; 60 << 20]));
    let name = [
        "a.nt.gz",
        "a.ttl.gz",
        "a.rdf.gz",
        "a.jsonld.gz",
        "near.json.gz",
        "kb.json.gz",
    ][at % 6];
    match at {
        0..6 => bomb(name),
        6 => load(name, Vec::new()),
        7 => load(name, packed(NT.as_bytes()).repeat(2_000)),
        _ => load(name, changed(&packed(NT.as_bytes()), rng)),
    }
}

/// A good graph of an odd shape, and questions and queries over it.
pub(crate) fn odd_graphs(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let label = "<http://www.w3.org/2000/01/rdf-schema#label>";
    let kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    let sub = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>";
    let many =
        |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let words = [
        "[31m\\u0007",
        "\\u202E\\u2066",
        "<|end|>",
        "$(rm -rf .)",
        "{{x}}",
        "a\\nb",
    ];
    let text = match at % 9 {
        0 => many(3_000, &|i| {
            format!("<x:h> <x:r{i}> <x:o{i}> .\n<x:o{i}> <x:r{i}> <x:h> .\n")
        }),
        1 => many(2_000, &|i| {
            format!(
                "<x:s{i}> {kind} <x:c{i}> .\n<x:c{i}> {sub} <x:c{}> .\n",
                (i + 1) % 2_000
            )
        }),
        2 => many(20_000, &|i| {
            format!("<x:s{i}> {label} \"Lisbon\" .\n<x:s{i}> <x:r> <x:h> .\n")
        }),
        3 => many(200, &|i| {
            format!(
                "<x:{}> <x:{}> \"{}\" .\n",
                "s".repeat(500),
                "r".repeat(20_000 + i),
                "t".repeat(9_000)
            )
        }),
        4 => many(3_000, &|i| {
            format!("_:b{i} <x:r> _:b{} .\n_:b{i} {kind} _:b{i} .\n", i + 1)
        }),
        5 => many(20_000, &|i| format!("<x:h> {label} \"Lisbon {i}\" .\n")),
        6 => many(500, &|i| {
            format!(
                "<x:s{i}> {label} \"{}{i}\"@en .\n<x:s{i}> <x:{}> \"{i}\" .\n",
                words[i % 6],
                "%1B%5B31m".repeat(i % 9)
            )
        }),
        7 => many(300, &|i| {
            format!("<x:s{i}> <x:s{}> <x:s{}> .\n", i * 7 % 300, i * 11 % 300)
        }),
        _ => many(3_000, &|i| {
            format!(
                "<x:s{i}> {kind} <x:city> .\n<x:s{i}> <x:in> <x:s{}> .\n<x:s{i}> <x:population> \"1e{i}\"^^<http://www.w3.org/2001/XMLSchema#double> .\n",
                i / 2
            )
        }),
    };
    let asked = [
        "which cities are in h and how many per country",
        "average population of the cities of Lisbon grouped by country ordered by name",
        "which s1 without r2 has the most r3",
        "Lisbon",
    ];
    let question = match rng.below(5) {
        4 => "Lisbon ".repeat(570),
        other => asked[other].to_owned(),
    };
    load("a.nt", text.into_bytes()).then(&["ask", "--kg", "out", "--why", &question])
}
