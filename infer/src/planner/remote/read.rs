//! Finds the agent's turn in a model's reply: on a line of its own, after `Action:`, in a code
//! fence, as JSON, or inside prose. Thoughts are left out. The first complete turn counts.
//!
//! Reading is stable: more text at the end does not change what was found before, except that a
//! `</think>` without a beginning makes everything before it a thought.

use serde_json::Value;
use toolbox::call::{Call, Target, Tool, argument_names, call_of, parse_call};

/// What begins and ends thoughts inside a text.
const THOUGHTS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
];
/// Lines that begin like this hold no turn: thoughts, and results that a model imagines.
const SKIPPED: [&str; 7] = [
    "thought",
    "thoughts",
    "thinking",
    "reasoning",
    "plan",
    "observation",
    "question",
];
/// What may stand before a turn.
const LABELS: [&str; 9] = [
    "action",
    "call",
    "tool",
    "output",
    "answer",
    "final",
    "assistant",
    "next",
    "response",
];
/// What stands before the arguments of a tool in LangChain's form, on the line after the tool.
const INPUT: &str = "action input";
/// Longest label.
const LABEL: usize = 20;
/// Longest call in bytes, most closing brackets at which one may end, most calls and most JSON
/// values that are tried. They bound the work on a reply of a megabyte.
const CALL: usize = 4096;
const CLOSINGS: usize = 12;
const CALLS: usize = 4096;
const VALUES: usize = 64;
/// Most thoughts that are split off.
const SPLITS: usize = 64;
/// Longest text that stands for a reply in which nothing can be used.
const UNUSABLE: usize = 2000;

/// What a reply should hold.
pub(super) struct Wanted<'a> {
    /// Whether a text is what is wanted.
    pub(super) accepts: &'a dyn Fn(&str) -> bool,
    /// If calls are wanted, the number of the next result.
    pub(super) call: Option<u32>,
}

/// Splits a text into what is said and the thoughts in it.
pub(super) fn split(text: &str) -> (String, String) {
    let (mut said, mut thought) = (String::new(), String::new());
    let mut rest = text;
    for _ in 0..SPLITS {
        let first = |of: &dyn Fn(&(&'static str, &'static str)) -> &'static str| {
            let found = THOUGHTS
                .iter()
                .filter_map(|tags| Some((rest.find(of(tags))?, tags)));
            found.min_by_key(|(at, _)| *at)
        };
        let (opens, closes) = (first(&|tags| tags.0), first(&|tags| tags.1));
        match (opens, closes) {
            // The prompt of some models already begins the thoughts.
            (opens, Some((end, tags))) if opens.is_none_or(|(at, _)| end < at) => {
                thought.push_str(&std::mem::take(&mut said));
                thought.push_str(&rest[..end]);
                rest = &rest[end + tags.1.len()..];
            }
            (Some((at, (open, close))), _) => {
                said.push_str(&rest[..at]);
                let inside = &rest[at + open.len()..];
                let end = inside.find(close);
                thought.push_str(&inside[..end.unwrap_or(inside.len())]);
                rest = end.map_or("", |end| &inside[end + close.len()..]);
            }
            (None, _) => break,
        }
    }
    said.push_str(rest);
    (said, thought)
}

/// The first turn in what a model said.
pub(super) fn turn(said: &str, wanted: &Wanted<'_>) -> Option<String> {
    let whole = said.trim();
    if (wanted.accepts)(whole) {
        return Some(whole.to_owned());
    }
    match wanted.call {
        Some(next) => first_call(&without_skipped(said), next, wanted),
        None => first_text(said, wanted),
    }
}

/// The text that stands for a reply in which nothing can be used: its first line with content.
pub(super) fn unusable(said: &str) -> String {
    let mut lines = said.lines().map(bare).filter(|line| !line.is_empty());
    lines
        .next()
        .unwrap_or_default()
        .chars()
        .take(UNUSABLE)
        .collect()
}

