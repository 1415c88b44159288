//! The lexical ranker. It needs no model and no files: its 15 constants (the module `weight`) were
//! fitted on the data sets on which recall and answers are reported. It compares the words of the
//! question with those of a relation by stem (rare words count more) and by trigrams, the target of
//! the relation with what the question asks for, and discounts question words that the path to the
//! set has used up.

mod question;

use std::sync::{Arc, RwLock, RwLockReadGuard};

use common::cancel::Cancel;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::name::{Name, Word, mark};
use super::ranker::{LeadsTo, RankError, Ranker, RankingContext, RelationCandidate};
use super::text::stem;
use question::{Met, Question};

/// Feature weights, fitted by a conditional logit on the relation choices of all available data
/// sets together and rounded. So figures on those sets are not figures on unseen data. Fitted
/// without one family of sets, the ranker finds 0 to 4 points fewer relations in that family.
mod weight {
    /// Unused question words found in name, domain and label.
    pub(super) const MET: f32 = 2.8;
    /// The same without the domain.
    pub(super) const MET_OWN: f32 = 0.9;
    /// Share of the last segment's words that the question contains.
    pub(super) const SEGMENT: f32 = 1.3;
    /// Trigram cosine of question and last segment.
    pub(super) const TRIGRAMS: f32 = 1.0;
    /// Share of the words of the target's class names that the question contains.
    pub(super) const CLASS: f32 = 1.4;
    /// In-relations are rarer in programs than out-relations.
    pub(super) const INCOMING: f32 = -0.7;
    /// They are rarer still after a first step.
    pub(super) const INCOMING_LATER: f32 = -1.6;
    /// Going straight back along the relation just followed is the rarest.
    pub(super) const STRAIGHT_BACK: f32 = -1.2;
    /// A relation to a literal rarely fits unless the question has a cue for it.
    pub(super) const LITERAL: f32 = -0.8;
    /// A relation to free text almost never fits.
    pub(super) const TEXT: f32 = -0.9;
    /// Numbers, for "how many", "longest", "more than" or a number in the question.
    pub(super) const QUANTITY: f32 = 1.6;
    /// Dates, for "when", "earliest", "after" or a year in the question.
    pub(super) const TIME: f32 = 1.2;
    /// People, for "who".
    pub(super) const PERSON: f32 = 0.6;
    /// Places, for "where".
    pub(super) const PLACE: f32 = 0.5;
    /// An unnamed node links two things that questions do name.
    pub(super) const STATEMENT: f32 = 1.5;
}

/// Capacity of the name cache: the vocabulary of the largest graphs in use, some tens of megabytes.
const NAME_CACHE: usize = 1 << 16;

const PERSON_WORDS: &str = "person actor actress director author player artist founder president leader member politician athlete architect \
composer singer musician character winner spouse parent child sibling brother sister owner producer officeholder human agent";
const PLACE_WORDS: &str = "place location city country state region area province county continent venue site address district island \
territory headquarters hometown residence settlement";
/// Ranks by words. Analysed names are cached, so one ranker serves the whole process; the cache
/// does not affect scores.
#[derive(Debug)]
pub struct LexicalRanker {
    known: RwLock<FxHashMap<String, Arc<Name>>>,
    person: FxHashSet<u64>,
    place: FxHashSet<u64>,
}

impl Default for LexicalRanker {
    fn default() -> Self {
        let stems = |list: &str| list.split(' ').map(|word| mark(&stem(word))).collect();
        Self {
            known: RwLock::default(),
            person: stems(PERSON_WORDS),
            place: stems(PLACE_WORDS),
        }
    }
}

/// The matches of a list's words by word hash; each word is compared with the question once.
type MetWords = FxHashMap<u64, Met>;

/// Access to the name cache for one ranking. Known names are read under one read lock, new names
/// inserted under one write lock at the end; locking per name would make parallel rankings wait for
/// each other.
struct Names<'r> {
    ranker: &'r LexicalRanker,
    known: Option<RwLockReadGuard<'r, FxHashMap<String, Arc<Name>>>>,
    made: FxHashMap<String, Arc<Name>>,
}

