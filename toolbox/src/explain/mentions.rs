//! What stands around the mentions of linked entities in a question. English.

use kg::term::{Literal, NodeId};
use kg::{Kg, words};

use super::adjective::{Degree, adjective};
use super::compared::JOINING;
use super::focus::{BE, is_content};
use super::marks::base;
use super::plan::{Hop, Way, bit};
use super::table::WordTables;
use crate::exec::Session;
use crate::link::{Linked, is_connected, is_nationality, is_vocabulary, number_of_word};
use crate::rank::stem;

/// How surely a word of a mention means a relation, so that it may be meant instead.
const KNOWN: f32 = 0.2;

/// Replaces the mentions of a question by spaces, so that the other words keep their byte offsets. If a mention
/// has a capital, those without one stay where they may mean a relation: `party` of `the party of Nehru`.
pub(super) fn blanked(question: &str, linked: &Linked, tables: &WordTables) -> String {
    let mut bare = linked.blanked(question);
    let mentions = (0..linked.entities.len()).filter_map(|entity| linked.span(entity));
    let mentions: Vec<(usize, usize)> = mentions.collect();
    let text = |&(start, end): &(usize, usize)| question.get(start..end).unwrap_or_default();
    let capital = |span: &(usize, usize)| text(span).contains(char::is_uppercase);
    if !mentions.iter().any(capital) {
        return bare;
    }
    for span in &mentions {
        let apart =
            |other: &(usize, usize)| other == span || other.1 <= span.0 || span.1 <= other.0;
        let known = |word: &String| tables.known(&base(word)) >= KNOWN;
        if !capital(span) && mentions.iter().all(apart) && words(text(span)).iter().any(known) {
            bare.replace_range(span.0..span.1, text(span));
        }
    }
    bare
}

/// Whether the word at a byte offset has a capital as names have: it begins no sentence, and not most
/// words of the question have one.
pub(super) fn has_capital(question: &str, at: usize) -> bool {
    let first = |word: &str| word.chars().next();
    let capital = |word: &str| first(word).is_some_and(char::is_uppercase);
    let before = question.get(..at).unwrap_or_default().trim_end();
    let inside = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | '-'));
    let words = || question.split_whitespace();
    let capitals = words().filter(|word| capital(word)).count();
    inside && capital(question.get(at..).unwrap_or_default()) && 2 * capitals <= words().count()
}

/// For every place in a question, the linked entity that is mentioned there.
pub(super) fn entity_at(linked: &Linked, at: usize) -> Option<usize> {
    let covers = |entity: &usize| {
        let span = linked.span(*entity);
        span.is_some_and(|(start, end)| (start..end).contains(&at))
    };
    (0..linked.entities.len()).find(covers)
}

/// The linked entity that a question compares with: the mention behind `than`, with no content word or
/// number between them, or right behind `before` or `after`.
pub(super) fn compared_with(question: &str, linked: &Linked) -> Option<usize> {
    let is_number = |word: &str| {
        word.bytes().any(|byte| byte.is_ascii_digit()) || number_of_word(word).is_some()
    };
    let is_compared = |text: &str| {
        let text = text.to_lowercase();
        let between = text.rsplit_once("than").map(|(_, rest)| words(rest));
        let mut before = words(&text);
        let last = before.pop().unwrap_or_default();
        // `named after him`
        let named =
            |word: &String| matches!(word.as_str(), "named" | "called" | "looks" | "looked");
        let time = last == "before" || last == "after" && !before.last().is_some_and(named);
        time || between.is_some_and(|between| {
            !between
                .iter()
                .any(|word| is_content(word) || is_number(word))
        })
    };
    (0..linked.entities.len()).find(|&entity| {
        let before = |(start, _)| question.get(..start);
        linked
            .span(entity)
            .and_then(before)
            .is_some_and(is_compared)
    })
}