/// A tool call by name and JSON arguments, as text.
pub(super) fn tool_call(
    name: &str,
    arguments: &str,
    wanted: &Wanted<'_>,
) -> Result<String, String> {
    let Some(next) = wanted.call else {
        return Err("no tool is wanted here: write text".to_owned());
    };
    let arguments = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let value: Value = serde_json::from_str(arguments)
        .map_err(|error| format!("the arguments of {name} are not JSON: {error}"))?;
    let text = call_of(name, &value, next)?.to_string();
    if (wanted.accepts)(&text) {
        Ok(text)
    } else {
        Err(format!("`{text}` is not possible here"))
    }
}

/// A line without the marks around code and the end of a statement.
fn bare(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with("```") {
        return "";
    }
    let line = line.trim_end_matches(';').trim_matches('`');
    line.trim().trim_end_matches(';')
}

/// The label before the first colon of a line, in lower case, and what follows it.
fn labelled(line: &str) -> Option<(String, &str)> {
    let mark = |c: char| matches!(c, '#' | '*' | '-' | '>' | '_' | ' ' | '\t');
    let line = line.trim_start_matches(mark);
    let (label, rest) = line.split_once(':')?;
    let label = label.trim_end_matches(|c: char| mark(c) || c.is_ascii_digit());
    let plain = label.len() <= LABEL && label.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    plain.then(|| {
        (
            label.to_lowercase(),
            rest.trim_start_matches(['*', '_', ' ', '\t']),
        )
    })
}

fn first_word(label: &str) -> &str {
    label.split(' ').next().unwrap_or_default()
}

/// What a line says, without the label of a turn; `None` for a line that holds none.
fn content(line: &str) -> Option<&str> {
    match labelled(line) {
        Some((label, rest)) if SKIPPED.contains(&first_word(&label)) => {
            // `Thought: … Action: …` on one line.
            let action = rest.find("Action:").or_else(|| rest.find("action:"))?;
            Some(&rest[action + "Action:".len()..])
        }
        Some((label, rest)) if LABELS.contains(&first_word(&label)) => Some(rest),
        _ => Some(line),
    }
}

/// The first line, or code inside a line, that is wanted.
fn first_text(said: &str, wanted: &Wanted<'_>) -> Option<String> {
    let accepted = |text: &str| (wanted.accepts)(text).then(|| text.to_owned());
    if let Some(found) = json_text(said).as_deref().and_then(accepted) {
        return Some(found);
    }
    let mut lines = Vec::new();
    for line in said.lines() {
        let Some(inner) = content(line) else { continue };
        let code = inner.split('`').skip(1).step_by(2);
        let mut texts = [bare(inner), bare(line)].into_iter().chain(code);
        if let Some(found) = texts.find_map(|text| accepted(text.trim())) {
            return Some(found);
        }
        lines.extend(Some(bare(inner)).filter(|line| !line.is_empty()));
    }
    // A list that was broken into lines.
    accepted(&lines.join(" "))
}

/// The text in `{"text": …}`, the form of a turn that is no call under a JSON schema.
fn json_text(said: &str) -> Option<String> {
    let value: Value = serde_json::from_str(said.trim()).ok()?;
    Some(value["text"].as_str()?.to_owned())
}

/// The text without the lines that hold no turn, and with `Action:` and `Action Input:` put
/// together to a call.
fn without_skipped(said: &str) -> String {
    let mut kept = String::with_capacity(said.len());
    // A tool that was named alone, in LangChain's form.
    let mut named: Option<&str> = None;
    for line in said.lines() {
        if let (Some(name), Some((label, input))) = (named, labelled(line))
            && label == INPUT
        {
            match input.starts_with('{') {
                true => kept.push_str(&format!("{{\"name\":\"{name}\",\"arguments\":{input}}}\n")),
                false => kept.push_str(&format!("{name}({input})\n")),
            }
            named = None;
            continue;
        }
        let Some(inner) = content(line) else { continue };
        let word = bare(inner);
        if Tool::by_name(word).is_some() {
            named = Some(word);
        } else if !word.is_empty() {
            named = None;
        }
        kept.push_str(inner);
        kept.push('\n');
    }
    kept
}

