//! Finds the ends of statements in Turtle and TriG, byte by byte: the dots outside texts, IRIs, comments and names.

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// A statement with its `.`.
    Statement,
    /// A prefix, a base or a version.
    Directive,
    /// The name of a graph with its `{`.
    Graph,
    /// The last statement of a graph, which needs no `.`, with the `}`.
    GraphEnd,
}

/// Where a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between words.
    Between,
    Comment,
    Iri,
    /// In a name or number; it was escaped by `\`.
    Word {
        escaped: bool,
    },
    /// Behind dots in a name or number: they belong to it if it goes on.
    WordDot,
    /// In `@`, a language or a directive.
    Tag,
    /// After a dot that is not part of a name. It may begin a number.
    Dot,
    /// Behind one quote, or two.
    Quote {
        quote: u8,
        two: bool,
    },
    /// In a text between single quotes; `dot`: its last byte other than white space was a dot.
    Short {
        quote: u8,
        escaped: bool,
        dot: bool,
    },
    /// In a text between triple quotes; its last `run` bytes were quotes.
    Long {
        quote: u8,
        escaped: bool,
        run: u8,
    },
}

/// The state of the scanner.
pub(super) struct Scan {
    place: Place,
    has_graphs: bool,
    /// The first word of the statement, in lower case; `None` if it is another than those below.
    word: Option<Vec<u8>>,
    kind: Kind,
}

/// What the first word of a statement says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No word so far.
    Unknown,
    Statement,
    /// `PREFIX` or `BASE`, which end with an IRI.
    Prefix,
    /// `VERSION`, which ends with a text.
    Version,
    /// `@prefix`, `@base` or `@version`, which end with a dot.
    At,
}

/// Whether a dot before this byte belongs to a name.
fn continues(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'_' | b'-' | b':' | b'%' | b'\\')
}

impl Scan {
    /// A scanner of TriG, or of Turtle without graphs.
    pub(super) fn new(has_graphs: bool) -> Self {
        Self {
            place: Place::Between,
            has_graphs,
            word: Some(Vec::new()),
            kind: Kind::Unknown,
        }
    }

    /// Takes a byte. Returns what has ended, and whether this byte is its last. If not, the part ended before this byte:
    /// pass the byte again.
    pub(super) fn step(&mut self, byte: u8) -> Option<(Scanned, bool)> {
        match self.place {
            Place::WordDot if byte == b'.' => None,
            Place::WordDot if continues(byte) => self.at(Place::Word {
                escaped: byte == b'\\',
            }),
            Place::Dot if byte.is_ascii_digit() && self.kind != Kind::At => {
                self.at(Place::Word { escaped: false })
            }
            Place::WordDot | Place::Dot => {
                let ended = if self.kind == Kind::At {
                    Scanned::Directive
                } else {
                    Scanned::Statement
                };
                self.begin();
                Some((ended, false))
            }
            Place::Comment => {
                if matches!(byte, b'\n' | b'\r') {
                    self.place = Place::Between;
                }
                None
            }
            Place::Iri if byte == b'>' || byte == b'\n' => {
                self.place = Place::Between;
                (self.kind == Kind::Prefix).then(|| self.end(Scanned::Directive))
            }
            Place::Iri => None,
            Place::Word { escaped: true } => self.at(Place::Word { escaped: false }),
            Place::Word { .. } => match byte {
                b'\\' => self.at(Place::Word { escaped: true }),
                b'.' => {
                    self.first_word();
                    self.at(Place::WordDot)
                }
                _ if continues(byte) => {
                    self.letter(byte);
                    None
                }
                _ => {
                    self.first_word();
                    self.between(byte)
                }
            },
            Place::Tag if byte.is_ascii_alphanumeric() || byte == b'-' => {
                self.letter(byte);
                None
            }
            Place::Tag => {
                self.first_word();
                self.between(byte)
            }
            Place::Quote { .. } | Place::Short { .. } | Place::Long { .. } => self.quoted(byte),
            Place::Between => self.between(byte),
        }
    }

    fn at(&mut self, place: Place) -> Option<(Scanned, bool)> {
        self.place = place;
        None
    }

    /// A statement begins.
    fn begin(&mut self) {
        (self.place, self.word, self.kind) = (Place::Between, Some(Vec::new()), Kind::Unknown);
    }

    fn end(&mut self, what: Scanned) -> (Scanned, bool) {
        self.begin();
        (what, true)
    }

    /// Keeps a letter of the first word.
    fn letter(&mut self, byte: u8) {
        if let Some(word) = &mut self.word {
            word.push(byte.to_ascii_lowercase());
            if word.len() > b"@version".len() {
                self.word = None;
            }
        }
    }

    /// A word has ended.
    fn first_word(&mut self) {
        if self.kind == Kind::Unknown {
            self.kind = match self.word.as_deref() {
                Some(b"prefix" | b"base") => Kind::Prefix,
                Some(b"version") => Kind::Version,
                Some(b"@prefix" | b"@base" | b"@version") => Kind::At,
                _ => Kind::Statement,
            };
        }
        self.word = None;
    }

