//! The functions of a file: where each begins and ends, and what is in it.

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The number of the line with its `fn`.
    pub(crate) line: usize,
    /// Number of lines from there to its closing brace.
    pub(crate) lines: usize,
    /// Everything from its parameters to its closing brace, without comments and texts.
    pub(crate) body: String,
    /// Everything between it and the item before it.
    pub(crate) attributes: String,
}

impl Function {
    pub(crate) fn is_test(&self) -> bool {
        self.attributes.contains("#[test]")
    }

    /// Whether the test passes only if it panics, or is a measurement that nobody runs as a check.
    pub(crate) fn needs_no_assertion(&self) -> bool {
        let has = |attribute: &str| self.attributes.contains(attribute);
        has("#[should_panic") || has("#[ignore")
    }
}

/// All functions with a body, whatever stands before `fn` and wherever they are: in implementations,
/// traits, modules, macros and other functions.
pub(crate) fn functions(text: &str) -> Vec<Function> {
    let code = without_texts(text);
    let bytes = code.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let line_of = |at: usize| 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if at > 0 && is_word(bytes[at - 1]) {
            continue;
        }
        let begin = at + 3;
        let length = bytes[begin..].iter().take_while(|byte| is_word(**byte));
        let name = &code[begin..begin + length.count()];
        // A type such as `fn (u8)` has no name.
        let Some((open, close)) = body(bytes, begin + name.len()).filter(|_| !name.is_empty())
        else {
            continue;
        };
        let line = line_of(at);
        found.push(Function {
            name: name.to_owned(),
            line,
            lines: line_of(close) - line + 1,
            body: code[open..=close].to_owned(),
            attributes: attributes(&code[..at]).to_owned(),
        });
    }
    found
}

/// The places of the braces of a function's body, from the end of its name on; `None` if it has none.
fn body(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let (mut brackets, mut braces, mut open) = (0, 0, None);
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets -= 1,
            b';' if brackets == 0 && open.is_none() => return None,
            b'{' if brackets == 0 || open.is_some() => {
                braces += 1;
                open = open.or(Some(at));
            }
            b'}' if open.is_some() => {
                braces -= 1;
                if braces == 0 {
                    return Some((open?, at));
                }
            }
            _ => {}
        }
    }
    None
}

/// What stands before a function, behind the end of the item before it.
fn attributes(before: &str) -> &str {
    let own = before.rfind(['}', ';', '{']).map_or(0, |at| at + 1);
    &before[own..]
}

/// The text with spaces in place of comments, texts and characters, with the same lines.
fn without_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !out.ends_with(|c: char| c.is_alphanumeric() && c != 'b' || c == '_') => {
                raw(rest).unwrap_or(0)
            }
            '\'' => character(rest),
            _ => 0,
        };
        if length == 0 {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            let blank = |c: char| if c == '\n' { c } else { ' ' };
            out.extend(rest[..length].chars().map(blank));
            rest = &rest[length..];
        }
    }
    out
}

/// The length of a text in quotation marks.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.bytes().enumerate().skip(1).find(|(_, byte)| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// The length of a raw text such as `r#"…"#`.
fn raw(rest: &str) -> Option<usize> {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = rest[1 + hashes..].strip_prefix('"')?;
    Some(2 + hashes + inside.find(&end)? + end.len())
}

/// The length of a character such as `'a'` or `'\n'`; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let inside = &rest[1..];
    match inside.chars().next() {
        Some('\\') => inside[2..].find('\'').map_or(0, |end| end + 4),
        Some(c) if inside[c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 0,
    }
}

#[test]
fn functions_of_every_form_are_found() {
    let text = r##"
impl A {
    pub(super) fn f(&self) -> u8 {
        let _ = "fn no() { \" }";
        let open = ['{', '\'', '\u{7b}'];
        1
    }
    fn g();
    pub(in crate::a) async unsafe fn generic<
        'a,
        T: Fn(&'a str) -> bool,
    >(
        given: [u8; 3],
        call: fn(u8) -> u8,
    ) -> T
    where
        T: Copy,
    {
        fn inner() {}
        // fn comment() {
        /* fn comment() { */
        r#"fn raw() { "#.len()
    }
}
pub const extern "C" fn h() {}
#[test]
#[ignore = "slow"]
fn t() { assert!(true) }
"##;
    let found = functions(text);
    let seen: Vec<(&str, usize, usize)> = (found.iter())
        .map(|one| (one.name.as_str(), one.line, one.lines))
        .collect();
    let expected = [
        ("f", 3, 5),
        ("generic", 9, 15),
        ("inner", 19, 1),
        ("h", 25, 1),
        ("t", 28, 1),
    ];
    assert_eq!(seen, expected);
    let tests: Vec<bool> = found.iter().map(Function::is_test).collect();
    assert_eq!(tests, [false, false, false, false, true]);
}
