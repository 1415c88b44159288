//! The marks of question words. English.

use kg::words;

use super::adjective::adjective;
use super::cues::counts;
use super::focus::{asks, is_content};
use crate::rank::stem;

/// The marks of question words. They are content words like any other, because `who` says something
/// about `director` and `when` about `founded`.
const MARKS: &[(&str, &[&str])] = &[
    ("#who", &["who", "whom", "whose", "whos"]),
    ("#where", &["where", "wheres"]),
    ("#when", &["when", "whens"]),
    (YEAR, &["year", "date"]),
];
/// The mark of words for points in time, which are no question words.
const YEAR: &str = "#what-year";
/// The mark of `how many`.
const HOW_MANY: &str = "#how-many";

/// The marks of the question words among these words.
pub(super) fn marks(all: &[String]) -> impl Iterator<Item = &'static str> {
    let has = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
    let asked = MARKS
        .iter()
        .filter(move |(_, list)| has(list))
        .map(|(mark, _)| *mark);
    asked.chain(counts(all).then_some(HOW_MANY))
}

/// The marks of the words that ask: `the place where it was held` does not ask where.
pub(super) fn asking_marks(bare: &str, placed: &[(usize, String)]) -> Vec<&'static str> {
    let all: Vec<String> = placed.iter().map(|(_, word)| word.clone()).collect();
    let asking = |mark: &&str| {
        let Some((_, list)) = MARKS.iter().find(|(name, _)| name == mark) else {
            return true;
        };
        let number = |at: usize| {
            let next = placed.get(at).map_or("", |(_, word)| word.as_str());
            next.starts_with(|first: char| first.is_ascii_digit())
        };
        let asks = |(at, (_, word)): (usize, &(usize, String))| {
            // `the year 1800` asks for no year.
            let asked = match *mark {
                YEAR => !number(at + 1),
                // `is it kept where?`
                _ => at + 1 == placed.len() || asks(bare, placed, at),
            };
            list.contains(&word.as_str()) && asked
        };
        placed.iter().enumerate().any(asks)
    };
    marks(&all).filter(asking).collect()
}

/// The stems of the content words of a question without its entities, with the marks of its
/// question words; sorted, each once.
pub(super) fn question_stems(bare: &str) -> Vec<String> {
    let all = words(bare);
    let mut stems: Vec<String> = all
        .iter()
        .filter(|word| is_content(word))
        .map(|word| base(word))
        .collect();
    stems.extend(marks(&all).map(str::to_owned));
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The stem of a word; of an adjective of degree, the stem of its plain form.
pub(super) fn base(word: &str) -> String {
    adjective(word).map_or_else(|| stem(word), |(found, _)| stem(found.plain))
}

#[cfg(test)]
mod tests {
    use super::super::asked_word::AskedWord;
    use super::super::cues::whole_words;
    use super::super::question::Asked;
    use super::super::table::WordTables;
    use super::question_stems;
    use crate::link::Linked;

    fn asked(question: &str) -> Asked {
        Asked::new(
            question,
            &Linked::default(),
            &[],
            &[],
            &|_| false,
            &WordTables::default(),
        )
    }

    #[test]
    fn marks_are_those_of_the_words_that_ask() {
        let marks = |question: &str| -> Vec<String> {
            let words = asked(question).words.into_iter();
            words
                .filter(AskedWord::is_mark)
                .map(|word| word.stem)
                .collect()
        };
        assert_eq!(marks("where was it held"), ["#where"]);
        assert_eq!(marks("the old painting is kept where?"), ["#where"]);
        assert!(marks("price of the place where it was held").is_empty());
        assert_eq!(marks("in which year did it open"), ["#what-year"]);
        assert!(marks("books from before the year 1800").is_empty());
    }

    #[test]
    fn ranks_people_jobs_and_requests_are_read() {
        assert_eq!(asked("the second longest river").rank, 2);
        assert_eq!(asked("the 3rd most populous city").rank, 3);
        assert_eq!(asked("the longest river of the second region").rank, 1);
        assert!(asked("players of the club").wants_people);
        assert!(!asked("rivers of the club").wants_people);
        let words = asked("what does she do there").words;
        assert!(words.iter().any(|word| word.stem == "do"));
        assert!(asked("can it start without the grid").judge);
        assert!(asked("can you swim there").judge && asked("can you get into it").judge);
        for (question, tells) in [
            ("the gallery open on mondays?", true),
            ("the gallery open on mondays", false),
            ("is the gallery open?", false),
            ("when is the gallery open?", false),
            ("show open galleries?", false),
        ] {
            assert_eq!(asked(question).tells, tells, "{question}");
        }
        let words: Vec<String> = (whole_words("1,500 rooms, 20 halls,300").into_iter())
            .map(|(_, word)| word)
            .collect();
        assert_eq!(words, ["1500", "rooms", "20", "halls", "300"]);
        assert!(asked("music under ten minutes").compare.is_some());
        assert!(asked("plays with a first night in may").extreme.is_none());
        assert!(!asked("can you tell me the name").judge);
        assert!(!asked("do we have any? which ones").judge);
        assert!(asked("how much does it cost").amount);
    }

    #[test]
    fn stems_for_learning_are_sorted_once_each() {
        assert_eq!(
            question_stems("who directed films, and which film's director"),
            ["#who", "direct", "film"]
        );
        assert!(question_stems("is it so?").is_empty());
    }
}