    /// A byte between words.
    fn between(&mut self, byte: u8) -> Option<(Scanned, bool)> {
        let place = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => Place::Between,
            b'#' => Place::Comment,
            b'<' => Place::Iri,
            b'"' | b'\'' => Place::Quote {
                quote: byte,
                two: false,
            },
            b'.' => Place::Dot,
            b'{' if self.has_graphs => return Some(self.end(Scanned::Graph)),
            b'}' if self.has_graphs => return Some(self.end(Scanned::GraphEnd)),
            b'@' => Place::Tag,
            _ if continues(byte) => Place::Word {
                escaped: byte == b'\\',
            },
            _ => Place::Between,
        };
        if self.kind == Kind::Unknown {
            match place {
                Place::Word { .. } | Place::Tag => self.letter(byte),
                Place::Between if byte.is_ascii_whitespace() => {}
                Place::Comment => {}
                _ => (self.kind, self.word) = (Kind::Statement, None),
            }
        }
        self.at(place)
    }

    /// A byte of a text, or behind its first quotes.
    fn quoted(&mut self, byte: u8) -> Option<(Scanned, bool)> {
        match self.place {
            Place::Quote { quote, two: false } if byte == quote => {
                self.at(Place::Quote { quote, two: true })
            }
            Place::Quote { quote, two: true } if byte == quote => self.at(Place::Long {
                quote,
                escaped: false,
                run: 0,
            }),
            // The text was empty.
            Place::Quote { two: true, .. } if self.kind == Kind::Version => {
                self.begin();
                Some((Scanned::Directive, false))
            }
            Place::Quote { two: true, .. } => self.between(byte),
            Place::Quote { quote, two: false } => {
                self.place = Place::Short {
                    quote,
                    escaped: false,
                    dot: false,
                };
                self.quoted(byte)
            }
            Place::Short {
                quote,
                escaped,
                dot,
            } => match byte {
                // No such text has a line break: its end is missing, or it is itself the end of a text with a quote in it.
                b'\n' if dot => Some(self.end(Scanned::Statement)),
                b'\n' => self.at(Place::Between),
                _ if byte == quote && !escaped => {
                    self.place = Place::Between;
                    (self.kind == Kind::Version).then(|| self.end(Scanned::Directive))
                }
                _ => self.at(Place::Short {
                    quote,
                    escaped: byte == b'\\' && !escaped,
                    dot: byte == b'.' || dot && byte.is_ascii_whitespace(),
                }),
            },
            Place::Long {
                quote,
                escaped,
                run,
            } => {
                let (escaped, run) = match byte {
                    _ if escaped => (false, 0),
                    b'\\' => (true, 0),
                    _ if byte == quote && run == 2 => return self.at(Place::Between),
                    _ if byte == quote => (false, run + 1),
                    _ => (false, 0),
                };
                self.at(Place::Long {
                    quote,
                    escaped,
                    run,
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a text, each with what it is.
    fn parts(text: &str, has_graphs: bool) -> Vec<(Scanned, String)> {
        let (mut scan, mut parts, mut from) = (Scan::new(has_graphs), Vec::new(), 0);
        for (at, byte) in text.bytes().enumerate() {
            while let Some((what, with_byte)) = scan.step(byte) {
                let end = at + usize::from(with_byte);
                parts.push((what, text[from..end].trim().to_owned()));
                from = end;
                if with_byte {
                    break;
                }
            }
        }
        if !text[from..].trim().is_empty() {
            parts.push((Scanned::Statement, text[from..].trim().to_owned()));
        }
        parts
    }

    fn statements(text: &str, expected: &[&str]) {
        let found = parts(text, false);
        let found: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dots_end_statements_outside_names_texts_and_numbers() {
        statements(
            ":a :b :c . :d :e :f.\n:g :h :i.",
            &[":a :b :c .", ":d :e :f.", ":g :h :i."],
        );
        statements(
            ":a.b :c..d 1.5, .5, 1.e3 . :x :y -2.",
            &[":a.b :c..d 1.5, .5, 1.e3 .", ":x :y -2."],
        );
        statements(
            "<x:a>.<x:b> 'it.' . _:b. ",
            &["<x:a>.", "<x:b> 'it.' .", "_:b."],
        );
        statements(
            ":a :b \"x. \\\" .\"@en. :c :d '''it's . '' \\''' . ''' .",
            &[
                ":a :b \"x. \\\" .\"@en.",
                ":c :d '''it's . '' \\''' . ''' .",
            ],
        );
        statements(
            ":a :b \"\" . :c :d '' . # e . f\n:g :h\\. :i .",
            &[":a :b \"\" .", ":c :d '' .", "# e . f\n:g :h\\. :i ."],
        );
        statements(
            ":a :b \"no end\n:c :d :e .",
            &[":a :b \"no end\n:c :d :e ."],
        );
        statements(
            ":a :b \"x\"y\" . \r\n:c :d :e .",
            &[":a :b \"x\"y\" .", ":c :d :e ."],
        );
        statements(
            ":a :b [ :c ( 1 2. ) ] . :d",
            &[":a :b [ :c ( 1 2.", ") ] .", ":d"],
        );
    }

    #[test]
    fn directives_are_told_from_statements() {
        use Scanned::{Directive, Statement};
        let text = "PREFIX : <x:> base <y:>@prefix a: <z:> . VERSION \"1.2\" prefix:a :b <c> . VERSION '' :a :b :c .";
        let kinds: Vec<Scanned> = parts(text, false).iter().map(|(what, _)| *what).collect();
        assert_eq!(
            kinds,
            [
                Directive, Directive, Directive, Directive, Statement, Directive, Statement
            ]
        );
    }

    #[test]
    fn graphs_begin_and_end() {
        use Scanned::{Graph, GraphEnd, Statement};
        let found = parts("GRAPH <g> { :a :b :c . :d :e :f } :g{:h :i :j.}{}", true);
        let expected = [
            (Graph, "GRAPH <g> {"),
            (Statement, ":a :b :c ."),
            (GraphEnd, ":d :e :f }"),
            (Graph, ":g{"),
            (Statement, ":h :i :j."),
            (GraphEnd, "}"),
            (Graph, "{"),
            (GraphEnd, "}"),
        ];
        let found: Vec<(Scanned, &str)> = found.iter().map(|(k, t)| (*k, t.as_str())).collect();
        assert_eq!(found, expected);
    }
}
