//! Analysed questions.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::rank::name::{Name, Word};
use crate::rank::text::{Profile, is_stop};
use kg::words;

static QUANTITY: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "more less fewer than over under above below least most longest largest biggest smallest highest lowest tallest \
deepest shortest many much total number amount average maximum minimum"
        .split(' ')
        .collect()
});
static TIME: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "when year years date day month before after since until earliest latest first last recent recently newest oldest \
youngest earlier later old new age century decade during"
        .split(' ')
        .collect()
});

thread_local! {
    /// The last question that this thread ranked for: the lists of one question follow each other.
    static LAST: RefCell<Option<(String, Question)>> = const { RefCell::new(None) };
}

/// An analysed question.
#[derive(Clone)]
pub(super) struct Question {
    words: Rc<[Word]>,
    /// The similarity of each question word to words of names, by word hash.
    known: Rc<RefCell<FxHashMap<u64, Box<[f32]>>>>,
    /// The share of each word that the path has not used up, in `[0, 1]`.
    fresh: Vec<f32>,
    pub(super) profile: Rc<Profile>,
    pub(super) person: bool,
    pub(super) place: bool,
    pub(super) time: bool,
    pub(super) quantity: bool,
}

impl Question {
    pub(super) fn of(text: &str) -> Self {
        LAST.with_borrow_mut(|last| match last {
            Some((known, question)) if known == text => question.clone(),
            _ => {
                let question = Self::new(text);
                *last = Some((text.to_owned(), question.clone()));
                question
            }
        })
    }

    fn new(text: &str) -> Self {
        let all = words(text);
        let content: Vec<String> = all.iter().filter(|word| !is_stop(word)).cloned().collect();
        let has_word = |cues: &[&str]| all.iter().any(|word| cues.contains(&word.as_str()));
        let has_cue = |cues: &FxHashSet<&str>| all.iter().any(|word| cues.contains(word.as_str()));
        let year = |word: &String| {
            word.len() == 4
                && word
                    .parse()
                    .is_ok_and(|year: u32| (1000..2100).contains(&year))
        };
        let number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit()) && !year(word);
        Self {
            profile: Rc::new(Profile::of(&content)),
            fresh: vec![1.0; content.len()],
            words: content.iter().map(|word| Word::of(word)).collect(),
            known: Rc::default(),
            person: has_word(&["who", "whom", "whose"]),
            place: has_word(&["where"]),
            time: has_cue(&TIME) || all.iter().any(year),
            quantity: has_cue(&QUANTITY) || all.iter().any(number),
        }
    }

    /// Each word of a followed relation uses up the one question word that it is most similar to.
    pub(super) fn use_up(&mut self, name: &Name) {
        let mut seen: Vec<u64> = Vec::new();
        for word in &name.segment {
            if seen.contains(&word.stem) {
                continue;
            }
            seen.push(word.stem);
            let best = self.similarities(word, |all| {
                let mut best = (0.0, None);
                for (i, (similarity, fresh)) in all.iter().zip(&self.fresh).enumerate() {
                    let similarity = similarity * fresh;
                    if similarity > best.0 {
                        best = (similarity, Some(i));
                    }
                }
                best
            });
            if let (similarity, Some(i)) = best {
                self.fresh[i] = self.fresh[i].min(1.0 - similarity);
            }
        }
    }

    /// Passes the similarities of a word to each word of the question to `of`.
    fn similarities<T>(&self, word: &Word, of: impl FnOnce(&[f32]) -> T) -> T {
        let mut known = self.known.borrow_mut();
        of(known.entry(word.mark).or_insert_with(|| {
            self.words
                .iter()
                .map(|mine| word.similarity(mine))
                .collect()
        }))
    }

    /// How well the question matches a word, with and without the words used up by the path.
    pub(super) fn meets(&self, word: &Word) -> Met {
        self.similarities(word, |all| {
            let mut met = Met::default();
            for (similarity, fresh) in all.iter().zip(&self.fresh) {
                met.all = met.all.max(*similarity);
                met.fresh = met.fresh.max(similarity * fresh);
            }
            met
        })
    }
}

/// The match of a word with the question; see [`Question::meets`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    pub(super) all: f32,
    pub(super) fresh: f32,
    /// ln(1 + list length / relations with this stem): words that distinguish the relations of a
    /// list count more.
    pub(super) rarity: f32,
}