/// The stem of the word before the mention of an entity, if it may be a verb whose object this is: `require` of `which
/// courses require Algebra`, but not of `what does it require`.
pub(super) fn verb_before(question: &str, linked: &Linked, entity: usize) -> Option<String> {
    const AUXILIARIES: [&str; 3] = ["do", "does", "did"];
    let (start, _) = linked.span(entity)?;
    let mut before = words(question.get(..start)?);
    while matches!(before.last()?.as_str(), "the" | "a" | "an") {
        before.pop();
    }
    let verb = before.pop()?;
    let asks = before
        .iter()
        .any(|word| AUXILIARIES.contains(&word.as_str()));
    (!asks && is_content(&verb)).then(|| stem(&verb))
}

/// Whether only `and` stands between two mentions.
pub(super) fn are_joined(question: &str, linked: &Linked) -> bool {
    let mut spans: Vec<(usize, usize)> = (0..linked.entities.len())
        .filter_map(|entity| linked.span(entity))
        .collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| {
        let between = question.get(pair[0].1..pair[1].0).map(str::trim);
        between.is_some_and(|text| text == "and" || text == "&")
    })
}

/// Whether all things of a question stand with `or` between them, and there are several.
pub(super) fn are_alternatives(question: &str, linked: &Linked) -> bool {
    let spans = (0..linked.entities.len()).map(|entity| linked.span(entity));
    let Some(mut spans) = spans.collect::<Option<Vec<(usize, usize)>>>() else {
        return false;
    };
    spans.sort_unstable();
    let joined = |pair: &[(usize, usize)]| {
        let between = question.get(pair[0].1..pair[1].0).map(str::trim);
        between.is_some_and(|text| JOINING.contains(&text.trim_matches([' ', ',', '\'', '"'])))
    };
    spans.len() > 1 && spans.windows(2).all(joined)
}

/// Whether `or` stands somewhere between the mentions of two entities: `is Max older or is it Moritz?`
pub(super) fn or_between(question: &str, linked: &Linked) -> bool {
    let spans = (0..linked.entities.len()).filter_map(|entity| linked.span(entity));
    let mut spans: Vec<(usize, usize)> = spans.collect();
    spans.sort_unstable();
    let or = |pair: &[(usize, usize)]| {
        let between = question.get(pair[0].1..pair[1].0).unwrap_or_default();
        let or = |word: &String| matches!(word.as_str(), "or" | "vs" | "versus");
        words(between).iter().any(or)
    };
    spans.windows(2).any(or)
}

/// Whether the question asks where something is, or a mention says it: `in` stands before the mention, or the
/// mention is the adjective of a nation.
pub(super) fn stand_for_places(question: &str, linked: &Linked) -> bool {
    const BEFORE: [&str; 5] = ["in", "from", "of", "across", "within"];
    if asks_where(&words(question)) {
        return true;
    }
    (0..linked.entities.len()).any(|entity| {
        let Some((start, end)) = linked.span(entity) else {
            return false;
        };
        let mention = question.get(start..end).unwrap_or_default();
        let before = word_before(question, start);
        BEFORE.contains(&before.as_str()) || is_nationality(&mention.to_lowercase())
    })
}

/// For each linked entity, the values with the same text as its mention, as bits: `Central Africa` may be a region, or
/// mean a country with a similar name.
pub(super) fn as_values(session: &Session<'_>) -> Vec<u64> {
    let linked = session.linked();
    let of = |entity: usize| {
        let span = linked.span(entity);
        let text = span.and_then(|(start, end)| session.plain_question().get(start..end));
        let same =
            |value: &Literal| text.is_some_and(|text| text.eq_ignore_ascii_case(&value.lexical));
        let values = linked.values.iter().enumerate();
        values
            .filter(|(_, value)| same(value))
            .fold(0, |all, (at, _)| all | bit(at))
    };
    (0..linked.entities.len()).map(of).collect()
}

