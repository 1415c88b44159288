//! How the questions of a dataset are worded, as hashes in the file `wordings.txt`. `datagen`
//! writes it next to the examples and `train` copies it into the model folder. With it, an
//! evaluation can tell how much of its questions the model has read before.
//!
//! ```
//! use common::wordings::{Wording, Wordings};
//!
//! let mut trained = Wordings::default();
//! trained.add(Wording { words: vec![7, 2, 5], whole: 11 });
//! assert_eq!(Wordings::parse(&trained.to_text()), Some(trained.clone()));
//!
//! let overlap = trained.overlap(&[Wording { words: vec![2, 7, 9], whole: 12 }]);
//! assert_eq!((overlap.words, overlap.words_seen, overlap.in_one, overlap.whole), (3, 2, 0, 0));
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::path::Path;

use crate::fs::FsError;

/// The name of the file in data and model folders.
pub const FILE: &str = "wordings.txt";

/// First line of the file.
const HEAD: &str = "kgagent wordings 1";

/// What stands behind the hash of a whole wording that only given questions have.
const GIVEN: &str = " given";

/// The wording of one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Wording {
    /// Hashes of its content words, without the names of entities.
    pub words: Vec<u64>,
    /// Hash of the whole question with its entities and values replaced.
    pub whole: u64,
}

/// The distinct wordings of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wordings {
    /// The content words of each question, sorted.
    questions: BTreeSet<Vec<u64>>,
    /// Hashes of whole wordings.
    whole: BTreeSet<u64>,
    /// Those that only questions have that somebody gave, not made from templates or from a graph.
    given: BTreeSet<u64>,
}

/// How much of some questions occurs in [`Wordings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// Number of questions.
    pub questions: usize,
    /// Distinct content words of each question, summed.
    pub words: usize,
    /// Those that some training question contains.
    pub words_seen: usize,
    /// Questions whose content words all occur in one training question.
    pub in_one: usize,
    /// Questions whose whole wording is that of a training question.
    pub whole: usize,
}

fn distinct(mut words: Vec<u64>) -> Vec<u64> {
    words.sort_unstable();
    words.dedup();
    words
}

impl Wordings {
    /// Adds a question that was made from a template or from a graph.
    pub fn add(&mut self, wording: Wording) {
        self.questions.insert(distinct(wording.words));
        self.made(wording.whole);
    }

    /// Adds a question that somebody gave.
    pub fn add_given(&mut self, wording: Wording) {
        self.questions.insert(distinct(wording.words));
        self.gave(wording.whole);
    }

    fn made(&mut self, whole: u64) {
        self.whole.insert(whole);
        self.given.remove(&whole);
    }

    fn gave(&mut self, whole: u64) {
        if self.whole.insert(whole) {
            self.given.insert(whole);
        }
    }

    /// Adds all questions of another dataset.
    pub fn merge(&mut self, other: Self) {
        self.questions.extend(other.questions);
        for whole in other.whole {
            if other.given.contains(&whole) {
                self.gave(whole);
            } else {
                self.made(whole);
            }
        }
    }

    /// Forgets which questions were given.
    pub fn forget_given(&mut self) {
        self.given.clear();
    }

    /// The share of whole wordings that only questions have that somebody gave; 0 without questions.
    #[must_use]
    pub fn given(&self) -> f32 {
        self.given.len() as f32 / self.whole.len().max(1) as f32
    }