impl Names<'_> {
    fn get(&mut self, name: &str) -> Arc<Name> {
        if let Some(found) = self.known.as_ref().and_then(|known| known.get(name)) {
            return Arc::clone(found);
        }
        if let Some(made) = self.made.get(name) {
            return Arc::clone(made);
        }
        let made = Arc::new(Name::of(name));
        self.made.insert(name.to_owned(), Arc::clone(&made));
        made
    }
}

impl Drop for Names<'_> {
    fn drop(&mut self) {
        self.known = None;
        if self.made.is_empty() {
            return;
        }
        if let Ok(mut known) = self.ranker.known.write() {
            for (name, made) in self.made.drain() {
                if known.len() < NAME_CACHE {
                    known.insert(name, made);
                }
            }
        }
    }
}

impl LexicalRanker {
    fn names(&self) -> Names<'_> {
        Names {
            ranker: self,
            known: self.known.read().ok(),
            made: FxHashMap::default(),
        }
    }

    fn is_of(&self, kinds: &FxHashSet<u64>, parts: &Parts, out: bool) -> bool {
        let named = parts
            .own()
            .chain(parts.classes.iter().flat_map(|class| &class.segment));
        let more = parts.name.domain.iter().filter(|_| !out);
        named.chain(more).any(|word| kinds.contains(&word.stem))
    }
}

/// The analysed parts of a candidate.
struct Parts {
    name: Arc<Name>,
    label: Option<Arc<Name>>,
    classes: Vec<Arc<Name>>,
}

impl Parts {
    /// Words of the last segment and of the label.
    fn own(&self) -> impl Iterator<Item = &Word> {
        self.name.segment.iter().chain(
            self.label
                .iter()
                .flat_map(|label| label.domain.iter().chain(&label.segment)),
        )
    }

    fn all(&self) -> impl Iterator<Item = &Word> {
        self.own().chain(&self.name.domain)
    }
}

/// Buffers that all relations of a ranking share.
#[derive(Default)]
struct Buffers {
    seen: Vec<u64>,
    classes: Vec<(u64, f32)>,
}

/// x / (1 + x) of the summed rarity of the matched words: each further match adds less. `seen` is a
/// buffer.
fn met<'n>(words: impl Iterator<Item = &'n Word>, met: &[Met], seen: &mut Vec<u64>) -> f32 {
    seen.clear();
    let mut sum = 0.0;
    for (word, met) in words.zip(met) {
        if !seen.contains(&word.stem) {
            seen.push(word.stem);
            sum += met.fresh * met.rarity;
        }
    }
    sum / (1.0 + sum)
}

