//! Conversion to GBNF, the grammar format of llama.cpp, which vLLM and SGLang also read.
//!
//! A GBNF grammar may accept slightly more than the original language: it does not check that a
//! list names each item only once. Callers check the result against the original.

use crate::call::CallAcceptor;
use crate::grammar::Grammar;

/// The grammar of the calls that an acceptor allows.
#[must_use]
pub fn of_calls(acceptor: &CallAcceptor) -> String {
    let rules = acceptor.rules();
    let name = |rule: usize| {
        if rule == 0 {
            "root".to_owned()
        } else {
            format!("r{rule}")
        }
    };
    let mut out = String::new();
    for (i, choices) in rules.iter().enumerate() {
        let one = |(text, next): &(String, Option<usize>)| {
            next.map_or_else(
                || literal(text),
                |next| format!("{} {}", literal(text), name(next)),
            )
        };
        out.push_str(&format!(
            "{} ::= {}\n",
            name(i),
            choices.iter().map(one).collect::<Vec<_>>().join(" | ")
        ));
    }
    out
}

/// The grammar of a [`Grammar`].
#[must_use]
pub fn of_grammar(grammar: &Grammar) -> String {
    // GBNF cannot express a grammar without texts.
    let whole = expression(grammar).unwrap_or_else(|| literal(""));
    format!("root ::= {whole}\n")
}

/// A text as a GBNF literal.
#[must_use]
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The expression of a grammar; `None` if it matches no text. Such parts are left out, because an
/// empty choice matches the empty text in GBNF.
fn expression(grammar: &Grammar) -> Option<String> {
    let all = |parts: &[Grammar]| parts.iter().filter_map(expression).collect::<Vec<_>>();
    Some(match grammar {
        Grammar::Text(text) => literal(text),
        Grammar::Seq(parts) if parts.is_empty() => literal(""),
        Grammar::Seq(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(expression).collect();
            parts?.join(" ")
        }
        Grammar::Any(choices) => {
            let choices = all(choices);
            if choices.is_empty() {
                return None;
            }
            format!("({})", choices.join(" | "))
        }
        Grammar::List {
            items,
            separator,
            min,
            max,
        } => {
            let items = all(items);
            if items.len() < *min {
                return None;
            }
            let max = (*max).min(items.len());
            if max == 0 {
                return Some(literal(""));
            }
            let item = format!("({})", items.join(" | "));
            // Some parsers of this format reject a repetition with a maximum of zero.
            let more = match max - 1 {
                0 => String::new(),
                most => format!(
                    " ({} {item}){{{},{most}}}",
                    literal(separator),
                    min.saturating_sub(1)
                ),
            };
            if *min == 0 {
                format!("({item}{more})?")
            } else {
                format!("{item}{more}")
            }
        }
        Grammar::Free { min, max, stop } => {
            let escaped: String = stop
                .chars()
                .map(|c| format!("\\x{:02X}", u32::from(c)))
                .collect();
            format!("[^\\x00-\\x1F\\x7F{escaped}]{{{min},{max}}}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Live, LiveSet};

    #[test]
    fn calls_become_rules() {
        let set = |text: &str, out: &[&str]| LiveSet {
            text: text.to_owned(),
            out: out.iter().map(|&r| r.to_owned()).collect(),
            ..LiveSet::default()
        };
        let live = Live {
            sets: vec![set("e0", &["a.b"])],
            ..Live::default()
        };
        let text = of_calls(&CallAcceptor::new(live));
        assert!(
            text.starts_with(
                "root ::= \"ans = end(\" r1 | \"get_relation(\" r2 | \"retrieve_relation(\" r3"
            ),
            "{text}"
        );
        assert!(text.contains(" ::= \"a.b)\"\n"), "{text}");
        // Every referenced rule is defined.
        let rules = text.lines().count();
        for name in text
            .split([' ', '\n'])
            .filter_map(|word| word.strip_prefix('r'))
            .filter_map(|number| number.parse::<usize>().ok())
        {
            assert!(name < rules, "r{name} of {rules}");
        }
    }

    #[test]
    fn grammars_become_gbnf() {
        let list = Grammar::list(["t0", "t1", "t2"].map(Grammar::text), " ", 1, 2);
        assert_eq!(
            of_grammar(&list),
            "root ::= (\"t0\" | \"t1\" | \"t2\") (\" \" (\"t0\" | \"t1\" | \"t2\")){0,1}\n"
        );
        assert_eq!(
            of_grammar(&Grammar::list([Grammar::text("t0")], " ", 1, 1)),
            "root ::= (\"t0\")\n"
        );
        // Parts that no text can complete are left out.
        let dead = Grammar::seq([Grammar::text("= x"), Grammar::any([])]);
        let item = Grammar::seq([Grammar::text("t0"), Grammar::maybe(dead.clone())]);
        assert_eq!(
            of_grammar(&Grammar::list([item, dead], " ", 1, 2)),
            "root ::= (\"t0\" (\"\"))\n"
        );
        let free = Grammar::seq([Grammar::text("say \"\\"), Grammar::free(1, 9, ">")]);
        assert_eq!(
            of_grammar(&free),
            "root ::= \"say \\\"\\\\\" [^\\x00-\\x1F\\x7F\\x3E]{1,9}\n"
        );
        assert_eq!(
            of_grammar(&Grammar::maybe(Grammar::text("a"))),
            "root ::= (\"a\" | \"\")\n"
        );
    }
}
