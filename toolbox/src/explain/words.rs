//! Explaining words: how well a relation, a class or a comparison accounts for each content word of
//! a question.

use std::collections::BTreeSet;
use std::sync::Arc;

use kg::search::singular;
use kg::term::{NodeId, RelId};
use rustc_hash::FxHashMap;

use super::asked_word::AskedWord;
use super::kinship::is_relative;
use super::links::links_what_is_called;
use super::mentions::{as_values, entity_at, everyday, stands_beside};
use super::naming::{
    Role, class_nouns, class_words, is_contrary, is_end, is_general, is_nationality, is_place,
};
use super::passed_over::passed_over;
use super::plan::{Hop, Way};
use super::possessive::{self, SPOKEN_OF};
use super::question::Asked;
use super::table::WordTables;
use super::vocabulary::{is_opposite, shortens, split};
use crate::exec::{Relation, Session};
use crate::rank::{dice, stem, word_grams};

/// Share of the letters' likeness that counts as a translation probability.
const ALIKE: f32 = 0.25;
/// The probability with which a word is explained by the same word.
const SAME: f32 = 0.5;
/// The probability with which a word is explained by an abbreviation that nobody lists.
const SHORT: f32 = 0.25;
/// Factor for a word that has the same stem but means another kind of thing.
pub(super) const OTHER: f32 = 0.25;
/// Factor for an adjective where a relation says when something ends.
const ENDS: f32 = 0.7;
/// The probability with which an attribute explains an adjective that measures it.
const MEASURED: f32 = 0.2;
/// What a measure loses for each more usual one.
const LESS_USUAL: f32 = 0.03;
/// Share of P(relation word | question word) that counts as P(question word | relation word).
const RARE: f32 = 0.3;
/// Share of its words that a question asks for if it asks for the relation with `in`.
const IN: f32 = 0.1;
/// Trigram similarity below which words count as unrelated.
const UNRELATED: f32 = 0.25;

/// The probability with which a relation explains a word such as `year` behind its name.
const TOLD: f32 = 0.3;

/// Whether a noun behind the name of a relation says only what kind of value that has.
fn adds_nothing(noun: &str) -> bool {
    const NOUNS: &str = "year years date dates types kinds value values score scores size";
    NOUNS.split(' ').any(|one| one == noun)
}

/// What a relation, class or comparison explains.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Explained {
    /// For every content word of the question, the probability of the word.
    pub(super) words: Arc<[f32]>,
    /// The same where the relation leads to things: an adjective of degree asks for a number or a
    /// time.
    pub(super) to_things: Arc<[f32]>,
    /// The log-probability of its own words, given the question's: whether the question asks for it.
    pub(super) asked: f32,
    pub(super) role: Role,
    pub(super) past: bool,
}

/// The explanations of one question; every relation is compared with it once.
pub(super) struct Explainer<'s, 'g> {
    pub(super) session: &'s Session<'g>,
    pub(super) asked: &'s Asked,
    /// The index of the content word that names what is asked for.
    pub(super) focus: Option<usize>,
    /// Whether the word that names what is asked for names a class.
    pub(super) class_asked: bool,
    /// A class of the graph has the name of what the question asks for.
    pub(super) class_named: bool,
    /// No class has that name, but a thing that a plan reached: `Ashire County`.
    pub(super) kind_named: bool,
    /// For every content word, whether a class of the question has it as the noun of its name.
    pub(super) nouns: Vec<bool>,
    /// For every content word, whether it is the whole name of a class of the question.
    pub(super) whole: Vec<bool>,
    /// For every content word, the linked entity that it mentions.
    pub(super) mentioned: Vec<Option<usize>>,
    /// For each linked entity, the relations that the question says of it one after another: for each,
    /// the indices of its content words.
    pub(super) chains: Vec<Vec<Vec<usize>>>,
    /// The values of the question that are everyday words, as bits.
    pub(super) everyday: u64,
    /// For each linked entity, the values that its mention writes too, as bits.
    pub(super) as_values: Vec<u64>,
    /// Whether the question names a relative.
    pub(super) relatives: bool,
    pub(super) tables: Arc<WordTables>,
    pub(super) hops: FxHashMap<Hop, Explained>,
    pub(super) plain_names: FxHashMap<Relation, Arc<str>>,
    pub(super) named: FxHashMap<NodeId, Arc<[usize]>>,
    pub(super) classes: FxHashMap<NodeId, Arc<[f32]>>,
    /// What things without a class explain, by their relations.
    pub(super) untyped: FxHashMap<Vec<RelId>, Arc<[f32]>>,
    /// Whether a relation leads from what somebody is to the person.
    pub(super) roles: FxHashMap<RelId, bool>,
    /// Relations that tell unit, year or notes of a value, where the question does not ask for these; sorted.
    pub(super) passed_over: Vec<RelId>,
    /// Filled by [`Explainer::with_others`], for those who need it.
    pub(super) others: Vec<(Vec<f32>, Vec<Hop>)>,
}