impl Ranker for LexicalRanker {
    fn name(&self) -> String {
        "lexical".to_owned()
    }

    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let question = Question::of(question);
        let mut names = self.names();
        let score = |(at, text): (usize, &String)| {
            cancel.check_item(at)?;
            let name = names.get(text);
            let share = |words: &mut dyn Iterator<Item = &Word>| {
                let met: Vec<f32> = words.map(|word| question.meets(word).all).collect();
                if met.is_empty() {
                    0.0
                } else {
                    met.iter().sum::<f32>() / met.len() as f32
                }
            };
            let (own, all) = (
                share(&mut name.segment.iter()),
                share(&mut name.segment.iter().chain(&name.domain)),
            );
            Ok(0.5 * name.profile.cosine(&question.profile) + 0.35 * own + 0.15 * all)
        };
        texts.iter().enumerate().map(score).collect()
    }

    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        let mut question = Question::of(asked.question);
        let mut names = self.names();
        for walked in asked.path {
            question.use_up(&names.get(&walked.name));
            if let Some(label) = &walked.label {
                question.use_up(&names.get(label));
            }
        }
        let mut parts: Vec<Parts> = Vec::with_capacity(relations.len());
        for (at, relation) in relations.iter().enumerate() {
            asked.cancel.check_item(at)?;
            parts.push(Parts {
                name: names.get(&relation.name),
                label: relation.label.as_ref().map(|label| names.get(label)),
                classes: match &relation.leads_to {
                    LeadsTo::Thing(classes) => {
                        classes.iter().map(|class| names.get(class)).collect()
                    }
                    _ => Vec::new(),
                },
            });
        }
        drop(names);
        let uses = uses(&parts);
        let mut known = MetWords::with_capacity_and_hasher(uses.len(), FxBuildHasher);
        let (mut met, mut buffers) = (Vec::new(), Buffers::default());
        let score = |(at, (relation, parts)): (usize, (&RelationCandidate, &Parts))| {
            asked.cancel.check_item(at)?;
            met.clear();
            met.extend(parts.all().map(|word| {
                *known.entry(word.mark).or_insert_with(|| {
                    let alike = uses.get(&word.stem).map_or(1.0, |(_, uses)| *uses as f32);
                    Met {
                        rarity: (1.0 + relations.len() as f32 / alike).ln(),
                        ..question.meets(word)
                    }
                })
            }));
            Ok(self.score_one(&question, asked.path, relation, parts, &met, &mut buffers))
        };
        relations
            .iter()
            .zip(&parts)
            .enumerate()
            .map(score)
            .collect()
    }
}

/// Expected number of words of a relation and its label that no other relation of the list shares.
const WORDS: usize = 4;

/// For every stem, the last relation of the list that contains it and the number of relations that
/// do.
fn uses(list: &[Parts]) -> FxHashMap<u64, (usize, usize)> {
    let mut count: FxHashMap<u64, (usize, usize)> =
        FxHashMap::with_capacity_and_hasher(list.len() * WORDS, FxBuildHasher);
    for (i, parts) in list.iter().enumerate() {
        for word in parts.all() {
            let (last, count) = count.entry(word.stem).or_insert((usize::MAX, 0));
            if *last != i {
                (*last, *count) = (i, *count + 1);
            }
        }
    }
    count
}