/// The first call that is wanted, as text or JSON.
fn first_call(text: &str, next: u32, wanted: &Wanted<'_>) -> Option<String> {
    let (mut calls, mut values) = (0, 0);
    for (at, opening) in text.match_indices(['(', '[', '{']) {
        if opening == "{" {
            if values == VALUES {
                continue;
            }
            values += 1;
            let stream = serde_json::Deserializer::from_str(&text[at..]);
            if let Some(Ok(value)) = stream.into_iter::<Value>().next()
                && let Some(found) = json_call(&value, next)
                && (wanted.accepts)(&found)
            {
                return Some(found);
            }
            continue;
        }
        let head = text[..at].trim_end_matches(' ');
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let start = head.trim_end_matches(letters).len();
        let Some(tool) = Tool::by_name(&head[start..]) else {
            continue;
        };
        calls += 1;
        if calls > CALLS {
            return None;
        }
        let (open, close) = if opening == "(" {
            ('(', ')')
        } else {
            ('[', ']')
        };
        let mut end = text.len().min(at + CALL);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let inside = &text[at + open.len_utf8()..end];
        if let Some(found) = call_in(tool, inside, close, next, wanted) {
            return Some(found);
        }
    }
    None
}

/// The call of a tool whose arguments begin `inside`, which ends at one of the closing brackets.
fn call_in(
    tool: Tool,
    inside: &str,
    close: char,
    next: u32,
    wanted: &Wanted<'_>,
) -> Option<String> {
    let target = match Call::new(tool, Vec::new(), next).target {
        Target::None => String::new(),
        Target::Var(index) => format!("v{index} = "),
        Target::Ans => "ans = ".to_owned(),
    };
    let parsed = |arguments: &str| {
        let call = parse_call(&format!("{target}{}({arguments})", tool.name())).ok()?;
        Some(call.to_string()).filter(|text| (wanted.accepts)(text))
    };
    inside
        .match_indices(close)
        .take(CLOSINGS)
        .find_map(|(end, _)| {
            let arguments = &inside[..end];
            parsed(arguments).or_else(|| parsed(&plain(tool, arguments)))
        })
}

/// A tool's arguments without quotation marks and names, as in `set="e0"`.
fn plain(tool: Tool, arguments: &str) -> String {
    let names = argument_names(tool.signature());
    let argument = |text: &str| {
        let text = text.trim();
        let named = text.split_once(['=', ':']);
        let named = named.filter(|(name, _)| names.contains(&name.trim()));
        let value = named.map_or(text, |(_, value)| value);
        value.trim().trim_matches(['"', '\'', '`']).to_owned()
    };
    let all: Vec<String> = arguments.split(',').map(argument).collect();
    all.join(", ")
}

