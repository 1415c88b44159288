//! What the question says of relations whose values are truths: `is_full_time`, `has_cafe`. English.

use kg::term::NodeId;
use kg::words;

use super::asked_word::AskedWord;
use super::naming::class_words;
use super::vocabulary::{is_opposite, split};
use super::words::Explainer;
use crate::exec::Relation;
use crate::rank::stem;

/// Words in names of such relations that say nothing of their own.
const HELPING: &str = "has have is are was can do does offers provides allows accepts works work uses use allowed permitted \
    available accepted included possible flag flg ind yn";

impl Explainer<'_, '_> {
    /// Whether the question has a word for what a relation says of a thing, without the words for what
    /// the thing is: `stops` are not `request stops`. If it is a flag, a word that is only like one of its
    /// name must be like the last: captains are not pilot-exempt.
    pub(super) fn speaks_of(&self, relation: Relation, thing: NodeId, flag: bool) -> bool {
        const SPOKEN_OF: f32 = 0.2;
        const LITERALLY: f32 = 0.45;
        let kg = self.session.kg();
        let classes: Vec<String> = (kg.types(thing).into_iter())
            .flat_map(|class| class_words(kg, class))
            .collect();
        let helping: Vec<String> = HELPING.split(' ').map(stem).collect();
        let (own, _) = self.relation_words(relation);
        let telling: Vec<&String> = own
            .iter()
            .filter(|name| !classes.contains(name) && !helping.contains(name))
            .collect();
        let name = self.session.relation_name(relation);
        let said_in_name = words(split(&name).0);
        let last = said_in_name.iter().rev().map(|word| stem(word));
        let last = (last.into_iter()).find(|word| own.contains(word) && !helping.contains(word));
        let part_time = self.says_part_time(&own);
        let said = |name: &String| {
            let part = flag && last.as_ref().is_some_and(|last| last != name);
            let least = if part { LITERALLY } else { SPOKEN_OF };
            let of = |(word, noun): (&AskedWord, &bool)| {
                // Policies are no police.
                let thing = word.is_mark() || classes.contains(&word.stem) || part && *noun;
                // `full names` says nothing of `full time`.
                let thing = thing || flag && self.stands_before_name(word);
                // A hire date is not full-time.
                let thing = thing || flag && name == "time" && word.stem != *name;
                !thing && self.given(word, name) >= least
            };
            part_time && name == "full" || self.asked.words.iter().zip(&self.nouns).any(of)
        };
        telling.iter().any(|name| said(name))
    }

    /// Whether a word of the question stands before `name`.
    fn stands_before_name(&self, word: &AskedWord) -> bool {
        let question = self.session.plain_question();
        let behind = question.get(word.at + word.word.len()..);
        let next = behind.and_then(|behind| words(behind).into_iter().next());
        next.is_some_and(|next| matches!(next.as_str(), "name" | "names"))
    }

    /// Whether the question says `part-time`, and these are words for `full-time`.
    fn says_part_time(&self, own: &[String]) -> bool {
        let all = words(self.session.plain_question());
        let part = all
            .windows(2)
            .any(|pair| pair[0] == "part" && pair[1] == "time");
        part && ["full", "time"]
            .iter()
            .all(|word| own.contains(&stem(word)))
    }

    /// Whether the question says the opposite of a flag: `unpaid`, `no longer active`, `part-time`.
    pub(super) fn denies(&self, relation: Relation) -> bool {
        let (own, _) = self.relation_words(relation);
        let all = words(self.session.plain_question());
        let ended = |three: &[String]| {
            three[0] == "no" && three[1] == "longer" && own.contains(&stem(&three[2]))
        };
        let opposite = |word: &String| {
            !own.contains(&stem(word)) && own.iter().any(|name| is_opposite(word, name))
        };
        all.windows(3).any(ended) || all.iter().any(opposite) || self.says_part_time(&own)
    }
}