/// Whether `in` or a word like it stands before the mention of an entity.
pub(super) fn stands_within(question: &str, linked: &Linked, entity: usize) -> bool {
    let before = linked
        .span(entity)
        .map(|(start, _)| word_before(question, start));
    before.is_some_and(|word| matches!(word.as_str(), "in" | "at" | "within" | "across"))
}

/// Whether a text between a word and a mention keeps them together: `the player named "Kyle"`.
pub(super) fn stands_beside(between: &str) -> bool {
    let text = between.trim_matches([' ', '"', '\'']);
    matches!(text, "" | "named" | "called" | "titled" | "whose name is")
}

/// Whether `from` (1) or `to` (-1) stands before the mention of an entity.
pub(super) fn heading(question: &str, linked: &Linked, entity: usize) -> i8 {
    let span = linked.span(entity);
    match span
        .map(|(start, _)| word_before(question, start))
        .as_deref()
    {
        Some("from") => 1,
        Some("to") => -1,
        _ => 0,
    }
}

/// The last word before a byte offset, in lower case. Articles do not count.
fn word_before(question: &str, start: usize) -> String {
    let before = question.get(..start).unwrap_or_default().to_lowercase();
    let mut last = before.split_whitespace().rev();
    last.find(|word| !matches!(*word, "the" | "a" | "an"))
        .unwrap_or_default()
        .to_owned()
}

/// Whether a question asks where something is: `which country is it in`, `on which street`.
fn asks_where(all: &[String]) -> bool {
    const IN: [&str; 4] = ["in", "on", "at", "from"];
    const TIMES: [&str; 7] = ["year", "years", "month", "day", "date", "decade", "century"];
    let is_in = |word: &String| IN.contains(&word.as_str());
    let which = |word: &String| matches!(word.as_str(), "which" | "what");
    let is_time = |word: &String| TIMES.contains(&word.as_str());
    let mut three = all.windows(3);
    let ends = all.last().is_some_and(is_in) && all.iter().any(which) && !all.iter().any(is_time);
    all.iter().any(|word| word == "where")
        || ends
        || three.any(|part| is_in(&part[0]) && which(&part[1]) && !is_time(&part[2]))
}

/// For each linked entity, the one whose name stands behind its own, if a fact connects the two: `Klimt's The Kiss`.
pub(super) fn owned(kg: &dyn Kg, question: &str, linked: &Linked) -> Vec<Option<usize>> {
    let behind = |(_, end): (usize, usize), (start, _): (usize, usize)| {
        let between = question
            .get(end..start)
            .map(|text| text.trim().to_lowercase());
        let words = [
            "", "s", "'s", "’s", "'", "’", "the", "s the", "'s the", "’s the",
        ];
        between.is_some_and(|text| words.contains(&text.as_str()))
    };
    let all = 0..linked.entities.len();
    let work = |owner: usize| {
        all.clone().find(|&work| {
            let spans = linked.span(owner).zip(linked.span(work));
            let (from, to) = (linked.entities[owner], linked.entities[work]);
            spans.is_some_and(|(owner, work)| behind(owner, work)) && is_connected(kg, from, to)
        })
    };
    all.clone().map(work).collect()
}

/// Where a mention ends whose name is written with an `s` and without an apostrophe before a noun: `denmarks
/// currency`.
pub(super) fn bare_possessive(
    kg: &dyn Kg,
    question: &str,
    linked: &Linked,
    entity: usize,
) -> Option<usize> {
    let (start, end) = linked.span(entity)?;
    let label = kg.label(*linked.entities.get(entity)?)?;
    let proper = label.starts_with(char::is_uppercase);
    let said = question.get(start..end)?.to_lowercase();
    let label = label.to_lowercase();
    // The mention may end before the `s`.
    let end = match said.strip_suffix('s') {
        Some(name) if is_name(name, &label) => end,
        _ if is_name(&said, &label) && question.get(end..)?.starts_with('s') => end + 1,
        _ => return None,
    };
    let rest = question.get(end..)?.strip_prefix(' ')?;
    let noun = words(rest).into_iter().next()?;
    let written = question.contains(['\'', '’']) || question.contains(char::is_uppercase);
    (proper && !written && is_content(&noun)).then_some(end)
}

