//! The grammars of the responses to each sub-task, to which a decoder is constrained.

use super::template::AnswerType;
use super::triple::{End, IS_A, TriplePattern};
use crate::grammar::Grammar;
use crate::limits::MAX_TRIPLES;
use kg::value::Op;

/// Variable names: the answer, implicit entities, attributes.
pub const VARIABLES: [&str; 7] = ["x", "a", "b", "c", "d", "n", "m"];
/// Maximum characters of the phrase in place of a relation.
const PHRASE_CHARS: usize = 40;
/// Maximum alternatives of a template.
const BRANCHES: usize = 3;
/// Maximum conditions of a template.
const FILTERS: usize = 2;

/// The response if nothing matches.
pub const NONE: &str = "none";

fn vars<'a>(names: impl IntoIterator<Item = &'a str>) -> Grammar {
    Grammar::one_of(names.into_iter().map(|name| format!("?{name}")))
}

fn handles(letter: char, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{letter}{index}"))
}

/// `part`, followed by up to `more` repetitions after `separator`.
fn repeated(part: &Grammar, separator: &str, more: usize) -> Grammar {
    let rest = (0..more).fold(None, |rest: Option<Grammar>, _| {
        let next = [Grammar::text(separator), part.clone()]
            .into_iter()
            .chain(rest);
        Some(Grammar::maybe(Grammar::seq(next)))
    });
    Grammar::seq(std::iter::once(part.clone()).chain(rest))
}

/// Triples over the question's entities and classes.
#[must_use]
pub fn triples(entities: usize, classes: usize) -> Grammar {
    let end = || Grammar::any([Grammar::one_of(handles('e', entities)), vars(VARIABLES)]);
    let said = Grammar::free(2, PHRASE_CHARS, "<>,");
    let walk = Grammar::seq([end(), Grammar::text(", "), said, Grammar::text(", "), end()]);
    let class = Grammar::seq([
        end(),
        Grammar::text(format!(", {IS_A}, ")),
        Grammar::one_of(handles('c', classes)),
    ]);
    let triple = Grammar::seq([
        Grammar::text("<"),
        Grammar::any([walk, class]),
        Grammar::text(">"),
    ]);
    repeated(&triple, " ", MAX_TRIPLES - 1)
}

/// One of the three answer types. A question without variables can only be answered with yes or no.
#[must_use]
pub fn answer_type(triples: &[TriplePattern]) -> Grammar {
    let open = triples.iter().any(|triple| triple.vars().next().is_some());
    Grammar::one_of(
        AnswerType::ALL
            .into_iter()
            .filter(|kind| open || *kind == AnswerType::Ask)
            .map(AnswerType::text),
    )
}

/// Up to `most` of the candidates, best first, or none.
#[must_use]
pub fn selection(candidates: &[String], most: usize) -> Grammar {
    let one = Grammar::one_of(candidates.iter().cloned());
    Grammar::any([
        Grammar::text(NONE),
        repeated(
            &one,
            SEPARATOR,
            most.saturating_sub(1)
                .min(candidates.len().saturating_sub(1)),
        ),
    ])
}

/// Separates selected candidates.
const SEPARATOR: &str = ", ";

/// The candidates that a selection names, in its order; the longest matching candidate counts.
#[must_use]
pub fn selected(text: &str, candidates: &[String]) -> Option<Vec<usize>> {
    let mut rest = text.trim();
    let mut chosen = Vec::new();
    if rest == NONE {
        return Some(chosen);
    }
    loop {
        let fits = |i: &usize| {
            rest.strip_prefix(candidates[*i].as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATOR))
        };
        let next = (0..candidates.len())
            .filter(fits)
            .max_by_key(|&i| candidates[i].len())?;
        if !chosen.contains(&next) {
            chosen.push(next);
        }
        rest = &rest[candidates[next].len()..];
        match rest.strip_prefix(SEPARATOR) {
            Some(more) => rest = more,
            None => return Some(chosen),
        }
    }
}

/// Some of the triples, in order.
fn list(triples: &[usize]) -> Grammar {
    Grammar::list(
        triples.iter().map(|i| Grammar::text(format!("t{i}"))),
        " ",
        1,
        triples.len(),
    )
}

/// Some of the triples in order, with at least one of `speaks`, the triples that contain the answer
/// variable.
fn branch(triples: &[usize], speaks: &[usize]) -> Grammar {
    Grammar::any(speaks.iter().map(|&first| {
        let before: Vec<usize> = triples
            .iter()
            .copied()
            .filter(|i| *i < first && !speaks.contains(i))
            .collect();
        let after: Vec<usize> = triples.iter().copied().filter(|i| *i > first).collect();
        let maybe = |triples: &[usize], seq: &dyn Fn(Grammar) -> Grammar| {
            if triples.is_empty() {
                Grammar::text("")
            } else {
                Grammar::maybe(seq(list(triples)))
            }
        };
        Grammar::seq([
            maybe(&before, &|some| Grammar::seq([some, Grammar::text(" ")])),
            Grammar::text(format!("t{first}")),
            maybe(&after, &|some| Grammar::seq([Grammar::text(" "), some])),
        ])
    }))
}

/// A template of the given type over linked triples, values and entities.
#[must_use]
pub fn template(
    kind: AnswerType,
    triples: &[TriplePattern],
    linked: &[bool],
    entities: usize,
    values: usize,
) -> Grammar {
    let usable = || triples.iter().enumerate().filter(|(i, _)| linked[*i]);
    let mut names: Vec<&str> = usable()
        .flat_map(|(_, triple)| [&triple.subject, &triple.object])
        .filter_map(End::var)
        .collect();
    names.sort_unstable();
    names.dedup();
    let var = || vars(names.iter().copied());
    let operand = Grammar::any([
        Grammar::one_of(handles('x', values)),
        Grammar::one_of(handles('e', entities)),
        var(),
    ]);
    let op = Grammar::one_of(Op::ALL.map(Op::symbol));
    let filter = Grammar::seq([
        Grammar::text(" filter "),
        var(),
        Grammar::text(" "),
        op,
        Grammar::text(" "),
        operand,
    ]);
    let extreme = Grammar::seq([Grammar::one_of([" max ", " min "]), var()]);
    let index: Vec<usize> = usable().map(|(i, _)| i).collect();
    let whole = |branch: Grammar| {
        Grammar::seq([
            Grammar::text(" where "),
            repeated(&branch, " or ", BRANCHES - 1),
        ])
    };
    let asked = |name: &&str| {
        let speaks: Vec<usize> = usable()
            .filter(|(_, triple)| triple.vars().any(|var| var == *name))
            .map(|(i, _)| i)
            .collect();
        Grammar::seq([
            Grammar::text(format!(" ?{name}")),
            whole(branch(&index, &speaks)),
        ])
    };
    let body = if kind == AnswerType::Ask {
        whole(list(&index))
    } else {
        Grammar::any(names.iter().map(asked))
    };
    let mut parts = vec![Grammar::text(kind.word()), body];
    parts.extend([
        Grammar::maybe(repeated(&filter, "", FILTERS - 1)),
        Grammar::maybe(extreme),
    ]);
    Grammar::seq(parts)
}
