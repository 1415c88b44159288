//! Ontologies in the OBO format, version 1.4: stanzas of tags and values. They become the triples that the format's
//! mapping to OWL gives, so that an ontology is the same graph in either format.
//!
//! ```text
//! [Term]                                  obo:GO_0005773 a owl:Class ;
//! id: GO:0005773                              rdfs:label "vacuole" ;
//! name: vacuole                      →        rdfs:subClassOf obo:GO_0043231 ,
//! is_a: GO:0043231 ! organelle                    [ owl:onProperty obo:BFO_0000050 ; owl:someValuesFrom obo:GO_0005737 ] .
//! relationship: part_of GO:0005737
//! ```

use std::collections::HashMap;
use std::io::BufRead;

use super::sink::{ReadStop, Sink};
use super::text;
use crate::limits::KB_PART;
use crate::term::{Literal, RDF_TYPE, RDFS_LABEL, Term};

const OBO: &str = "http://purl.obolibrary.org/obo/";
const OIO: &str = "http://www.geneontology.org/formats/oboInOwl#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";

/// A tag with its value, without comment and qualifiers.
struct Clause<'a> {
    line: u64,
    tag: &'a str,
    value: &'a str,
}

/// A stanza of a file.
struct Stanza<'a> {
    line: u64,
    kind: &'a str,
    clauses: Vec<Clause<'a>>,
}

impl<'a> Stanza<'a> {
    fn values(&self, tag: &'static str) -> impl Iterator<Item = &Clause<'a>> {
        self.clauses.iter().filter(move |clause| clause.tag == tag)
    }

    fn first(&self, tag: &'static str) -> Option<&'a str> {
        self.values(tag).next().map(|clause| clause.value)
    }
}

/// Reads a file. Its text must fit a part of the memory of the load, and so must the lines of each stanza.
pub(super) fn read(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
    let text = text::whole(sink, reader, "an OBO file")?;
    let mut names = Names::default();
    each_stanza(sink, &text, |_, stanza| {
        names.read(stanza);
        Ok(())
    })?;
    let mut blanks = 0;
    each_stanza(sink, &text, |sink, stanza| {
        let mut writer = Writer {
            sink,
            names: &names,
            blanks,
        };
        match stanza.kind {
            "Term" => writer.term(stanza)?,
            "Typedef" => writer.relation(stanza)?,
            "Instance" => writer.instance(stanza)?,
            // The header, and kinds of stanzas that only some tools write.
            _ => {}
        }
        blanks = writer.blanks;
        Ok(())
    })
}

/// Calls `visit` for the header and every stanza of a file.
fn each_stanza<'a, 's>(
    sink: &mut Sink<'s>,
    text: &'a str,
    mut visit: impl FnMut(&mut Sink<'s>, &Stanza<'a>) -> Result<(), ReadStop>,
) -> Result<(), ReadStop> {
    let most = sink.memory() / KB_PART / size_of::<Clause<'_>>();
    let mut end = |sink: &mut Sink<'s>, stanza: &Stanza<'a>| {
        if !stanza.kind.is_empty() && stanza.first("id").is_none_or(str::is_empty) {
            return Err(sink.broken(stanza.line, "this stanza has no `id:`"));
        }
        visit(sink, stanza)
    };
    let mut stanza = Stanza {
        line: 1,
        kind: "",
        clauses: Vec::new(),
    };
    for (at, line) in text.lines().enumerate() {
        let number = at as u64 + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('!') {
            continue;
        }
        if let Some(kind) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            end(sink, &stanza)?;
            (stanza.line, stanza.kind) = (number, kind);
            stanza.clauses.clear();
            continue;
        }
        let Some((tag, value)) = line.split_once(':') else {
            return Err(sink.broken(number, "expected `tag: value` or a stanza such as [Term]"));
        };
        if stanza.clauses.len() == most {
            return Err(sink.refuse(
                number,
                format!("this stanza has more than {most} lines; raise --memory"),
            ));
        }
        stanza.clauses.push(Clause {
            line: number,
            tag: tag.trim(),
            value: bare(value.trim()),
        });
    }
    end(sink, &stanza)
}

/// A value without the comment behind ` !` and without qualifiers in braces at its end.
fn bare(value: &str) -> &str {
    let (mut quoted, mut escaped) = (false, false);
    let mut end = value.len();
    for (at, letter) in value.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '!' if !quoted && value[..at].ends_with(char::is_whitespace) => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let value = value[..end].trim_end();
    match value.rsplit_once(" {") {
        Some((before, _)) if value.ends_with('}') => before.trim_end(),
        _ => value,
    }
}

/// A quoted text at the start of a value with what follows it, unescaped.
fn quoted(value: &str) -> Option<(String, &str)> {
    let rest = value.strip_prefix('"')?;
    let (mut text, mut letters) = (String::new(), rest.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, rest[at + 1..].trim_start())),
            '\\' => text.push(unescaped(letters.next()?.1)),
            _ => text.push(letter),
        }
    }
    None
}