/// Whether a text is a label or its last word, such as a surname.
fn is_name(text: &str, label: &str) -> bool {
    let rest = label.strip_suffix(text);
    !text.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
}

/// The linked entity that a question mentions as a kind of things: in the plural, or behind a
/// superlative.
pub(super) fn as_kind(kg: &dyn Kg, question: &str, linked: &Linked) -> Option<usize> {
    (0..linked.entities.len()).find(|&entity| {
        let Some((start, end)) = linked.span(entity) else {
            return false;
        };
        let mention = question.get(start..end).unwrap_or_default().to_lowercase();
        let label = kg.label(linked.entities[entity]).unwrap_or_default();
        let label = label.to_lowercase();
        let ends = question.get(end..).unwrap_or_default();
        let plural = |text: &str| {
            ["s", "es"].iter().any(|ending| {
                text.strip_suffix(ending)
                    .is_some_and(|one| is_name(one, &label))
            })
        };
        // The mention may end before the `s`: `x-ray` of `x-rays`.
        let letter = ends.chars().next().filter(|one| one.is_alphabetic());
        let whole = letter.map_or(mention.clone(), |letter| format!("{mention}{letter}"));
        let before = words(question.get(..start).unwrap_or_default());
        let superlative = before.last().is_some_and(|word| {
            adjective(word).is_some_and(|(_, degree)| degree == Degree::Superlative)
        });
        let possessive = bare_possessive(kg, question, linked, entity).is_some();
        (plural(&mention) || plural(&whole)) && !possessive || superlative && mention == label
    })
}

/// Whether a hop leads to things of a kind, as from the species `dog` to a breed, or from that breed to an animal.
/// `topic` is where the plan begins; the question must mention it as a `kind`. At most two relations do so, and both
/// are followed backwards. The second one must lead to another class: the partner of a physicist is no physicist.
/// `walked` are the hops before this one, `sets` the things before and after it.
pub(super) fn is_of_kind(
    kg: &dyn Kg,
    kind: Option<usize>,
    topic: Option<usize>,
    walked: &[Hop],
    hop: Hop,
    sets: [&[NodeId]; 2],
) -> bool {
    const BEFORE: usize = 1;
    let [before, after] =
        sets.map(|set| set.first().map(|&node| kg.types(node)).unwrap_or_default());
    let same = !walked.is_empty() && before.iter().any(|class| after.contains(class));
    let back = |hop: &Hop| hop.way == Way::In;
    topic.is_some()
        && topic == kind
        && walked.len() <= BEFORE
        && !same
        && walked.iter().chain([&hop]).all(back)
}

/// Whether the words before `do` ask what somebody does: `what does she`.
pub(super) fn asks_for_job(before: &[String]) -> bool {
    let who = |word: &&String| !matches!(word.as_str(), "he" | "she" | "they" | "it");
    let mut before = before.iter().rev().filter(who);
    let does = before
        .next()
        .is_some_and(|word| matches!(word.as_str(), "does" | "do" | "did"));
    does && before.next().is_some_and(|word| word == "what")
}

