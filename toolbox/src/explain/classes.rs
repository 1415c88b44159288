//! What classes explain of a question, and things without a class by their relations.

use std::sync::Arc;

use kg::search::singular;
use kg::term::NodeId;
use kg::words;
use rustc_hash::FxHashMap;

use super::asked_word::AskedWord;
use super::links::links_what_is_called;
use super::mentions::stands_beside;
use super::naming::{class_nouns, class_texts, class_words, is_person, means_same, same_kind};
use super::words::{Explainer, OTHER, alike};
use crate::exec::Relation;
use crate::rank::stem;

/// The probability with which a class explains a word that names it.
pub(super) const CLASS: f32 = 0.4;
/// From this probability a word is a synonym of a class's name, with this share of [`CLASS`].
const SYNONYM: f32 = 0.24;
const MEANT: f32 = 0.9;
/// The share of [`CLASS`] for another word for the same kind of things: a class of that name comes first.
const SAME_KIND: f32 = 0.95;
/// The highest probability with which a class explains a word that is only a part of its name.
const MODIFIER: f32 = 0.3;

/// Whether a word stands in one of these texts, in the singular or the plural.
fn is_named_so(word: &str, texts: &[String]) -> bool {
    let one = singular(word);
    let one = one.as_deref().unwrap_or(word);
    let mut names = texts.iter().flat_map(|text| words(text));
    names.any(|name| name == word || singular(&name).as_deref().unwrap_or(&name) == one)
}

impl Explainer<'_, '_> {
    /// What the classes of the first thing of a set explain. If it has no class: what the
    /// relations of the first few things explain.
    pub(super) fn classes_of(&mut self, nodes: &[NodeId]) -> Vec<Arc<[f32]>> {
        const SOME: usize = 5;
        let kg = self.session.kg();
        let Some(&first) = nodes
            .first()
            .filter(|&&node| kg.term(node).as_literal().is_none())
        else {
            return Vec::new();
        };
        let classes = kg.kinds(first);
        let unclassed = !self.class_asked;
        let some = nodes.len().min(SOME);
        let by_name = unclassed && {
            let named = nodes.iter().take(SOME);
            let named = named.filter(|&&node| self.is_by_name(node)).count();
            // Of five countries one may be written in full.
            named + some / SOME >= some
        };
        if classes.is_empty() && !by_name {
            return nodes
                .iter()
                .take(SOME)
                .map(|&node| self.untyped(node))
                .collect();
        }
        let mut said: Vec<_> = classes.into_iter().map(|class| self.class(class)).collect();
        if let Some(common) = self.classes_of_others(nodes) {
            for one in &mut said {
                *one = (one.iter().zip(&common))
                    .map(|(p, most)| p.min(*most))
                    .collect();
            }
        }
        if by_name {
            self.kind_named |= self.is_in_name(first);
            let of = |at: usize| CLASS * f32::from(self.focus == Some(at));
            said.push((0..self.asked.words.len()).map(of).collect());
        }
        // `how many people` is one phrase.
        let person = |word: &AskedWord| word.stem.split(' ').any(is_person);
        if self.asked.words.iter().any(person) && self.are_people(nodes) {
            let of = |word: &AskedWord| CLASS * f32::from(person(word));
            said.push(self.asked.words.iter().map(of).collect());
        }
        said
    }

    /// What the classes of some other members of a set all explain: what is in Germany are not only stations because the
    /// first one is. `None` if the set has no others with classes.
    fn classes_of_others(&mut self, nodes: &[NodeId]) -> Option<Vec<f32>> {
        const SOME: usize = 3;
        let kg = self.session.kg();
        let step = nodes.len().div_ceil(SOME).max(1);
        let mut common: Option<Vec<f32>> = None;
        for &node in nodes.iter().rev().step_by(step).take(SOME) {
            let classes = kg.kinds(node);
            if node == nodes[0] || classes.is_empty() {
                continue;
            }
            let mut words = vec![0.0_f32; self.asked.words.len()];
            for class in classes {
                let of = self.class(class);
                for (word, p) in words.iter_mut().zip(of.iter()) {
                    *word = word.max(*p);
                }
            }
            common = Some(match common {
                None => words,
                Some(known) => known.iter().zip(&words).map(|(a, b)| a.min(*b)).collect(),
            });
        }
        common
    }

