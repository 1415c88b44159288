//! The syntaxes of graph files.

use std::path::Path;

use common::input::plain_name;

/// The syntax of a graph file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Turtle (`.ttl`, `.n3`, and `.owl`, `.rdf` and `.xml` that hold it).
    Turtle,
    /// N-Triples (`.nt`).
    NTriples,
    /// N-Quads (`.nq`).
    NQuads,
    /// TriG (`.trig`).
    TriG,
    /// RDF/XML (`.rdf`, `.xml`, `.owl`).
    RdfXml,
    /// JSON-LD (`.jsonld`) without remote contexts.
    JsonLd,
    /// Ontologies in the OBO format 1.4 (`.obo`).
    Obo,
    /// Lines of `head <TAB> relation <TAB> tail` (`.tsv`).
    Tsv,
    /// Lines of `subject|relation|object`, as MetaQA's `kb.txt`.
    MetaQa,
    /// KQA Pro's graph ([`crate::kqapro`]), recognised by its name `kb.json`; it is read into
    /// memory.
    KqaPro,
    /// ODA's subgraphs (`.json`): `{entity: [[head, relation, tail], …]}`, and labels as `{id:
    /// label}` in a separate file.
    Oda,
}

impl GraphFormat {
    /// The name of every format; usually also its file extension.
    pub const NAMES: &[(&str, Self)] = &[
        ("ttl", Self::Turtle),
        ("nt", Self::NTriples),
        ("nq", Self::NQuads),
        ("trig", Self::TriG),
        ("rdf", Self::RdfXml),
        ("jsonld", Self::JsonLd),
        ("obo", Self::Obo),
        ("tsv", Self::Tsv),
        ("metaqa", Self::MetaQa),
        ("kqapro", Self::KqaPro),
        ("oda", Self::Oda),
    ];

    /// The format of a name in [`GraphFormat::NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// The format of a file name without the extension of a compressed file; `None` if the extension is ambiguous, such as
    /// `.txt`.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = plain_name(&name);
        if name == "kb.json" {
            return Some(Self::KqaPro);
        }
        match name.rsplit_once('.')?.1 {
            // What people publish as N3 is Turtle; formulas are errors.
            "turtle" | "n3" => Some(Self::Turtle),
            "ntriples" => Some(Self::NTriples),
            "nquads" => Some(Self::NQuads),
            "xml" | "owl" => Some(Self::RdfXml),
            "json" => Some(Self::Oda),
            extension => Self::named(extension),
        }
    }

    /// The format of a file whose extension stands for ontologies of any syntax (`.owl`, `.rdf`, `.xml`), by its first bytes.
    ///
    /// # Errors
    /// A message for the functional and the Manchester syntax of OWL, which are not read.
    pub(super) fn of_ontology(start: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let begins = |word: &str| {
            text.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        // `<http://…>` is a term of Turtle, `<rdf:RDF` an element.
        let is_iri = |rest: &str| {
            rest.split_once(':').is_some_and(|(scheme, rest)| {
                let plain = scheme.chars().all(|c| c.is_ascii_alphanumeric());
                plain && (rest.starts_with("//") || scheme == "urn")
            })
        };
        let other = [
            ("Prefix(", "functional"),
            ("Ontology(", "functional"),
            ("Prefix:", "Manchester"),
            ("Ontology:", "Manchester"),
        ];
        if let Some((_, syntax)) = other.iter().find(|(word, _)| text.starts_with(word)) {
            return Err(format!(
                "this is OWL in {syntax} syntax, which is not read; save it as Turtle or RDF/XML, for example with Protégé or \
                 `robot convert --input FILE --output FILE.ttl`"
            ));
        }
        let is_turtle = ["@prefix", "@base", "PREFIX ", "BASE ", "#", "_:", "["]
            .into_iter()
            .any(begins)
            || text.strip_prefix('<').is_some_and(is_iri);
        Ok(if begins("format-version:") {
            Self::Obo
        } else if is_turtle {
            Self::Turtle
        } else {
            Self::RdfXml
        })
    }

    /// The format of a first line: MetaQA or TSV, if it has exactly three fields.
    pub(super) fn guess(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let fields = |separator| line.split(separator).count();
        match (fields('|'), fields('\t')) {
            (3, 1) => Some(Self::MetaQa),
            (_, 3) => Some(Self::Tsv),
            _ => None,
        }
    }
}
