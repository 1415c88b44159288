//! Relation mentions: words of a question that may name a relation, and the assignment of those
//! words to the relations of a list. Linking relations to the question, as entities are, lets a
//! model use a relation that it never saw in training.
//!
//! ```
//! use toolbox::mention::{Mentions, Named};
//!
//! let mentions = Mentions::of("what is the tracks of e0 's place_of_birth ?");
//! assert_eq!(
//!     mentions.marked("what is the tracks of e0 's place_of_birth ?"),
//!     "what is the m0 tracks of e0 's m1 place_of_birth ?"
//! );
//! let list = ["people.person.place_of_birth", "music.recording.tracks", "film.film.genre"]
//!     .map(|name| Named { name: name.into(), label: None });
//! assert_eq!(mentions.link(&list), [Some(1), Some(0), None]);
//! ```

use crate::call::HandleKind;
use crate::rank::{content, is_stop, stem, words};

/// Minimum share of a relation's words that the question must contain before one of them is linked
/// to it.
const LEAST_COVERAGE: f32 = 0.5;

/// A relation to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The printed name.
    pub name: String,
    /// The label, if it has one.
    pub label: Option<String>,
}

/// One word of a question; a name written with underscores holds several.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mention {
    text: String,
    words: Vec<String>,
    stems: Vec<String>,
}

/// The words of a question that may name a relation, `m0`, `m1`, … in order; repeated words are
/// listed once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions(Vec<Mention>);

/// The quality of the match between a relation and a word; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Fit {
    /// Share of the relation's words that the question contains.
    coverage: f32,
    /// Share that this word contains.
    here: f32,
    /// Share that this word contains without stemming.
    exact: f32,
}

impl Mentions {
    /// The mentions of a question in which entities are already replaced by handles.
    #[must_use]
    pub fn of(question: &str) -> Self {
        let mut mentions: Vec<Mention> = Vec::new();
        for token in question.split_whitespace() {
            let text = core(token).to_lowercase();
            if mentions.iter().any(|mention| mention.text == text) || is_handle(&text) {
                continue;
            }
            let words = content_words(&text);
            if text.chars().filter(|c| c.is_alphabetic()).count() > 1 && !is_stop(&text) {
                let stems = words.iter().map(|word| stem(word)).collect();
                mentions.push(Mention { text, words, stems });
            }
        }
        Self(mentions)
    }

    /// The question with `m0`, `m1`, … before the mentions.
    #[must_use]
    pub fn marked(&self, question: &str) -> String {
        let mut text = String::with_capacity(question.len() + 4 * self.0.len());
        for token in question.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            let known = core(token).to_lowercase();
            if let Some(index) = self.0.iter().position(|mention| mention.text == known) {
                text.push_str(&format!("{}{index} ", HandleKind::Mention.letter()));
            }
            text.push_str(token);
        }
        text
    }

    /// For each relation of a list, the index of its mention. A mention is assigned to at most one
    /// relation: the best match, or the first of equal matches.
    #[must_use]
    pub fn link(&self, relations: &[Named]) -> Vec<Option<usize>> {
        let mut pairs: Vec<(Fit, usize, usize)> = Vec::new();
        for (at, relation) in relations.iter().enumerate() {
            let tail = relation
                .name
                .rsplit(['.', '/', '#', ':'])
                .next()
                .unwrap_or_default();
            let tail = tail.rsplit("__").next().unwrap_or_default();
            let forms = [
                Some(content_words(tail)),
                relation.label.as_deref().map(content_words),
            ];
            for form in forms.into_iter().flatten().filter(|form| !form.is_empty()) {
                let stems: Vec<String> = form.iter().map(|word| stem(word)).collect();
                let share = |has: &dyn Fn(usize) -> bool| {
                    (0..form.len()).filter(|&i| has(i)).count() as f32 / form.len() as f32
                };
                let coverage = share(&|i| {
                    self.0
                        .iter()
                        .any(|mention| mention.stems.contains(&stems[i]))
                });
                if coverage < LEAST_COVERAGE {
                    continue;
                }
                for (index, mention) in self.0.iter().enumerate() {
                    let here = share(&|i| mention.stems.contains(&stems[i]));
                    if here > 0.0 {
                        pairs.push((
                            Fit {
                                coverage,
                                here,
                                exact: share(&|i| mention.words.contains(&form[i])),
                            },
                            at,
                            index,
                        ));
                    }
                }
            }
        }
        // Ties go to the relation shown first, then to the word that occurs first.
        pairs.sort_by(|a, b| {
            b.0.partial_cmp(&a.0)
                .unwrap_or(std::cmp::Ordering::Equal)
                .then((a.1, a.2).cmp(&(b.1, b.2)))
        });
        let mut linked = vec![None; relations.len()];
        for (_, at, index) in pairs {
            if linked[at].is_none() && !linked.contains(&Some(index)) {
                linked[at] = Some(index);
            }
        }
        linked
    }
}

/// A word without surrounding punctuation and without a possessive ending.
fn core(token: &str) -> &str {
    let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
    bare.strip_suffix("'s")
        .or_else(|| bare.strip_suffix("’s"))
        .unwrap_or(bare)
}

fn is_handle(text: &str) -> bool {
    let letter = HandleKind::Entity.letter();
    text.strip_prefix(letter)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The content words of a name, or all of its words if it has only stop words.
fn content_words(text: &str) -> Vec<String> {
    let content = content(text);
    if content.is_empty() {
        words(text)
    } else {
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(question: &str, names: &[&str]) -> Vec<Option<usize>> {
        let list: Vec<Named> = names
            .iter()
            .map(|name| Named {
                name: (*name).to_owned(),
                label: None,
            })
            .collect();
        Mentions::of(question).link(&list)
    }

    #[test]
    fn function_words_numbers_and_handles_are_not_mentions() {
        assert_eq!(Mentions::of("What is the e0 's of in 2011 's ?").0, []);
        let question = "recording of recording of e0's country?";
        assert_eq!(
            Mentions::of(question).marked(question),
            "m0 recording of m0 recording of e0's m1 country?"
        );
    }

    #[test]
    fn the_exact_word_wins_over_the_stem() {
        let names = ["music.recording.tracks", "music.release.track"];
        assert_eq!(
            link("the tracks of recording of e0 's track", &names),
            [Some(0), Some(2)]
        );
        assert_eq!(
            link("the recording of e0 's track", &names),
            [None, Some(1)]
        );
        assert_eq!(
            link("the recording of e0 's tracks", &names[1..]),
            [Some(1)]
        );
    }

    #[test]
    fn more_of_a_name_wins_and_a_word_is_used_once() {
        let names = [
            "people.person.place_of_birth",
            "people.person.place_of_death",
            "people.person.parents",
        ];
        assert_eq!(
            link("what is the place of birth of e0", &names),
            [Some(0), None, None]
        );
        assert_eq!(
            link(
                "releases of e0",
                &["music.album.releases", "music.recording.releases"]
            ),
            [Some(0), None]
        );
    }

    #[test]
    fn labels_count_as_names() {
        let list = [Named {
            name: "wdt:P57".to_owned(),
            label: Some("director".to_owned()),
        }];
        assert_eq!(Mentions::of("who directed e0").link(&list), [Some(0)]);
    }
}
