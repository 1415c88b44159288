//! Checks RDF/XML from its first element on, byte by byte: references to entities, the depth of elements and their
//! attributes. Attributes of RDF 1.2 that make statements about statements are refused.
//!
//! The parser compares each attribute of an element with all others of it, and looks up each name among the
//! namespaces of all open elements (RUSTSEC-2026-0194 and RUSTSEC-2026-0195 of quick-xml). So the attributes of all
//! open elements together are limited.

use std::cell::Cell;

use super::star;
use crate::limits::{ENTITY_REFERENCES, XML_ATTRIBUTES, XML_DEPTH};

/// What follows `<!` at the start of a comment and of a CDATA section.
const COMMENT: &[u8] = b"--";
const CDATA: &[u8] = b"[CDATA[";

/// Attributes of RDF 1.2 that make a statement about a statement, and the value of `parseType` that does.
const ANNOTATIONS: [&[u8]; 2] = [b"rdf:annotation", b"rdf:annotationNodeID"];
const PARSE_TYPE: &[u8] = b"parseType";
const TRIPLE: &[u8] = b"Triple";

/// The state of the check.
#[derive(Default)]
pub(super) struct XmlCheck {
    place: Place,
    /// For each open element, the number of its attributes.
    open: Vec<usize>,
    /// Their sum, with those of the tag that is being read.
    attributes: usize,
    has_entities: bool,
    /// The last word of the tag that is being read: of an attribute, its name.
    word: Vec<u8>,
    /// Whether another word may begin.
    word_ended: bool,
    /// The start of the attribute's value.
    value: Vec<u8>,
}

/// Where in a document a byte stands.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Text,
    /// Behind `<`.
    Open,
    /// In a tag.
    Tag {
        /// It begins with `</`.
        closing: bool,
        /// Its last byte was `/`.
        slash: bool,
        attributes: usize,
    },
    /// In the quotes of an attribute of a tag.
    Value { quote: u8, attributes: usize },
    /// Behind `<!`: how many bytes the start of a comment or of a CDATA section has in common with what follows.
    Bang { comment: usize, cdata: usize },
    /// In a comment or CDATA section: how often its last byte, `-` or `]`, has just passed.
    Until { last: u8, passed: usize },
    /// In a processing instruction; whether its last byte was `?`.
    Instruction(bool),
}

impl XmlCheck {
    /// A check of a document that declares entities, or not.
    pub(super) fn new(has_entities: bool) -> Self {
        Self {
            has_entities,
            ..Self::default()
        }
    }

    /// Counts a byte; `references` are the references to entities since the last triple. The error says why the byte
    /// is refused.
    pub(super) fn step(&mut self, byte: u8, references: &Cell<usize>) -> Result<(), String> {
        self.entity(byte, references)?;
        self.place = match self.place {
            Place::Text if byte == b'<' => Place::Open,
            Place::Text => Place::Text,
            Place::Open => match byte {
                b'!' => Place::Bang {
                    comment: 0,
                    cdata: 0,
                },
                b'?' => Place::Instruction(false),
                b'/' => tag(true),
                _ => tag(false),
            },
            Place::Tag {
                closing,
                slash,
                attributes,
            } => return self.tag(byte, closing, slash, attributes),
            Place::Value { quote, attributes } if byte == quote => {
                if self.value == TRIPLE && self.word.ends_with(PARSE_TYPE) {
                    return Err(star::STATEMENT.to_owned());
                }
                self.word_ended = true;
                Place::Tag {
                    closing: false,
                    slash: false,
                    attributes,
                }
            }
            Place::Bang { comment, cdata } => bang(byte, comment, cdata)?,
            Place::Until { last, passed } => match byte {
                b'>' if passed >= 2 => Place::Text,
                _ if byte == last => Place::Until {
                    last,
                    passed: passed + 1,
                },
                _ => Place::Until { last, passed: 0 },
            },
            Place::Instruction(true) if byte == b'>' => Place::Text,
            Place::Instruction(_) => Place::Instruction(byte == b'?'),
            other @ Place::Value { .. } => {
                if self.value.len() <= TRIPLE.len() {
                    self.value.push(byte);
                }
                other
            }
        };
        Ok(())
    }

    /// A byte of a tag outside quotes.
    fn tag(
        &mut self,
        byte: u8,
        closing: bool,
        slash: bool,
        attributes: usize,
    ) -> Result<(), String> {
        self.place = match byte {
            b'"' | b'\'' if !closing => {
                self.attributes += 1;
                if self.attributes > XML_ATTRIBUTES {
                    return Err(format!(
                        "more than {XML_ATTRIBUTES} attributes in an element and those around it"
                    ));
                }
                if ANNOTATIONS.contains(&&self.word[..]) {
                    return Err(star::STATEMENT.to_owned());
                }
                self.value.clear();
                Place::Value {
                    quote: byte,
                    attributes: attributes + 1,
                }
            }
            b'>' => {
                if closing {
                    self.attributes -= self.open.pop().unwrap_or_default();
                } else if slash {
                    self.attributes -= attributes;
                } else if self.open.len() == XML_DEPTH {
                    return Err(format!("elements nested deeper than {XML_DEPTH}"));
                } else {
                    self.open.push(attributes);
                }
                self.word_ended = true;
                Place::Text
            }
            _ => {
                self.word(byte);
                Place::Tag {
                    closing,
                    slash: byte == b'/',
                    attributes,
                }
            }
        };
        Ok(())
    }