impl<'s, 'g> Explainer<'s, 'g> {
    pub(super) fn new(session: &'s Session<'g>, asked: &'s Asked, tables: Arc<WordTables>) -> Self {
        let mut made = Self {
            session,
            asked,
            focus: None,
            class_asked: false,
            class_named: false,
            kind_named: false,
            nouns: Vec::new(),
            whole: Vec::new(),
            mentioned: (asked.words.iter())
                .map(|word| entity_at(session.linked(), word.at).filter(|_| !word.is_mark()))
                .collect(),
            chains: possessive::chains(session, asked),
            everyday: everyday(session),
            as_values: as_values(session),
            relatives: asked.words.iter().any(|word| is_relative(&word.word)),
            tables,
            hops: FxHashMap::default(),
            plain_names: FxHashMap::default(),
            named: FxHashMap::default(),
            classes: FxHashMap::default(),
            untyped: FxHashMap::default(),
            roles: FxHashMap::default(),
            passed_over: passed_over(session),
            others: Vec::new(),
        };
        made.nouns = (asked.words.iter())
            .map(|word| {
                let noun = |class: NodeId| class_nouns(session.kg(), class).contains(&word.stem);
                (session.classes().iter())
                    .any(|&class| noun(class) && !links_what_is_called(session, class, &word.stem))
            })
            .collect();
        made.whole = (asked.words.iter())
            .map(|word| {
                let only = |class: &NodeId| {
                    let names = class_words(session.kg(), *class);
                    names.len() == 1
                        && names.contains(&word.stem)
                        && !links_what_is_called(session, *class, &word.stem)
                };
                session.classes().iter().any(only)
            })
            .collect();
        made.focus = made.compound().or(asked.focus);
        let beside: Vec<Option<usize>> = (asked.words.iter().enumerate())
            .map(|(at, word)| made.beside(at, word))
            .collect();
        made.focus = made.focus.filter(|&at| beside[at].is_none());
        made.mentioned = (made.mentioned.iter().zip(beside))
            .map(|(mentioned, beside)| mentioned.or(beside))
            .collect();
        let asks = |made: &mut Self, class: NodeId| names(&made.class(class), made.focus);
        let general = (made.focus.and_then(|at| asked.words.get(at)))
            .is_some_and(|word| is_general(&word.stem));
        made.class_asked =
            !general && (session.classes().iter()).any(|&class| asks(&mut made, class));
        made.class_named = made.names_class();
        made
    }

    /// The linked entity of which a word next to its mention names the class: in `the Helix project`,
    /// `project` stands next to Helix, which is a project.
    fn beside(&self, at: usize, word: &AskedWord) -> Option<usize> {
        if word.is_mark() || word.value.is_some() {
            return None;
        }
        let focus = self.focus == Some(at);
        let (kg, question) = (self.session.kg(), self.session.plain_question());
        let linked = self.session.linked();
        let is_beside = |entity: &usize| {
            let Some((start, end)) = linked.span(*entity) else {
                return false;
            };
            let between = if word.at < start {
                // `which team Security` asks for a team, `the Security team` does not.
                if focus {
                    return false;
                }
                question.get(word.at + word.word.len()..start)
            } else {
                question.get(end..word.at)
            };
            between.is_some_and(stands_beside)
        };
        let names = |entity: &usize| {
            let classes = kg.types(linked.entities[*entity]);
            (classes.iter()).any(|&class| class_nouns(kg, class).contains(&word.stem))
        };
        (0..linked.entities.len()).find(|entity| is_beside(entity) && names(entity))
    }

    /// The last word of a compound that begins with the word that the question asks for and names a
    /// class: `leagues` of `football leagues`.
    fn compound(&mut self) -> Option<usize> {
        let focus = self.asked.focus?;
        let (first, next) = (
            self.asked.words.get(focus)?,
            self.asked.words.get(focus + 1)?,
        );
        // `actors in` is a phrase of its own.
        if !first.is_before(next) || first.word.contains(' ') {
            return None;
        }
        let kg = self.session.kg();
        let classes = self.session.classes();
        let has = |class: &NodeId| {
            class_words(kg, *class).contains(&first.stem)
                && class_nouns(kg, *class).contains(&next.stem)
        };
        let whole = classes.iter().any(has);
        let next = Some(focus + 1);
        let column = self.names_column(focus);
        (whole || column || classes.iter().any(|&class| names(&self.class(class), next)))
            .then_some(focus + 1)
    }