fn unescaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        't' => '\t',
        'W' => ' ',
        other => other,
    }
}

/// A text without quotes, unescaped.
fn plain(value: &str) -> String {
    let mut letters = value.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next().map(unescaped)),
            _ => text.push(letter),
        }
    }
    text
}

/// The IRIs of a file's ids.
#[derive(Default)]
struct Names<'a> {
    /// Of a relation, the id of the public relation that it stands for: `BFO:0000050` for `part_of`.
    relations: HashMap<&'a str, &'a str>,
    /// The name of the ontology, which is the namespace of ids without a prefix.
    ontology: Option<&'a str>,
}

impl<'a> Names<'a> {
    fn read(&mut self, stanza: &Stanza<'a>) {
        if stanza.kind.is_empty() {
            self.ontology = stanza.first("ontology");
        }
        let known = |id: &&str| id.starts_with("BFO:") || id.starts_with("RO:");
        if stanza.kind == "Typedef"
            && let Some(own) = stanza.first("id").filter(|own| !own.contains(':'))
        {
            let xrefs = stanza.values("xref");
            let mut ids = xrefs.filter_map(|clause| clause.value.split_whitespace().next());
            self.relations
                .extend(ids.find(known).map(|public| (own, public)));
        }
    }

    fn iri(&self, id: &str) -> String {
        let id = self.relations.get(id).copied().unwrap_or(id);
        if id.starts_with("http://") || id.starts_with("https://") {
            return id.to_owned();
        }
        let written = |text: &str| percent_encoding::utf8_percent_encode(text, UNSAFE).to_string();
        match id.split_once(':') {
            Some((prefix, local)) => format!("{OBO}{}_{}", written(prefix), written(local)),
            None => format!("{OBO}{}#{}", self.ontology.unwrap_or("obo"), written(id)),
        }
    }
}

/// What an IRI may not contain.
const UNSAFE: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

struct Writer<'s, 'a> {
    sink: &'s mut Sink<'a>,
    names: &'s Names<'s>,
    blanks: usize,
}

impl Writer<'_, '_> {
    fn add(&mut self, s: &Term, p: &str, o: &Term) -> Result<(), ReadStop> {
        let [s, o] = [s, o].map(|term| self.sink.term(term));
        let p = self.sink.iri(p);
        self.sink.triple(s, p, o)
    }

    fn node(&self, id: &str) -> Term {
        Term::Iri(self.names.iri(id))
    }

    fn blank(&mut self) -> Term {
        self.blanks += 1;
        Term::Blank(format!("obo{}", self.blanks))
    }

    /// `[ onProperty relation ; someValuesFrom filler ]`.
    fn restriction(&mut self, relation: &str, filler: &str) -> Result<Term, ReadStop> {
        let node = self.blank();
        self.add(&node, RDF_TYPE, &iri(OWL, "Restriction"))?;
        self.add(&node, &format!("{OWL}onProperty"), &self.node(relation))?;
        self.add(&node, &format!("{OWL}someValuesFrom"), &self.node(filler))?;
        Ok(node)
    }

    fn term(&mut self, stanza: &Stanza<'_>) -> Result<(), ReadStop> {
        let node = self.described(stanza, "Class")?;
        let mut parts = Vec::new();
        for clause in &stanza.clauses {
            let fields = fields(clause.value);
            match (clause.tag, fields.as_slice()) {
                ("is_a", [wider, ..]) => {
                    let wider = self.node(wider);
                    self.add(&node, &format!("{RDFS}subClassOf"), &wider)?;
                }
                ("relationship", [relation, filler, ..]) => {
                    let restriction = self.restriction(relation, filler)?;
                    self.add(&node, &format!("{RDFS}subClassOf"), &restriction)?;
                }
                ("intersection_of", [relation, filler, ..]) => {
                    parts.push(self.restriction(relation, filler)?);
                }
                ("intersection_of", [class]) => parts.push(self.node(class)),
                ("disjoint_from", [other, ..]) => {
                    let other = self.node(other);
                    self.add(&node, &format!("{OWL}disjointWith"), &other)?;
                }
                ("is_a" | "relationship" | "intersection_of" | "disjoint_from", _) => {
                    return Err(self.incomplete(clause));
                }
                _ => {}
            }
        }
        if parts.is_empty() {
            return Ok(());
        }
        let class = self.blank();
        let list = self.list(&parts)?;
        self.add(&class, &format!("{OWL}intersectionOf"), &list)?;
        self.add(&node, &format!("{OWL}equivalentClass"), &class)
    }

    fn list(&mut self, members: &[Term]) -> Result<Term, ReadStop> {
        let mut rest = iri(RDF, "nil");
        for member in members.iter().rev() {
            let node = self.blank();
            self.add(&node, &format!("{RDF}first"), member)?;
            self.add(&node, &format!("{RDF}rest"), &rest)?;
            rest = node;
        }
        Ok(rest)
    }

