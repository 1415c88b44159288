//! The words around each number of a question: in `higher than 5,000 or with a prominence over 1,000` the second number is no
//! height. English.

use kg::term::Literal;

use super::compared::places;
use super::cues::is_generic;
use crate::era::unsigned;
use crate::link::number_of_word;

/// Words that may begin what is said of the next number.
const BEGIN: &str = "and or but with whose that who which where have has had having";
/// Those behind which a number has all its words.
const NARROW: &str = "with whose that who which where having";

/// The content words around a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AroundNumber {
    /// Those that belong to it.
    pub(super) own: Vec<usize>,
    /// Those that belong to other numbers.
    pub(super) others: Vec<usize>,
    /// The one right behind it.
    pub(super) next: Option<usize>,
    /// Whether something has so many: `with 1 race`.
    pub(super) had: bool,
    /// Whether the question has other numbers before it.
    pub(super) beside: bool,
}

/// The words around each value of a question, if that is a number and the question writes it. `placed` has its words with
/// their byte offsets, `content` the index of the content word at an offset.
pub(super) fn around_numbers(
    placed: &[(usize, String)],
    values: &[Literal],
    content: impl Fn(usize) -> Option<usize>,
) -> Vec<Option<AroundNumber>> {
    let places = places(values, |text| written(placed, text));
    let mut numbers: Vec<usize> = places.iter().flatten().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let begins = |at: &usize| BEGIN.split(' ').any(|word| word == placed[*at].1);
    let mut ends: Vec<usize> = (numbers.windows(2))
        .map(|pair| {
            (pair[0] + 1..pair[1])
                .rev()
                .find(begins)
                .unwrap_or(pair[0] + 1)
        })
        .collect();
    ends.push(placed.len());
    let words = |from: usize, to: usize| -> Vec<usize> {
        let part = placed.get(from..to).unwrap_or_default();
        part.iter().filter_map(|(at, _)| content(*at)).collect()
    };
    let one = |at: usize| {
        let index = numbers.iter().position(|number| *number == at)?;
        // What stands before `with a height over 200` says nothing of that number.
        let narrows = |at: &usize| NARROW.split(' ').any(|word| word == placed[*at].1);
        let from = match index.checked_sub(1) {
            Some(before) => ends[before],
            None => (0..at.saturating_sub(1))
                .rev()
                .find(narrows)
                .unwrap_or_default(),
        };
        let generic = |word: &usize| {
            placed
                .iter()
                .any(|(at, text)| content(*at) == Some(*word) && is_generic(text))
        };
        let mut own = words(from, ends[index]);
        own.retain(|word| !generic(word));
        let mut others = words(0, from);
        others.extend(words(ends[index], placed.len()));
        others.retain(|word| !own.contains(word) && !generic(word));
        let next = placed.get(at + 1).and_then(|(at, _)| content(*at));
        let before = at
            .checked_sub(1)
            .map_or("", |before| placed[before].1.as_str());
        let had = matches!(before, "with" | "have" | "has" | "had" | "having");
        Some(AroundNumber {
            own,
            others,
            next,
            had,
            beside: index > 0,
        })
    };
    places.into_iter().map(|at| at.and_then(one)).collect()
}

/// The indices of the words that may write a number.
fn written(placed: &[(usize, String)], text: &str) -> Vec<usize> {
    let Ok(number) = text.parse::<f64>() else {
        return Vec::new();
    };
    let named = |word: &str| number_of_word(word).is_some_and(|named| named as f64 == number);
    let digits = unsigned(text);
    let is = |word: &str| word == digits || named(word);
    let all = placed.iter().enumerate();
    all.filter(|(_, (_, word))| is(word))
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::cues::whole_words;
    use super::*;

    #[test]
    fn each_number_has_words_of_its_own() {
        let own = |question: &str, values: &[&str]| -> Vec<Vec<String>> {
            let placed = whole_words(question);
            let values: Vec<Literal> = values.iter().map(|value| Literal::plain(*value)).collect();
            let content = |at: usize| placed.iter().position(|(place, _)| *place == at);
            let found = around_numbers(&placed, &values, content);
            let words = |one: &AroundNumber| {
                let words = one.own.iter().map(|&at| placed[at].1.clone());
                words.collect()
            };
            found.iter().flatten().map(words).collect()
        };
        let two = own(
            "height over 5000 or prominence over 1000",
            &["5000", "1000"],
        );
        assert_eq!(two[0], ["height", "over", "5000"]);
        assert_eq!(two[1], ["or", "prominence", "over", "1000"]);
        let two = own("built after 2010 with 1000 lane metres", &["1000", "2010"]);
        assert_eq!(two[0], ["with", "1000", "lane", "metres"]);
        assert_eq!(two[1], ["built", "after", "2010"]);
        let two = own("a frost above -5 or a thaw below 5", &["-5", "5"]);
        assert_eq!(two[0], ["a", "frost", "above", "5"]);
        assert_eq!(two[1], ["or", "a", "thaw", "below", "5"]);
        // Both values of a year are at its only word.
        let year = own("born after 500 bc", &["-500", "-500-12-31"]);
        assert_eq!(year[0], year[1]);
    }
}