/// Whether the word at `at` is the last one of `who was in Titanic` or of `what was DiCaprio in`: it asks for a cast, or for
/// what somebody was cast in. `who was Thurman in Pulp Fiction` asks for her part. `placed` has the offset of each word.
pub(super) fn asks_for_cast(placed: &[(usize, String)], all: &[String], at: usize) -> bool {
    let asking = |word: &String| {
        let one_of = [
            "who", "whos", "what", "whats", "all", "else", "s", "he", "she", "they",
        ];
        one_of.contains(&word.as_str()) || BE.contains(&word.as_str())
    };
    let before = &all[..at];
    if at == 0 || at + 1 < all.len() || all[at] != "in" || !before.iter().all(asking) {
        return false;
    }
    // Mentions are blank.
    let apart = placed[at].0 > placed[at - 1].0 + all[at - 1].len() + 1;
    let of = |asks: &str| before.iter().any(|word| word.starts_with(asks));
    of("what") || of("who") && !apart
}

/// The values of the question that are single words in lower case and words of the graph's classes or
/// relations, as bits: the question may well mean those.
pub(super) fn everyday(session: &Session<'_>) -> u64 {
    let everyday = |value: &&Literal| {
        let text = value.lexical.to_lowercase();
        let word = text.chars().all(char::is_alphabetic);
        word && find_written(session.plain_question(), &text) && is_vocabulary(session.kg(), &text)
    };
    let values = session.linked().values.iter().enumerate();
    let found = values.filter(|(_, value)| everyday(value));
    found.fold(0, |all, (at, _)| all | bit(at))
}

/// Whether a question has a word in this case.
fn find_written(question: &str, word: &str) -> bool {
    let mut words = question.split(|c: char| !c.is_alphanumeric());
    words.any(|other| other == word || other.strip_suffix('s') == Some(word))
}

/// Whether a question asks for others than those that it names, or for those who have something in
/// common with them: `in the same country as`.
pub(super) fn asks_for_others(all: &[String]) -> bool {
    let other = ["other", "others", "another", "else"];
    // Co-stars, teammates.
    let with = |word: &str| {
        let one = word.strip_suffix('s').unwrap_or(word);
        [
            "co",
            "costar",
            "colleague",
            "mate",
            "teammate",
            "classmate",
            "bandmate",
            "clubmate",
        ]
        .contains(&one)
    };
    let alike = |at: usize| {
        let after = all.get(at + 2..).unwrap_or_default();
        all[at] == "same" && all[at + 1] != "as" && after.iter().any(|word| word == "as")
    };
    (all.iter()).any(|word| other.contains(&word.as_str()) || with(word))
        || (0..all.len().saturating_sub(1)).any(alike)
}

/// Whether a question asks for what has something in common.
pub(super) fn asks_for_common(all: &[String]) -> bool {
    let common = ["same", "share", "shares", "shared", "common", "similar"];
    // `were they on screen together`, but `what do they cost together` is a sum.
    let together = all.last().is_some_and(|last| last == "together")
        && matches!(
            all[0].as_str(),
            "did" | "have" | "has" | "were" | "are" | "do"
        );
    together || all.iter().any(|word| common.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_leave_the_answer_only_where_others_are_asked_for() {
        use crate::exec::ExcludeWhen::{Never, Others};
        for (question, when) in [
            ("List all films by the director of Alien.", Never),
            ("which rivers flow through Dresden", Never),
            ("who else was in Titanic", Others),
            ("co-stars of Sigourney Weaver", Others),
            ("films with the same director as Alien", Others),
        ] {
            assert_eq!(super::super::exclusion(question), when, "{question}");
        }
    }

    #[test]
    fn ways_have_a_beginning_and_an_end() {
        use super::super::naming::heading_of;
        for (name, heading) in [
            ("departsFrom", 1),
            ("starts_at", 1),
            ("origin", 1),
            ("arrives_at", -1),
            ("destination", -1),
            ("endsAt", -1),
            ("ownedBy", 0),
        ] {
            assert_eq!(heading_of(name), heading, "{name}");
        }
    }

    #[test]
    fn a_class_stands_beside_what_it_names() {
        for between in [" ", " \"", " named ", " called '"] {
            assert!(stands_beside(between), "{between}");
        }
        assert!(!stands_beside(" of ") && !stands_beside(", named "));
    }
}
