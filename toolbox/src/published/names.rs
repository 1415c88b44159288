//! Names of nodes in prompts, and finding them in replies. Replies are compared in lower case,
//! without quotation marks and other marks around text.

use crate::text::one_line;
use kg::Kg;
use kg::term::NodeId;

/// The id of a node in a prompt.
pub(super) fn id(kg: &dyn Kg, node: NodeId) -> String {
    one_line(&kg.name(node))
}

/// A node in a prompt: its name, and its label if that says more: `Q1490 [Tokyo]`.
pub(super) fn shown(kg: &dyn Kg, node: NodeId) -> String {
    let name = id(kg, node);
    match kg.label(node).map(|label| one_line(&label)) {
        Some(label) if label != name => format!("{name} [{label}]"),
        _ => name,
    }
}

/// A text as it is compared: lower case, one space between words, without marks.
pub(super) fn normal(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '`' | '*' | '’' | '“' | '”'));
    let lower: String = kept.flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The ways of writing a node, longest first, as they are compared.
pub(super) fn forms(kg: &dyn Kg, node: NodeId) -> Vec<String> {
    let name = kg.name(node);
    let mut all = vec![normal(&name), normal(&shown(kg, node))];
    if let Some(label) = kg.label(node) {
        all.push(normal(&label));
        all.push(normal(&format!("{name} ({label})")));
        all.push(normal(&format!("{name} {label}")));
    }
    all.retain(|form| !form.is_empty());
    all.sort_by_key(|form| std::cmp::Reverse(form.len()));
    all.dedup();
    all
}

/// Whether a name may begin after this character.
fn opens(before: Option<char>) -> bool {
    before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '.' | ':' | '/'))
}

/// Whether a name may end before this text.
fn closes(after: &str) -> bool {
    let mut after = after.chars();
    match after.next() {
        Some('.' | ':') => after.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !c.is_alphanumeric() && c != '_',
        None => true,
    }
}

/// The longest of some forms at the beginning of a text, by its length.
fn begins(text: &str, forms: &[String]) -> Option<usize> {
    let lengths = forms.iter().filter_map(|form| {
        let rest = text.strip_prefix(form.as_str())?;
        closes(rest).then_some(form.len())
    });
    lengths.max()
}

/// Which items a text names, in the order in which it names them. `text` is in [`normal`] form, as
/// the items' forms are.
pub(super) fn named(text: &str, items: &[Vec<String>]) -> Vec<usize> {
    found(text, items, |rest, forms| begins(rest, forms))
}

/// Which triples a text writes as `head, relation, tail`, in its order; each is given by the forms
/// of its three parts.
pub(super) fn named_triples(text: &str, triples: &[[Vec<String>; 3]]) -> Vec<usize> {
    found(text, triples, |rest, parts| {
        let mut length = 0;
        for (at, forms) in parts.iter().enumerate() {
            if at > 0 {
                length += separator(&rest[length..])?;
            }
            // The separator that follows decides where a name with commas ends.
            let here = &rest[length..];
            let mut ends = forms.iter().filter(|form| {
                here.strip_prefix(form.as_str()).is_some_and(|after| {
                    if at < 2 {
                        separator(after).is_some()
                    } else {
                        closes(after)
                    }
                })
            });
            length += ends.next()?.len();
        }
        Some(length)
    })
}

/// The length of what separates the parts of a triple.
fn separator(text: &str) -> Option<usize> {
    let trimmed = text.trim_start();
    let mark = [",", "|", "->", "→", ";"]
        .iter()
        .find_map(|mark| trimmed.strip_prefix(mark))?;
    Some(text.len() - mark.trim_start().len())
}

/// The places of the items that a text has, in its order and each once. `length` is how much of the
/// beginning of a text an item takes. Of two items that begin at one place the longer counts.
fn found<T>(text: &str, items: &[T], length: impl Fn(&str, &T) -> Option<usize>) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut before) = (0, None);
    while let Some(c) = text[at..].chars().next() {
        let here = items.iter().enumerate().filter(|_| opens(before));
        let best = here
            .filter_map(|(i, item)| Some((length(&text[at..], item)?, i)))
            .max_by_key(|&(length, i)| (length, std::cmp::Reverse(i)));
        if let Some((_, i)) = best
            && !found.contains(&i)
        {
            found.push(i);
        }
        let step = best.map_or(0, |(length, _)| length).max(c.len_utf8());
        before = text[at..at + step].chars().next_back();
        at += step;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(all: &[&[&str]]) -> Vec<Vec<String>> {
        let item = |forms: &&[&str]| forms.iter().map(|form| normal(form)).collect();
        all.iter().map(item).collect()
    }

    #[test]
    fn names_are_found_whole_in_order_and_the_longer_one_counts() {
        let all = items(&[
            &["Q1490", "Tokyo"],
            &["Q14900", "Tokyo Station"],
            &["Washington, D.C."],
        ]);
        let found = |text: &str| named(&normal(text), &all);
        assert_eq!(found("`Q14900` and **Q1490**"), [1, 0]);
        assert_eq!(found("tokyo station, Tokyo."), [1, 0]);
        assert_eq!(found("GetPath(\"Washington, D.C.\", \"Tokyo\")"), [2, 0]);
        assert_eq!(found("xQ1490 Q1490x place.tokyo"), Vec::<usize>::new());
        assert_eq!(found("1. Q1490\n2. Q1490"), [0]);
    }

    #[test]
    fn triples_are_found_with_names_that_hold_commas() {
        let part = |forms: &[&str]| forms.iter().map(|form| normal(form)).collect::<Vec<_>>();
        let triples = [
            [part(&["a, b", "a"]), part(&["r"]), part(&["c"])],
            [part(&["a"]), part(&["b"]), part(&["r"])],
            [part(&["x"]), part(&["r"]), part(&["c, d", "c"])],
        ];
        let found = |text: &str| named_triples(&normal(text), &triples);
        assert_eq!(found("(a, b, r, c)"), [0]);
        assert_eq!(found("(a, b, r)"), [1]);
        assert_eq!(found("(x | r | c, d) then a -> r -> c"), [2, 0]);
        assert_eq!(found("(x, c, r)"), Vec::<usize>::new());
    }
}