    /// Number of distinct whole wordings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.whole.len()
    }

    /// Whether there are no questions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty()
    }

    /// Whether a question was worded as a whole like this one, but for names and numbers.
    #[must_use]
    pub fn has(&self, wording: &Wording) -> bool {
        self.whole.contains(&wording.whole)
    }

    /// How much of `asked` occurs here.
    #[must_use]
    pub fn overlap(&self, asked: &[Wording]) -> Overlap {
        let mut with: BTreeMap<u64, Vec<&Vec<u64>>> = BTreeMap::new();
        for question in &self.questions {
            for &word in question {
                with.entry(word).or_default().push(question);
            }
        }
        let mut overlap = Overlap {
            questions: asked.len(),
            ..Overlap::default()
        };
        for wording in asked {
            let words = distinct(wording.words.clone());
            let known: Vec<_> = words.iter().filter_map(|word| with.get(word)).collect();
            overlap.words += words.len();
            overlap.words_seen += known.len();
            let all = |question: &Vec<u64>| {
                let mut words = words.iter();
                words.all(|word| question.binary_search(word).is_ok())
            };
            // Only questions with the rarest word can contain all words.
            let in_one = match known.iter().min_by_key(|questions| questions.len()) {
                Some(rarest) => rarest.iter().any(|question| all(question)),
                None => words.is_empty() && !self.is_empty(),
            };
            overlap.in_one += usize::from(in_one);
            overlap.whole += usize::from(self.has(wording));
        }
        overlap
    }

    /// The text of the file: equal wordings give equal text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let words: BTreeSet<u64> = self.questions.iter().flatten().copied().collect();
        let place: BTreeMap<u64, usize> = words.iter().copied().zip(0..).collect();
        let mut text = format!("{HEAD}\nwords {}\n", words.len());
        // Writing to a string cannot fail.
        for word in &words {
            let _ = writeln!(text, "{word:016x}");
        }
        let _ = writeln!(text, "questions {}", self.questions.len());
        for question in &self.questions {
            let places: Vec<String> = question
                .iter()
                .filter_map(|word| place.get(word))
                .map(usize::to_string)
                .collect();
            let _ = writeln!(text, "{}", places.join(" "));
        }
        let _ = writeln!(text, "wordings {}", self.whole.len());
        for whole in &self.whole {
            let given = if self.given.contains(whole) {
                GIVEN
            } else {
                ""
            };
            let _ = writeln!(text, "{whole:016x}{given}");
        }
        text
    }

    /// Reads the text of the file; `None` if it is damaged or of another version.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let mut part = |name: &str| -> Option<Vec<&str>> {
            let head = lines.next()?.strip_prefix(name)?.strip_prefix(' ')?;
            let count: usize = head.parse().ok()?;
            let part: Vec<&str> = lines.by_ref().take(count).collect();
            (part.len() == count).then_some(part)
        };
        let hash = |line: &&str| u64::from_str_radix(line, 16).ok();
        let words: Vec<u64> = part("words")?.iter().map(hash).collect::<Option<_>>()?;
        let question = |line: &&str| -> Option<Vec<u64>> {
            let places = line.split(' ').filter(|place| !place.is_empty());
            let word = |place: &str| words.get(place.parse::<usize>().ok()?).copied();
            places.map(word).collect::<Option<_>>().map(distinct)
        };
        let questions = part("questions")?
            .iter()
            .map(question)
            .collect::<Option<_>>()?;
        let (mut whole, mut given) = (BTreeSet::new(), BTreeSet::new());
        for line in part("wordings")? {
            let made = line.strip_suffix(GIVEN);
            let wording = hash(&made.unwrap_or(line))?;
            whole.insert(wording);
            if made.is_some() {
                given.insert(wording);
            }
        }
        lines.next().is_none().then_some(Self {
            questions,
            whole,
            given,
        })
    }

    /// The wordings of a data or model folder; `None` if it has none.
    ///
    /// # Errors
    /// If the file exists and cannot be read, is damaged, or is of another version.
    pub fn of_folder(folder: &Path) -> Result<Option<Self>, FsError> {
        let path = folder.join(FILE);
        let read = match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).ok_or_else(|| {
                let message = "it is damaged, or another version of kgagent wrote it; take the file \
                               from where the folder came from, or remove it: what was read in \
                               training is then unknown";
                io::Error::new(io::ErrorKind::InvalidData, message)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        };
        read.map(Some).map_err(FsError::at(&path))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn wording(words: &[u64], whole: u64) -> Wording {
        Wording {
            words: words.to_vec(),
            whole,
        }
    }

    #[test]
    fn words_of_several_questions_do_not_make_one_question() {
        let mut trained = Wordings::default();
        trained.add(wording(&[3, 1, 2], 10));
        trained.add(wording(&[4, 2], 11));
        let asked = [
            wording(&[1, 2], 20),    // inside the first
            wording(&[1, 4], 21),    // seen, but in two questions
            wording(&[2, 4, 2], 11), // the second itself
            wording(&[9, 2], 22),    // a new word
            wording(&[], 23),        // nothing but names: no word is new
        ];
        let overlap = trained.overlap(&asked);
        assert_eq!(
            overlap,
            Overlap {
                questions: 5,
                words: 8,
                words_seen: 7,
                in_one: 3,
                whole: 1
            }
        );
        let nothing = Wordings::default().overlap(&asked);
        assert_eq!(
            (nothing.words_seen, nothing.in_one, nothing.whole),
            (0, 0, 0)
        );
    }

    #[test]
    fn text_depends_on_the_wordings_alone_and_reads_back() {
        let (a, b) = (wording(&[3, 1, 3], 10), wording(&[], 11));
        let (mut one, mut two) = (Wordings::default(), Wordings::default());
        one.add(a.clone());
        one.add_given(b.clone());
        let mut other = Wordings::default();
        other.add(a.clone());
        two.add_given(b);
        two.add_given(a.clone()); // the other one is made like it
        two.merge(other);
        two.add_given(a);
        assert_eq!(one.to_text(), two.to_text());
        assert_eq!(Wordings::parse(&one.to_text()), Some(one.clone()));
        assert_eq!((one.len(), one.given()), (2, 0.5));
        assert_eq!(Wordings::default().given(), 0.0);
    }

    #[test]
    fn damaged_text_is_refused() {
        let mut whole = Wordings::default();
        whole.add(wording(&[3, 1], 10));
        let text = whole.to_text();
        for damaged in [
            "",
            "kgagent wordings 2\n",
            &text[..text.len() - 18],
            &format!("{text}more\n"),
            &text.replace("000a\n", "000a taken\n"),
            &text.replace("0 1", "0 7"),
            &text.replace("words 2", "words 9999999999999"),
        ] {
            assert_eq!(Wordings::parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_folder_without_the_file_has_no_wordings() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Wordings::of_folder(dir.path()).unwrap(), None);
        let mut some = Wordings::default();
        some.add(wording(&[1], 2));
        std::fs::write(dir.path().join(FILE), some.to_text()).unwrap();
        assert_eq!(Wordings::of_folder(dir.path()).unwrap(), Some(some));
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let mut some = Wordings::default();
        some.add(wording(&[1], 2));
        for damaged in [
            b"".as_slice(),
            b"kgagent wordings 2\n",
            b"\xff\xfe",
            &some.to_text().as_bytes()[..40],
        ] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(FILE), damaged).unwrap();
            let error = Wordings::of_folder(dir.path()).unwrap_err().to_string();
            assert!(error.contains(FILE), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FILE)).unwrap();
        assert!(Wordings::of_folder(dir.path()).is_err());
    }
}
