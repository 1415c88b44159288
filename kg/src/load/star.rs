//! RDF 1.2 and RDF-star: statements about statements and directions of text are refused, in a sentence that says what
//! they are. Announcements of a version are skipped. The parsers of RDF/XML and JSON-LD would pass over some of it.

/// What a statement about a statement is.
pub(super) const STATEMENT: &str = "this is a statement about a statement (RDF-star, RDF 1.2), which kgagent does not read; \
     describe it with a separate node that has rdf:subject, rdf:predicate, rdf:object and the statement's own properties";

/// What RDF 1.2 has and RDF 1.1 does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    Statement,
    Direction,
}

impl Feature {
    fn sentence(self) -> &'static str {
        match self {
            Self::Statement => STATEMENT,
            Self::Direction => {
                "this literal has a direction (`--ltr` or `--rtl`, RDF 1.2), which kgagent does not read; remove it from \
                 the language tag"
            }
        }
    }
}

/// The message of the parser, or what a faulty statement has of RDF 1.2.
pub(super) fn explained(said: String, statement: &[u8]) -> String {
    found(statement).map_or(said, |feature| feature.sentence().to_owned())
}

/// The first feature of RDF 1.2 in a statement, outside texts, IRIs and comments.
fn found(text: &[u8]) -> Option<Feature> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at + 1..];
        at += 1 + match byte {
            b'"' | b'\'' => after_text(byte, rest),
            b'<' if rest.first() == Some(&b'<') => return Some(Feature::Statement),
            b'<' => memchr::memchr2(b'>', b'\n', rest).map_or(rest.len(), |end| end + 1),
            b'{' if rest.first() == Some(&b'|') => return Some(Feature::Statement),
            b'~' => return Some(Feature::Statement),
            b'#' => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'\\' => 1,
            b'@' => {
                let is_tag = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
                let tag = rest.iter().take_while(|byte| is_tag(byte)).count();
                if memchr::memmem::find(&rest[..tag], b"--").is_some() {
                    return Some(Feature::Direction);
                }
                tag
            }
            _ => 0,
        };
    }
    None
}

/// The number of bytes of a text behind its first quote.
fn after_text(quote: u8, rest: &[u8]) -> usize {
    let long = rest.starts_with(&[quote, quote]);
    if !long && rest.first() == Some(&quote) {
        return 1;
    }
    let mut at = if long { 2 } else { 0 };
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if !long => return at,
            _ if byte == quote && !long => return at + 1,
            _ if byte == quote && rest[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

/// Whether a line or directive only says which version of RDF the file is written in.
pub(super) fn is_version(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.split('#').next().unwrap_or_default().trim();
    let version = match word {
        "@version" => match rest.strip_suffix('.') {
            Some(version) => version.trim_end(),
            None => return false,
        },
        _ if word.eq_ignore_ascii_case("version") => rest,
        _ => return false,
    };
    ["1.1", "1.2", "1.2-basic"]
        .iter()
        .any(|known| version == format!("\"{known}\"") || version == format!("'{known}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_outside_texts() {
        for (text, feature) in [
            ("<< :a :b :c >> :d :e .", Some(Feature::Statement)),
            ("_:r :reifies <<( :a :b :c )>> .", Some(Feature::Statement)),
            (":a :b :c {| :d :e |} .", Some(Feature::Statement)),
            (":a :b :c ~ :r .", Some(Feature::Statement)),
            (":a :b \"hello\"@en--ltr .", Some(Feature::Direction)),
            (":a :b \"<< {| ~ @en--ltr\" .", None),
            (":a :b '''it's << \n {| ''' , '' .", None),
            ("<x:a--b@en--ltr~> :b :c . # << {|", None),
            (":a\\~b :b \"a\\\"~\" .", None),
            (":a :b \"x\"@en-GB .", None),
        ] {
            assert_eq!(found(text.as_bytes()), feature, "{text}");
        }
    }

    #[test]
    fn versions_are_announcements_only() {
        for text in [
            "VERSION \"1.2\"",
            "version '1.1' # this file",
            "@version \"1.2-basic\" .",
            "  @version  \"1.2\".\r",
        ] {
            assert!(is_version(text.as_bytes()), "{text}");
        }
        for text in [
            "VERSION \"2\"",
            "@version \"1.2\"",
            "VERSION 1.2",
            "version:a :b :c .",
        ] {
            assert!(!is_version(text.as_bytes()), "{text}");
        }
    }
}