    /// Keeps the last word of a tag. There may be spaces around `=`.
    fn word(&mut self, byte: u8) {
        if byte == b'=' || byte.is_ascii_whitespace() {
            self.word_ended = true;
            return;
        }
        if std::mem::take(&mut self.word_ended) {
            self.word.clear();
        }
        self.word.push(byte);
    }

    /// Few entities are used: each stands for a short text.
    fn entity(&self, byte: u8, references: &Cell<usize>) -> Result<(), String> {
        if self.has_entities && byte == b'&' {
            let used = references.get() + 1;
            references.set(used);
            if used > ENTITY_REFERENCES {
                return Err(format!(
                    "more than {ENTITY_REFERENCES} references to entities without a triple"
                ));
            }
        }
        Ok(())
    }
}

fn tag(closing: bool) -> Place {
    Place::Tag {
        closing,
        slash: false,
        attributes: 0,
    }
}

/// The place behind a byte behind `<!`. Declarations stand before the first element only.
fn bang(byte: u8, comment: usize, cdata: usize) -> Result<Place, String> {
    let comment_goes_on = COMMENT[comment] == byte && cdata == 0;
    let cdata_goes_on = CDATA[cdata] == byte && comment == 0;
    if comment_goes_on && comment + 1 == COMMENT.len() {
        return Ok(Place::Until {
            last: b'-',
            passed: 0,
        });
    }
    if cdata_goes_on && cdata + 1 == CDATA.len() {
        return Ok(Place::Until {
            last: b']',
            passed: 0,
        });
    }
    if comment_goes_on || cdata_goes_on {
        return Ok(Place::Bang {
            comment: comment + usize::from(comment_goes_on),
            cdata: cdata + usize::from(cdata_goes_on),
        });
    }
    Err("a declaration after the first element".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let (mut check, references) = (XmlCheck::default(), Cell::new(0));
        text.bytes()
            .try_for_each(|byte| check.step(byte, &references))
    }

    fn refused(text: &str, why: &str) {
        let error = check(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn attributes_of_open_elements_are_limited() {
        let many = r#" a="x""#.repeat(XML_ATTRIBUTES / 2);
        check(&format!("<e{many}/>").repeat(3)).unwrap();
        check(&format!("<e{many}></e>").repeat(3)).unwrap();
        check(&format!("<e{many}><e{many}/></e>")).unwrap();
        refused(&format!("<e{many}><e{many} a='x'>"), "attributes");
        let quotes = r#" a=">" b='"<'"#.repeat(XML_ATTRIBUTES);
        refused(&format!("<e{quotes}>"), "attributes");
    }

    #[test]
    fn nothing_hides_the_attributes_behind_it() {
        let many = r#" a="x""#.repeat(XML_ATTRIBUTES + 1);
        for before in [
            "<!-- <a b=\" -- > -->",
            "<![CDATA[<a b=\" ]] > ]]>",
            "<?xml version=\"1.0\"?>",
            "<?a b=\"?>",
            "text with \" and ' and a > b",
            "<a b='\"'>",
            "<!---->",
        ] {
            check(before).unwrap();
            refused(&format!("{before}<e{many}>"), "attributes");
            check(&format!("{before}<e a=\"x\">")).unwrap();
        }
        check(&format!("<!--<e{many}>--><![CDATA[<e{many}>]]>")).unwrap();
    }

    #[test]
    fn declarations_are_refused() {
        for text in [
            "<r><!DOCTYPE a [",
            "<r><!ENTITY a",
            "<r><!-x",
            "<r><![CDX",
            "<r><!>",
        ] {
            refused(text, "a declaration after the first element");
        }
    }

    #[test]
    fn statements_about_statements_are_refused_in_tags_only() {
        for text in [
            "<t:r rdf:parseType=\"Triple\">",
            "<t:r rdf:parseType='Triple'/>",
            "<t:r t:a='b' rdf:parseType =\n\"Triple\">",
            "<t:r rdf:annotation=\"#a\">",
            "<a>x</a><t:r rdf:annotationNodeID = 'a'>",
        ] {
            refused(text, "a statement about a statement");
        }
        for text in [
            "<t:r rdf:parseType=\"Literal\" t:kind=\"Triple\">",
            "<t:r rdf:parseType=\"Triples\" t:kind='parseType'>",
            "<rdf:annotations>Triple</rdf:annotations><rdf:annotation/>",
            "<a>rdf:parseType=\"Triple\" rdf:annotation=\"#a\"</a>",
            "<!-- <t:r rdf:parseType=\"Triple\"> -->",
            "<![CDATA[<t:r rdf:annotation=\"#a\">]]>",
            "<a b='rdf:parseType=\"Triple\"' c='rdf:annotation=\"a\"'/>",
        ] {
            check(text).unwrap();
        }
    }

    #[test]
    fn elements_are_not_nested_too_deep() {
        check(&"<e>".repeat(XML_DEPTH)).unwrap();
        check(&"<e/><f></f>".repeat(XML_DEPTH)).unwrap();
        refused(&"<e>".repeat(XML_DEPTH + 1), "nested");
    }
}