    fn relation(&mut self, stanza: &Stanza<'_>) -> Result<(), ReadStop> {
        let metadata = stanza.first("is_metadata_tag") == Some("true");
        let kind = if metadata {
            "AnnotationProperty"
        } else {
            "ObjectProperty"
        };
        let node = self.described(stanza, kind)?;
        for clause in &stanza.clauses {
            let relation = match clause.tag {
                "is_a" => format!("{RDFS}subPropertyOf"),
                "inverse_of" => format!("{OWL}inverseOf"),
                "domain" => format!("{RDFS}domain"),
                "range" => format!("{RDFS}range"),
                "is_transitive" if clause.value == "true" => {
                    self.add(&node, RDF_TYPE, &iri(OWL, "TransitiveProperty"))?;
                    continue;
                }
                "is_symmetric" if clause.value == "true" => {
                    self.add(&node, RDF_TYPE, &iri(OWL, "SymmetricProperty"))?;
                    continue;
                }
                _ => continue,
            };
            let Some(other) = fields(clause.value).first().map(|id| self.node(id)) else {
                return Err(self.incomplete(clause));
            };
            self.add(&node, &relation, &other)?;
        }
        Ok(())
    }

    fn instance(&mut self, stanza: &Stanza<'_>) -> Result<(), ReadStop> {
        let node = self.described(stanza, "NamedIndividual")?;
        for clause in &stanza.clauses {
            match (clause.tag, fields(clause.value).as_slice()) {
                ("instance_of", [class, ..]) => {
                    let class = self.node(class);
                    self.add(&node, RDF_TYPE, &class)?;
                }
                ("relationship", [relation, other, ..]) => {
                    let (relation, other) = (self.names.iri(relation), self.node(other));
                    self.add(&node, &relation, &other)?;
                }
                ("instance_of" | "relationship", _) => return Err(self.incomplete(clause)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds what every kind of stanza may have: names, definition, references.
    fn described(&mut self, stanza: &Stanza<'_>, kind: &str) -> Result<Term, ReadStop> {
        let node = self.node(stanza.first("id").unwrap_or_default());
        self.add(&node, RDF_TYPE, &iri(OWL, kind))?;
        for clause in &stanza.clauses {
            let value = clause.value;
            let (relation, text) = match clause.tag {
                "name" => (RDFS_LABEL.to_owned(), plain(value)),
                "comment" => (format!("{RDFS}comment"), plain(value)),
                "namespace" => (format!("{OIO}hasOBONamespace"), plain(value)),
                "alt_id" => (format!("{OIO}hasAlternativeId"), plain(value)),
                "xref" => (
                    format!("{OIO}hasDbXref"),
                    plain(value.split(" \"").next().unwrap_or(value)),
                ),
                "def" => match quoted(value) {
                    Some((text, _)) => (format!("{OBO}IAO_0000115"), text),
                    None => return Err(self.incomplete(clause)),
                },
                "synonym" => match quoted(value) {
                    Some((text, rest)) => (format!("{OIO}{}", scope(rest)), text),
                    None => return Err(self.incomplete(clause)),
                },
                "is_obsolete" if value == "true" => {
                    let truth = Term::Literal(Literal::xsd("true", "boolean"));
                    self.add(&node, &format!("{OWL}deprecated"), &truth)?;
                    continue;
                }
                "property_value" => {
                    self.property_value(&node, clause)?;
                    continue;
                }
                _ => continue,
            };
            self.add(&node, &relation, &Term::Literal(Literal::plain(text)))?;
        }
        Ok(node)
    }

    /// `property_value: relation "text" xsd:string` or `property_value: relation id`.
    fn property_value(&mut self, node: &Term, clause: &Clause<'_>) -> Result<(), ReadStop> {
        let Some((relation, value)) = clause.value.split_once(' ') else {
            return Err(self.incomplete(clause));
        };
        let relation = self.names.iri(relation);
        let value = match quoted(value.trim_start()) {
            Some((text, rest)) => {
                let datatype = rest
                    .split_whitespace()
                    .next()
                    .and_then(|name| name.strip_prefix("xsd:"));
                Term::Literal(match datatype.filter(|name| *name != "string") {
                    Some(name) => Literal::xsd(text, name),
                    None => Literal::plain(text),
                })
            }
            None => match fields(value).first() {
                Some(id) => self.node(id),
                None => return Err(self.incomplete(clause)),
            },
        };
        self.add(node, &relation, &value)
    }

    fn incomplete(&self, clause: &Clause<'_>) -> ReadStop {
        let message = format!("`{}: {}` is not complete", clause.tag, clause.value);
        self.sink.broken(clause.line, &message)
    }
}

fn iri(namespace: &str, local: &str) -> Term {
    Term::Iri(format!("{namespace}{local}"))
}

fn fields(value: &str) -> Vec<&str> {
    value.split_whitespace().collect()
}

/// The relation for the scope of a synonym.
fn scope(rest: &str) -> &'static str {
    match rest.split_whitespace().next() {
        Some("EXACT") => "hasExactSynonym",
        Some("BROAD") => "hasBroadSynonym",
        Some("NARROW") => "hasNarrowSynonym",
        _ => "hasRelatedSynonym",
    }
}