    /// Whether the word at `at` names a class and the noun behind it a column of that class: `car brands`.
    fn names_column(&mut self, at: usize) -> bool {
        const COLUMN: f32 = 0.2;
        let (first, next) = (&self.asked.words[at], &self.asked.words[at + 1]);
        if singular(&first.word).is_some() || singular(&next.word).is_none() {
            return false;
        }
        let session = self.session;
        session.classes().iter().any(|&class| {
            let of = self.class(class);
            let member = session.kg().instances(class).first().copied();
            let Some(member) = member.filter(|_| names(&of, Some(at)) && of[at + 1] < COLUMN)
            else {
                return false;
            };
            let adjacent = session.adjacent(&[member]);
            adjacent.iter().filter(|one| one.out).any(|one| {
                let (relation, way) = (one.relation, Way::Out);
                self.hop(Hop { relation, way }).words[at + 1] >= COLUMN
            })
        })
    }

    /// What a relation explains. Followed backwards it leads to the things that have it, so its
    /// domain counts too.
    pub(super) fn hop(&mut self, hop: Hop) -> Explained {
        if let Some(known) = self.hops.get(&hop) {
            return known.clone();
        }
        let made = self.explain_hop(hop);
        self.hops.insert(hop, made.clone());
        made
    }

    fn explain_hop(&self, hop: Hop) -> Explained {
        let (own, domain) = self.relation_words(hop.relation);
        let name = self.session.relation_name(hop.relation);
        let role = Role::of(split(&name).0, &own, || self.subject_nouns(hop.relation));
        let mut said: BTreeSet<String> = own.into_iter().collect();
        if hop.way == Way::In {
            said.extend(domain.iter().cloned());
        }
        let said: Vec<String> = said.into_iter().collect();
        let further = self.further_names(hop.relation);
        let names: Vec<String> = said
            .iter()
            .chain(further.iter().flatten())
            .cloned()
            .collect();
        let mut words: Vec<f32> = (self.asked.words.iter())
            .map(|word| {
                let of = |name: &String| self.given(word, name);
                let best = names.iter().map(of).fold(0.0, f32::max);
                let other = self.is_other_than(word, &domain, hop);
                // The first mission is not the one that ended first.
                let ends = word.adjective.is_some() && said.iter().any(|name| is_end(name));
                let contrary = is_contrary(&word.stem, &names) || self.asks_who(word, hop.relation);
                best * if other { OTHER } else { 1.0 }
                    * if ends { ENDS } else { 1.0 }
                    * if contrary { 0.0 } else { 1.0 }
            })
            .collect();
        // `home towns` are a `hometown`.
        for (at, pair) in self.asked.words.windows(2).enumerate() {
            let one = stem(&format!("{}{}", pair[0].word, pair[1].word));
            if pair[0].is_before(&pair[1]) && said.contains(&one) {
                words[at..at + 2].fill(SAME);
            }
        }
        // The `founded year` is what is called `founded`.
        for (at, pair) in self.asked.words.windows(2).enumerate() {
            if words[at] >= SAME
                && words[at + 1] < TOLD
                && pair[0].is_before(&pair[1])
                && adds_nothing(&pair[1].word)
            {
                words[at + 1] = TOLD;
            }
        }
        let words: Arc<[f32]> = words.into();
        let to_things = (self.asked.words.iter().zip(words.iter()))
            .map(|(word, p)| match word.adjective {
                Some(_) if !said.contains(&word.stem) => 0.0,
                _ => *p,
            })
            .collect();
        let wanted = |names: &Vec<String>| {
            let of = |name: &String| {
                let of = |word: &AskedWord| {
                    let seen = self.tables.relation_given(&word.stem, name);
                    seen.max(alike(&word.stem, name))
                        .max(self.measured(word, name))
                        .max(self.asked.abbreviated(word, name))
                };
                self.asked.words.iter().map(of).fold(0.0, f32::max)
            };
            names.iter().map(of).sum::<f32>() / names.len().max(1) as f32
        };
        let mut mean = further.iter().map(wanted).fold(wanted(&said), f32::max);
        if self.asked.place
            && said
                .iter()
                .any(|name| is_place(name) || is_nationality(name))
        {
            mean = mean.max(IN);
        }
        Explained {
            words,
            to_things,
            asked: (1e-3 + mean).ln(),
            role,
            past: self.is_past(hop.relation),
        }
    }

