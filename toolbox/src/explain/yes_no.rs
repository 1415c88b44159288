//! Whether a question asks if something is so. English.

use kg::words;

use super::cues::{counts, follows};
use super::embedded::request;
use super::focus::QUESTION_WORDS;
use super::vocabulary::{is_chatter, is_filler};

/// Whether a statement ends by asking for a yes: `he was at Juventus once, right?`
pub(super) fn ends_with_tag(question: &str) -> bool {
    const TAGS: &str = "right correct yes yeah no true ok";
    let text = question.trim_end_matches(['?', '!', '.', ' ']);
    let (_, tag) = text.rsplit_once(',').unwrap_or_default();
    // `Joe and Jack are brothers right`
    let all = words(text);
    let verb = |word: &String| {
        matches!(
            word.as_str(),
            "is" | "are" | "was" | "were" | "has" | "have"
        )
    };
    let asks = |word: &String| QUESTION_WORDS.contains(&word.as_str()) || word == "or";
    let bare = all.last().is_some_and(|last| last == "right")
        && all.iter().skip(1).any(verb)
        && !verb(&all[0])
        && !all.iter().any(asks);
    bare || TAGS
        .split(' ')
        .any(|one| tag.trim().eq_ignore_ascii_case(one))
}

/// Whether a question asks somebody to do something: `can you tell me`.
fn asks_us(all: &[String]) -> bool {
    let us = [
        "you", "u", "i", "we", "anyone", "someone", "somebody", "anybody", "please",
    ];
    // `can I bring my dog` asks whether it is allowed.
    const ASKING: [&str; 7] = ["see", "get", "have", "find", "know", "ask", "list"];
    let allowed = all.windows(3).any(|part| {
        let we = matches!(part[1].as_str(), "i" | "we");
        part[0] == "can" && we && !ASKING.contains(&part[2].as_str())
    });
    // `can you swim there` asks whether people can.
    const FOR_US: &str = "tell show give list find name help say check explain let look pull get remind recommend suggest count \
                          please provide see do point think maybe";
    let people = all.windows(3).any(|part| {
        part[0] == "can" && part[1] == "you" && !FOR_US.split(' ').any(|verb| verb == part[2])
    }) || all.windows(4).any(|part| {
        part[0] == "can"
            && part[1] == "you"
            && part[2] == "get"
            && matches!(part[3].as_str(), "into" | "to" | "there" | "in")
    });
    follows(all, "can", &us) && !allowed && !people
        || follows(all, "will", &us)
        || follows(all, "could", &us)
        || follows(all, "would", &us)
}

/// Whether a question asks if something is so: it begins with an auxiliary verb.
pub(super) fn judges(question: &str) -> bool {
    let all = words(question);
    let first = (all.iter()).find(|word| !is_filler(word) && !is_chatter(word));
    // "do you know who", "is there a list of".
    let polite = follows(&all, "do", &["you"])
        || follows(&all, "is", &["there"]) && follows(&all, "a", &["list"]);
    // "Is there one, and which?"
    let asks = |word: &String| matches!(word.as_str(), "who" | "which" | "what" | "where" | "when");
    let asked = (all.windows(2).enumerate())
        .any(|(i, pair)| pair[0] == "and" && asks(&pair[1]) && !all[..i].iter().any(asks));
    // "Has anyone got an idea who it is?"
    let knows = |word: &str| {
        matches!(
            word,
            "idea" | "clue" | "know" | "tell" | "remember" | "remind"
        )
    };
    let known = all
        .windows(2)
        .any(|pair| knows(&pair[0]) && (asks(&pair[1]) || pair[1] == "how"));
    // "Do we have any? Which ones?"
    let then = question
        .split_once('?')
        .is_some_and(|(_, rest)| words(rest).first().is_some_and(asks));
    // "Are there any, and if so which?"
    let so = follows(&all, "if", &["so"]);
    // "It is organic, or not?", "She was born here, is that right?"
    let last = |count: usize| all[all.len().saturating_sub(count)..].join(" ");
    let confirms = matches!(
        last(3).as_str(),
        "is that right"
            | "is he right"
            | "is she right"
            | "am i right"
            | "yes or no"
            | "is that true"
            | "is that correct"
            | "is this true"
            | "true or false"
    );
    // "St Pancras, was it ever run by them?"
    let any_asks = (all.iter()).any(|word| QUESTION_WORDS.contains(&word.as_str()));
    let behind = question
        .rsplit_once([',', ':', '-'])
        .map(|(_, rest)| words(rest));
    let turned = behind.is_some_and(|rest| {
        let is = |at: usize, list: &str| {
            (rest.get(at)).is_some_and(|word| list.split(' ').any(|one| one == word))
        };
        is(0, "ever")
            || is(0, "is are was were do does did has have had")
                && is(1, "it he she they there the his her its their")
                && rest.len() > 2
    });
    if turned && !any_asks && !all.iter().any(|word| word == "any") {
        return true;
    }
    if confirms
        || matches!(last(2).as_str(), "or not" | "y n")
        || request(&all) > 0
        || ends_with_tag(question)
    {
        return true;
    }
    !polite
        && !asked
        && !known
        && !so
        && !then
        && first.is_some_and(|word| {
            matches!(
                word.as_str(),
                "is" | "are" | "was" | "were" | "do" | "does" | "did" | "has" | "have" | "had"
            ) || matches!(word.as_str(), "can" | "will" | "could" | "would") && !asks_us(&all)
        })
}

/// Whether a question asks if there is something: `is there`, `do we have any`.
pub(super) fn asks_for_any(all: &[String]) -> bool {
    let there = all.windows(2).any(|pair| {
        matches!(pair[0].as_str(), "is" | "are" | "was" | "were") && pair[1] == "there"
    });
    there || all.iter().any(|word| word == "any")
}

/// Whether a question may be a statement with a question mark: it has no question word and no verb that asks for
/// something. This is also true of `capital of peru?`, which asks for a thing.
pub(super) fn tells(question: &str) -> bool {
    const ASKING: &str = "who whom whose which what where when why how list name show give tell find count get need want \
                          looking whats wheres whos hows all any some every";
    let all = words(question);
    question.trim_end().ends_with('?')
        && !judges(question)
        && !counts(&all)
        && !all
            .iter()
            .any(|word| ASKING.split(' ').any(|one| one == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_may_end_with_a_tag() {
        assert!(ends_with_tag("he was at Juventus once, right?"));
        assert!(!ends_with_tag("which way is right?"));
        assert!(!ends_with_tag("is it left, or right?"));
        assert!(judges("he was at Juventus once, right?"));
        assert!(!judges("Has anyone got an idea who looks after the moor?"));
        assert!(judges("Has anyone looked after the moor?"));
    }
}
