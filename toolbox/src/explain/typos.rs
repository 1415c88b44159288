//! Typing errors in the words of a question: two neighbouring letters are swapped (`buidling`), a double letter is
//! written once or a single one twice (`smalest`), or a vowel is missing (`novls`). Such errors hardly ever make another
//! English word, so they are corrected in short words too. [`WordTables::meant`] corrects other errors, in long words only.

use kg::words;

use super::adjective::adjective;
use super::focus::is_content;
use super::mentions::blanked;
use super::table::WordTables;
use super::vocabulary::is_chatter;
use crate::exec::Session;
use crate::link::is_vocabulary;
use crate::rank::stem;
use crate::text::swaps;

/// Length of the shortest word that is corrected.
const SHORTEST: usize = 4;
/// Words that say how something is compared or computed.
const CUES: &str = "after before between more since than average number maximum minimum total least most each together many \
    highest lowest whether";
/// How surely a word must mean a relation to be what was meant.
const KNOWN: f32 = 0.2;

/// Words as people write them in messages, with those that they stand for.
const SHORTHAND: [(&str, &str); 10] = [
    ("ppl", "people"),
    ("thru", "through"),
    ("w", "with"),
    ("wo", "without"),
    ("b4", "before"),
    ("mins", "minutes"),
    ("hrs", "hours"),
    ("yrs", "years"),
    ("pics", "pictures"),
    ("bks", "books"),
];

/// The misspelt and shortened words of a session's question, each with the word that was meant. A word that only the
/// graph has means itself: `evergreen`.
pub(super) fn found(session: &Session<'_>, tables: &WordTables) -> Vec<(String, String)> {
    let (question, linked) = (session.plain_question(), session.linked());
    let values: Vec<String> = (linked.values.iter())
        .flat_map(|value| words(&value.lexical))
        .collect();
    let in_graph = |word: &str| is_vocabulary(session.kg(), word);
    let mut found: Vec<(String, String)> = Vec::new();
    for word in words(&blanked(question, linked, tables)) {
        let seen = values.contains(&word) || found.iter().any(|(known, _)| *known == word);
        let short = || SHORTHAND.iter().find(|(short, _)| *short == word);
        // The graph may write it so too: `acc_percent`.
        let written = || {
            short()
                .filter(|_| !in_graph(&word))
                .map(|(_, long)| (*long).to_owned())
        };
        let own = || (!tables.has(&stem(&word)) && in_graph(&word)).then(|| word.clone());
        let meant = || (written().or_else(|| meant(&word, tables, in_graph))).or_else(own);
        if let Some(meant) = (!seen).then(meant).flatten() {
            found.push((word, meant));
        }
    }
    found
}

/// The word that a misspelt word means: an adjective of degree, or a word for relations.
fn meant(word: &str, tables: &WordTables, in_graph: impl Fn(&str) -> bool) -> Option<String> {
    let letters = word.bytes().all(|byte| byte.is_ascii_lowercase());
    let says = is_content(word) && !is_chatter(word);
    let known = |word: &str| adjective(word).is_some() || tables.has(&stem(word));
    if !letters || word.len() < SHORTEST || !says || known(word) || in_graph(word) {
        return None;
    }
    let sure = |word: &String| match (adjective(word), stem(word)) {
        (Some(_), _) => 1.0,
        _ if CUES.split(' ').any(|cue| cue == word) || in_graph(word) => 1.0,
        // Short stems are found in too many words.
        (None, stem) if stem.len() < SHORTEST => 0.0,
        (None, stem) => tables.known(&stem),
    };
    let best = variants(word)
        .into_iter()
        .map(|word| (sure(&word), word))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= KNOWN).then_some(best.1)
}

/// The words that differ by one such error.
fn variants(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut found = Vec::new();
    for at in 0..letters.len() {
        let mut more = letters.clone();
        more.insert(at, letters[at]);
        found.push(more);
        // A vowel is missing (`novls`).
        for vowel in "aeiou".chars().filter(|_| letters.len() > SHORTEST) {
            let mut more = letters.clone();
            more.insert(at, vowel);
            found.push(more);
        }
        if at > 0 && letters[at - 1] == letters[at] {
            let mut other = letters.clone();
            other.remove(at);
            found.push(other);
        }
    }
    let found = found
        .into_iter()
        .map(|letters| letters.into_iter().collect());
    found.chain(swaps(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::question::Asked;
    use super::*;
    use crate::link::Linked;

    #[test]
    fn swapped_and_doubled_letters_are_corrected() {
        let tables = WordTables::base();
        let meant = |word| meant(word, &tables, |word| word == "trial");
        for (word, right) in [
            ("haed", Some("head")),
            ("smalest", Some("smallest")),
            ("buidling", Some("building")),
            ("dirrector", Some("director")),
            ("novls", Some("novels")),
            ("head", None),
            ("coral", None),
            // A word of the graph.
            ("trial", None),
            ("teh", None),
        ] {
            assert_eq!(meant(word).as_deref(), right, "{word}");
        }
    }

    #[test]
    fn misspelt_words_are_read_as_the_tables_know_them() -> Result<(), super::super::TableError> {
        let tables = WordTables::parse("kgagent word tables 1\nr\tdirect\tfilm\t3\n")?;
        let linked = Linked::default();
        let found = Asked::new("who dirrected it", &linked, &[], &[], &|_| false, &tables);
        assert_eq!(found.words[0].stem, "direct");
        assert_eq!(found.words[0].word, "dirrected", "as written");
        Ok(())
    }
}