    /// The probability with which a word of a relation's name explains a content word.
    pub(super) fn given(&self, word: &AskedWord, name: &str) -> f32 {
        let seen = self.tables.question_given(name, &word.stem);
        // A rare word that means one relation only says as much as a frequent one.
        let meant = RARE * self.tables.relation_given(&word.stem, name);
        let short =
            !self.tables.has(name) && (shortens(name, &word.word) || shortens(name, &word.stem));
        let short = if short { SHORT } else { 0.0 };
        seen.max(meant)
            .max(short)
            .max(self.by_letters(&word.stem, name))
            .max(self.measured(word, name))
            .max(
                SAME * self
                    .asked
                    .abbreviated(word, name)
                    .max(f32::from(is_opposite(&word.word, name))),
            )
    }

    /// The probability with which a word is explained by a name that is like it. Two words that the
    /// tables know and never saw together are not the same word: `current` and `currency`.
    fn by_letters(&self, word: &str, name: &str) -> f32 {
        const STRANGERS: f32 = 0.3;
        let strangers = self.tables.has(word) && self.tables.has(name);
        match word == name {
            true => SAME,
            false if strangers => STRANGERS * ALIKE * alike(word, name),
            false => ALIKE * alike(word, name),
        }
    }

    /// How well an attribute's word fits an adjective that measures it.
    fn measured(&self, word: &AskedWord, name: &str) -> f32 {
        match word.adjective {
            Some(adjective) => {
                let place = adjective.measures.iter().position(|one| *one == name);
                // The usual measures come first.
                place.map_or(0.0, |place| {
                    (MEASURED - LESS_USUAL * place as f32).max(0.5 * MEASURED)
                })
            }
            None => 0.0,
        }
    }

    /// Whether the question mentions a linked entity with a capital.
    pub(super) fn is_name(&self, entity: usize) -> bool {
        let span = self.asked.mentions.get(entity).copied().flatten();
        let text = span.and_then(|(start, end)| self.session.plain_question().get(start..end));
        text.is_some_and(|text| text.contains(char::is_uppercase))
    }

    /// How surely a content word means a relation at all.
    pub(super) fn known(&self, word: &AskedWord) -> f32 {
        self.tables.known(&word.stem)
    }

    /// The distance from the mention of an entity to the content word that these probabilities
    /// explain best.
    pub(super) fn distance(&self, words: &[f32], entity: usize) -> Option<usize> {
        const SEEN: f32 = 0.05;
        let content = (words.iter().zip(&self.asked.words).enumerate())
            .filter(|(_, (p, word))| **p >= SEEN && !word.is_mark() && word.value.is_none());
        let (best, _) = content.max_by(|(i, (a, _)), (j, (b, _))| a.total_cmp(b).then(j.cmp(i)))?;
        self.asked.distance(best, entity)
    }
}

/// How well words explain the one at `at`: 1 from the probability at which little doubt is left.
pub(super) fn strength(words: &[f32], at: Option<usize>) -> f32 {
    const SURE: f32 = 0.2;
    at.and_then(|at| words.get(at))
        .map_or(0.0, |p| (p / SURE).min(1.0))
}

/// Whether the word at `at` is a word of a relation's name, by the relation's explanations.
pub(super) fn is_part_of_name(words: &[f32], at: Option<usize>) -> bool {
    at.and_then(|at| words.get(at)).is_some_and(|p| *p >= SAME)
}

/// Whether a relation with these explanations explains a content word.
pub(super) fn speaks(words: &[f32], explainer: &Explainer<'_, '_>) -> bool {
    let asked = |(p, word): (&f32, &AskedWord)| *p >= SPOKEN_OF && !word.is_mark();
    words.iter().zip(&explainer.asked.words).any(asked)
}

/// Whether a class with these explanations is named by the word at `at`.
pub(super) fn names(class: &[f32], at: Option<usize>) -> bool {
    const NAMED: f32 = 0.36;
    at.and_then(|at| class.get(at)).is_some_and(|p| *p >= NAMED)
}

/// Likeness of two stems from 0 to 1 by their trigrams (Jaccard), 0 below a limit.
pub(super) fn alike(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    let dice = dice(&word_grams(a).0, &word_grams(b).0);
    let share = dice / (2.0 - dice);
    ((share - UNRELATED) / (1.0 - UNRELATED)).max(0.0)
}