impl LexicalRanker {
    /// The score of one relation. `words` holds the match of each of its words, in the order of
    /// [`Parts::all`].
    fn score_one(
        &self,
        question: &Question,
        path: &[RelationCandidate],
        relation: &RelationCandidate,
        parts: &Parts,
        words: &[Met],
        buffers: &mut Buffers,
    ) -> f32 {
        let segment = words.iter().take(parts.name.segment.len());
        let (got, total) = segment.fold((0.0, 0.0), |(got, total), met| {
            (got + met.all * met.rarity, total + met.rarity)
        });
        let mut score = weight::MET * met(parts.all(), words, &mut buffers.seen)
            + weight::MET_OWN * met(parts.own(), words, &mut buffers.seen);
        score += weight::SEGMENT * if total > 0.0 { got / total } else { 0.0 };
        score += weight::TRIGRAMS * parts.name.profile.cosine(&question.profile);
        buffers.classes.clear();
        buffers.classes.extend(
            parts
                .classes
                .iter()
                .flat_map(|class| &class.segment)
                .map(|word| (word.stem, question.meets(word).all)),
        );
        // The sort is stable: of words with equal stems, the first counts.
        buffers.classes.sort_by_key(|(stem, _)| *stem);
        buffers.classes.dedup_by_key(|(stem, _)| *stem);
        if !buffers.classes.is_empty() {
            score += weight::CLASS * buffers.classes.iter().map(|(_, all)| all).sum::<f32>()
                / buffers.classes.len() as f32;
        }
        if !relation.out {
            score += if path.is_empty() {
                weight::INCOMING
            } else {
                weight::INCOMING + weight::INCOMING_LATER
            };
        }
        if path
            .last()
            .is_some_and(|last| last.name == relation.name && last.out != relation.out)
        {
            score += weight::STRAIGHT_BACK;
        }
        score += match relation.leads_to {
            LeadsTo::Number => {
                weight::LITERAL
                    + if question.quantity {
                        weight::QUANTITY
                    } else {
                        0.0
                    }
            }
            LeadsTo::Time => weight::LITERAL + if question.time { weight::TIME } else { 0.0 },
            LeadsTo::Text => weight::LITERAL + weight::TEXT,
            LeadsTo::Statement => weight::STATEMENT,
            LeadsTo::Thing(_) | LeadsTo::Unknown => 0.0,
        };
        if question.person && self.is_of(&self.person, parts, relation.out) {
            score += weight::PERSON;
        }
        if question.place && self.is_of(&self.place, parts, relation.out) {
            score += weight::PLACE;
        }
        score
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::best_first;
    use super::*;

    fn candidates(names: &[&str]) -> Vec<RelationCandidate> {
        names
            .iter()
            .map(|name| RelationCandidate {
                name: (*name).to_owned(),
                out: true,
                ..RelationCandidate::default()
            })
            .collect()
    }

    fn best(question: &str, path: &[RelationCandidate], relations: &[RelationCandidate]) -> String {
        let scores = LexicalRanker::default()
            .score_relations(
                RankingContext {
                    question,
                    path,
                    cancel: &Cancel::default(),
                },
                relations,
            )
            .unwrap();
        let names: Vec<String> = relations
            .iter()
            .map(|relation| relation.name.clone())
            .collect();
        names[best_first(&scores, &names)[0]].clone()
    }

    #[test]
    fn the_named_relation_comes_first() {
        let list = candidates(&[
            "film.film.genre",
            "film.film.directed_by",
            "film.film.written_by",
        ]);
        assert_eq!(
            best("who is the director of it", &[], &list),
            "film.film.directed_by"
        );
        assert_eq!(best("who wrote it", &[], &list), "film.film.written_by");
        assert_eq!(best("what kind of genre", &[], &list), "film.film.genre");
    }

    #[test]
    fn words_used_up_by_the_path_no_longer_count() {
        let list = candidates(&["person.spouse", "person.place_of_birth"]);
        assert_eq!(
            best(
                "where was the spouse of born",
                &[],
                &candidates(&["person.spouse", "person.gender"])
            ),
            "person.spouse"
        );
        assert_eq!(
            best("birth place of the spouse of", &list[..1], &list),
            "person.place_of_birth"
        );
        // A word that occurs twice can be followed twice.
        let list = candidates(&["music.recording", "music.song"]);
        assert_eq!(
            best("recording of the recording of", &list[..1], &list),
            "music.recording"
        );
    }

    #[test]
    fn what_a_relation_leads_to_decides_between_equals() {
        let mut list = candidates(&["x.alpha", "x.beta"]);
        list[1].leads_to = LeadsTo::Time;
        assert_eq!(best("when was it", &[], &list), "x.beta");
        assert_eq!(best("what is it", &[], &list), "x.alpha");
        list[1].leads_to = LeadsTo::Number;
        assert_eq!(best("how many are there", &[], &list), "x.beta");
    }

    #[test]
    fn a_list_of_any_length_is_ranked_whole() {
        let names: Vec<String> = (0..5_000)
            .map(|i| format!("domain.type.property_{i}"))
            .chain(["film.film.directed_by".to_owned()])
            .collect();
        for at in [0, 299, 300, 2_500, 5_000] {
            let mut list: Vec<&str> = names.iter().map(String::as_str).collect();
            let gold = list.pop().unwrap_or_default();
            list.insert(at, gold);
            let list = candidates(&list);
            let scores = LexicalRanker::default()
                .score_relations(
                    RankingContext {
                        question: "who directed it",
                        path: &[],
                        cancel: &Cancel::default(),
                    },
                    &list,
                )
                .unwrap();
            assert_eq!(scores.len(), 5_001);
            assert!(
                scores
                    .iter()
                    .enumerate()
                    .all(|(i, score)| i == at || *score < scores[at]),
                "{at}"
            );
        }
    }
}