    /// For every content word, the probability with which a thing without a class explains it: a
    /// word that goes with several of its relations says what the thing is (`film` goes with
    /// `directed by`, `written by` and `genre`).
    fn untyped(&mut self, node: NodeId) -> Arc<[f32]> {
        const SEVERAL: usize = 3;
        const SURE: f32 = 0.04;
        let relations = self.session.kg().out_relations(node);
        if let Some(known) = self.untyped.get(&relations) {
            return Arc::clone(known);
        }
        let names: Vec<Vec<String>> = (relations.iter())
            .map(|&id| self.relation_words(Relation::Plain(id)).0)
            .collect();
        let words: Arc<[f32]> = (self.asked.words.iter())
            .map(|word| {
                if names.len() < SEVERAL || word.is_mark() || word.value.is_some() {
                    return 0.0;
                }
                let seen = |name: &String| self.tables.question_given(name, &word.stem);
                // The currency used, that of the gross product and that of the income make no thing a currency.
                let mut all: FxHashMap<&str, f32> = FxHashMap::default();
                for names in &names {
                    let likeliest = names.iter().map(|name| (name.as_str(), seen(name)));
                    if let Some((name, p)) = likeliest.max_by(|a, b| a.1.total_cmp(&b.1)) {
                        all.insert(name, p);
                    }
                }
                let mut all: Vec<f32> = all.into_values().collect();
                all.sort_unstable_by(|a, b| b.total_cmp(a));
                let last = all.get(SEVERAL - 1).copied().unwrap_or_default();
                0.5 * CLASS * (last / SURE).min(1.0)
            })
            .collect();
        self.untyped.insert(relations, Arc::clone(&words));
        words
    }

    /// What classes of a linked entity explain: only the words next to its mention (`the film
    /// Alien`), because others speak of the answer (`films by the director of Alien`).
    pub(super) fn class_of_topic(&self, words: &[f32], entity: usize) -> Arc<[f32]> {
        const NEXT: usize = 1;
        let near = |at: usize, p: f32| {
            let word = &self.asked.words[at];
            let gap = self.asked.distance(at, entity);
            let start = self.session.linked().span(entity).map(|(start, _)| start);
            let between = start.and_then(|start| {
                let question = self.session.plain_question();
                question.get(word.at + word.word.len()..start)
            });
            gap.is_none_or(|gap| gap <= word.word.len() + NEXT)
                // `the port of Trieste`, not `the co-stars of Bogart`
                || between.is_some_and(|text| stands_beside(text) || p >= 1.0 && text.trim() == "of")
        };
        (words.iter().enumerate())
            .map(|(at, &p)| if near(at, p) { p } else { 0.0 })
            .collect()
    }

    /// For every content word, the probability with which a class explains it.
    pub(super) fn class(&mut self, class: NodeId) -> Arc<[f32]> {
        if let Some(known) = self.classes.get(&class) {
            return Arc::clone(known);
        }
        let kg = self.session.kg();
        let names = class_words(kg, class);
        let nouns = class_nouns(kg, class);
        let texts = class_texts(kg, class);
        let said = |name: &String| self.asked.words.iter().any(|word| word.stem == *name);
        let partly = !names.iter().all(said);
        let mut words: Vec<f32> = (self.asked.words.iter().zip(&self.nouns).enumerate())
            .map(|(at, (word, noun))| {
                // `films` are films where there are such, and not film directors.
                let part = names.contains(&word.stem) && !nouns.contains(&word.stem);
                let whole = |next: &AskedWord| word.is_before(next) && nouns.contains(&next.stem);
                if *noun && part && !self.asked.words.get(at + 1).is_some_and(whole) {
                    return 0.0;
                }
                let of = |name: &String| {
                    let seen = self.tables.question_given(name, &word.stem);
                    let alike = alike(&word.stem, name);
                    // A painter is no painting.
                    let other = alike == 1.0 && !same_kind(&word.word, &texts);
                    let seen = if !noun && means_same(name, &word.stem) {
                        SAME_KIND
                    } else if seen >= SYNONYM && !noun {
                        MEANT
                    } else {
                        seen
                    };
                    // Towns are cities where there is no class of cities.
                    let alike = if alike == 1.0 && !is_named_so(&word.word, &texts) {
                        SAME_KIND
                    } else {
                        alike
                    };
                    CLASS * if other { OTHER } else { alike.max(seen) }
                };
                // `literary` does not name the class of literary genres. And `tracks` are tracks where there are such, and
                // no playlist tracks.
                let longer = partly && self.whole.get(at) == Some(&true);
                let most = if part || longer { MODIFIER } else { CLASS };
                names.iter().map(of).fold(0.0, f32::max).min(most)
            })
            .collect();
        // `high schoolers` are of the class `highschooler`.
        for (at, pair) in self.asked.words.windows(2).enumerate() {
            if names.contains(&stem(&format!("{}{}", pair[0].word, pair[1].word))) {
                words[at..at + 2].fill(CLASS);
            }
        }
        for (p, word) in words.iter_mut().zip(&self.asked.words) {
            if *p > 0.0 && links_what_is_called(self.session, class, &word.stem) {
                *p = 0.0;
            }
        }
        let words: Arc<[f32]> = words.into();
        self.classes.insert(class, Arc::clone(&words));
        words
    }
}
