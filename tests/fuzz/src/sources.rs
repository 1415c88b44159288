//! The target for graph sources in every format.

use std::fs;

use kg::{FrozenKg, GraphFormat, LoadOptions};

use super::scratch;

/// Memory of a load. Limits must keep small inputs far below it.
const MEMORY: usize = 1 << 24;

/// A source in the format that the first byte selects, read by one thread.
pub fn load(bytes: &[u8]) {
    let Some((&first, content)) = bytes.split_first() else {
        return;
    };
    let (name, format) = GraphFormat::NAMES[usize::from(first) % GraphFormat::NAMES.len()];
    let file = scratch().join(format!("source.{name}"));
    let options = LoadOptions {
        labels: &[],
        format: Some(format),
        any_iri: first >= 128,
        max_faults: usize::from(first >= 128),
        memory: MEMORY,
        threads: 1,
        base: None,
        reasoning: true,
    };
    if fs::write(&file, content).is_ok()
        && let Ok(kg) = FrozenKg::load(&[file], &options, &|_| {})
    {
        super::ask_everything(&kg);
    }
}

/// A good source in each format, strictly and leniently.
pub fn seeds() -> Vec<Vec<u8>> {
    GraphFormat::NAMES
        .iter()
        .zip(0..=u8::MAX)
        .flat_map(|((name, _), at)| {
            let lenient = at + 11 * 12;
            [at, lenient].map(|first| [&[first], good(name).as_bytes()].concat())
        })
        .collect()
}

fn good(format: &str) -> &'static str {
    match format {
        "ttl" => {
            "@prefix : <http://x/> . @base <http://b/> .\n:a a :c ; :p (1 2.5 true) , [ :q \"x\\n\"@en ] , \"\"\"y\"\"\"^^:t . <r> :p <<( :a :p :b )>> .\n"
        }
        "nt" => {
            "<http://x/a> <http://x/p> \"b\\u00e9\"@en-GB .\n# note\n_:a <http://x/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
        }
        "nq" => "<http://x/a> <http://x/p> _:b <http://x/g> .\n_:b <http://x/p> \"c\" .\n",
        "trig" => "@prefix : <http://x/> . :g { :a :p :b , \"c\" } GRAPH :h { [] :p :a }\n",
        "rdf" => {
            "<?xml version=\"1.0\"?><!DOCTYPE rdf:RDF [<!ENTITY x \"http://x/\">]>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"&x;\" xml:base=\"http://b/\"><t:C rdf:about=\"&x;a\" t:q=\"1\"><t:p rdf:parseType=\"Collection\"><rdf:Description rdf:ID=\"i\"/></t:p><t:r rdf:parseType=\"Literal\"><b>&amp;&#65;</b></t:r><t:s rdf:parseType=\"Resource\"><t:u xml:lang=\"en\"><![CDATA[<c>]]></t:u></t:s><rdf:li rdf:resource=\"z\"/></t:C></rdf:RDF>\n"
        }
        "obo" => {
            "format-version: 1.4\nontology: x\n\n[Term]\nid: X:1\nname: a \\! b ! c\ndef: \"d \\\"e\\\"\" [X:r] {q=\"1\"}\nsynonym: \"s\" EXACT []\nis_a: X:2\nrelationship: part_of X:3\nintersection_of: X:2\nintersection_of: part_of X:3\nproperty_value: p \"1\" xsd:integer\n\n[Typedef]\nid: part_of\nname: part of\nxref: BFO:0000050\nis_transitive: true\n\n[Instance]\nid: i\ninstance_of: X:1\nrelationship: part_of j\n"
        }
        "jsonld" => {
            r#"{"@context": {"@vocab": "http://x/", "n": {"@id": "x:n", "@type": "@id", "@container": "@list"}, "x": "http://y/", "p": {"@reverse": "q"}}, "@graph": [{"@id": "x:a", "@type": "C", "n": ["x:b", {"@list": [1, 2.5, null]}], "p": {"@id": "x:c", "l": {"@value": "v", "@language": "en"}}, "@included": [{"s": {"@set": [true]}}], "@index": "i"}]}"#
        }
        "tsv" => "a\tr\tb\nb\tr\t\"c\"@en\na\tlabel\tA\n",
        "metaqa" => "Kismet|directed_by|William Dieterle\nKismet|release_year|1944\n",
        "kqapro" => {
            r#"{"concepts": {"Q5": {"name": "human", "instanceOf": []}}, "entities": {"Q1": {"name": "Ada", "instanceOf": ["Q5"], "attributes": [{"key": "height", "value": {"type": "quantity", "value": 1.7, "unit": "metre"}, "qualifiers": {"point in time": [{"type": "year", "value": 1990}]}}, {"key": "born", "value": {"type": "date", "value": "1815-12-10"}, "qualifiers": {}}], "relations": [{"relation": "spouse", "direction": "forward", "object": "Q1", "qualifiers": {}}]}}}"#
        }
        _ => r#"{"Q1": [["Q1", "P31", "Q5"], ["Q2", "P17", "Q1"]], "Q2": []}"#,
    }
}