/// The call in a JSON value: `{"name": …, "arguments": …}` and its variants, or the form of
/// [`live_schema`](toolbox::call::live_schema).
fn json_call(value: &Value, next: u32) -> Option<String> {
    if let Some(inner) = ["call", "function", "tool_call", "action"]
        .iter()
        .find_map(|name| value.get(*name).filter(|inner| inner.is_object()))
    {
        return json_call(inner, next);
    }
    let mut rest = value.as_object()?.clone();
    let name = ["name", "tool", "function", "action"]
        .iter()
        .find_map(|key| rest.shift_remove(*key))?;
    let inner = ["arguments", "parameters", "args", "input", "action_input"]
        .iter()
        .find_map(|key| rest.shift_remove(*key));
    let arguments = match inner {
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        Some(inner) => inner,
        None => Value::Object(rest),
    };
    let call = call_of(name.as_str()?, &arguments, next).ok()?;
    Some(call.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [&str; 4] = [
        "get_relation(e0)",
        "v1 = get_tail_entity(e0, people.person.partner)",
        "v1 = get_tail_entity(e0, <odd (name)>)",
        "ans = end(v0)",
    ];

    fn call(said: &str) -> Option<String> {
        turn(
            said,
            &Wanted {
                accepts: &|text| CALLS.contains(&text),
                call: Some(1),
            },
        )
    }

    #[test]
    fn the_first_complete_call_counts_wherever_it_stands() {
        for (said, at) in [
            ("get_relation(e0)", 0),
            ("  `get_relation(e0)`;\n", 0),
            ("```python\nget_relation(e0)\n```", 0),
            ("Thought: count(v0) may do.\nAction: get_relation(e0)", 0),
            ("Thought: get_relation(e0)? No. Action: ans = end(v0)", 3),
            (
                "**Action 1:** `get_relation(e0)`\nObservation: out a b\nans = end(v0)",
                0,
            ),
            ("Observation: get_relation(e0)\nans = end(v0)", 3),
            (
                "I shall call get_relation(v9), no, get_relation(e0). Then ans = end(v0)",
                0,
            ),
            ("v7 = get_tail_entity( e0,people.person.partner )", 1),
            (
                "get_tail_entity(\n  \"e0\",\n  \"people.person.partner\"\n)",
                1,
            ),
            (
                "get_tail_entity(set=\"e0\", relation='people.person.partner')",
                1,
            ),
            ("Action: get_tail_entity[e0, people.person.partner]", 1),
            (
                "Action: get_tail_entity\nAction Input: e0, people.person.partner",
                1,
            ),
            ("Action: get_relation\nAction Input: {\"set\": \"e0\"}", 0),
            ("so get_tail_entity(e0, <odd (name)>) it is", 2),
            (
                "<tool_call>\n{\"name\": \"get_relation\", \"arguments\": {\"set\": \"e0\"}}\n</tool_call>",
                0,
            ),
            (
                "{\"call\": {\"tool\": \"get_relation\", \"set\": \"e0\", \"other_set\": null}}",
                0,
            ),
            (
                "{\"function\": \"end\", \"arguments\": \"{\\\"set\\\": \\\"v0\\\"}\"}",
                3,
            ),
        ] {
            assert_eq!(call(said).as_deref(), Some(CALLS[at]), "{said}");
        }
        for said in [
            "",
            "get_relation(e0",
            "I do not know.",
            "Thought: get_relation(e0)",
            "my_end(v0)",
            "{",
            "((((",
        ] {
            assert_eq!(call(said), None, "{said}");
        }
    }

    #[test]
    fn texts_are_read_by_line() {
        let wanted = Wanted {
            accepts: &|text| ["neighbor e0", "<e0, a, ?x> <?x, b, c0>", "none"].contains(&text),
            call: None,
        };
        for (said, text) in [
            (
                "Thought: none fits yet\nAction: neighbor e0",
                Some("neighbor e0"),
            ),
            ("I choose `neighbor e0` now.", Some("neighbor e0")),
            ("{\"text\": \"neighbor e0\"}", Some("neighbor e0")),
            ("<e0, a, ?x>\n<?x, b, c0>", Some("<e0, a, ?x> <?x, b, c0>")),
            ("Answer: none", Some("none")),
            ("no idea", None),
        ] {
            assert_eq!(turn(said, &wanted).as_deref(), text, "{said}");
        }
        assert_eq!(unusable("```\n\n `x`; \ny"), "x");
    }

    #[test]
    fn thoughts_are_split_off() {
        for (text, said, thought) in [
            ("a", "a", ""),
            ("<think>b</think>a", "a", "b"),
            ("b</think>\na", "\na", "b"),
            ("<think>b", "", "b"),
            ("[THINK]b[/THINK]a<think>c</think>d", "ad", "bc"),
            ("<think>b</think>a</think>c", "c", "ba"),
        ] {
            assert_eq!(split(text), (said.to_owned(), thought.to_owned()), "{text}");
        }
    }

    /// A reply of a megabyte is read in bounded time.
    #[test]
    fn long_replies_end() {
        let begun = std::time::Instant::now();
        for piece in [
            "get_relation(",
            "get_relation(e0, ",
            "{\"a\":",
            "{",
            "end())",
            "x\n",
            "(",
            "<think>",
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            let (said, _) = split(&text);
            assert_eq!(call(&said), None, "{piece}");
        }
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }
}
