//! Questions for rows side by side, in order, the first of them, and numbers over all members.

use kg::term::NodeId;
use toolbox::call::Aggregate;

use super::Verbalizer;
use crate::synth::plan::{RowOrder, RowValue, Set, TableRows};
use crate::synth::tail::TailType;
use crate::synth::words::plural;

/// How numbers of rows are written in words.
const NUMBERS: [&str; 6] = ["zero", "one", "two", "three", "four", "five"];

impl Verbalizer<'_, '_> {
    /// A question for rows about the members of a set.
    pub(super) fn table(&mut self, of: &Set, rows: &TableRows) -> String {
        match rows {
            TableRows::Listed { values, order } => match order {
                None => self.rows(of, values, ""),
                Some(by) if by.first.is_some() => self.first_rows(of, values, by),
                Some(by) => {
                    let order = self.order(by);
                    self.rows(of, values, &order)
                }
            },
            TableRows::Grouped(groups) => self.groups(of, groups),
            TableRows::Summed(summaries) => self.summed(of, summaries),
            TableRows::Beyond {
                values,
                relation,
                max,
            } => {
                let members = self.text_of_many(of);
                let n = self.noun_of(*relation);
                let beyond = self.beyond(*relation, *max);
                let suffix = match self.rng.below(5) {
                    0 => format!("whose {n} is {beyond}"),
                    1 => format!("with {n} {beyond}"),
                    2 => format!("that have a {n} {beyond}"),
                    3 => format!("with a {n} {beyond}"),
                    _ => format!("with {beyond} {n}"),
                };
                let suffix = suffix.replace("with than", "with").replace("  ", " ");
                self.values_of(of, values, &format!("{members} {suffix}"))
            }
            TableRows::Lacking {
                values,
                relation,
                class,
            } => {
                let joined = self.joined_noun(*class, *relation);
                let other = joined.unwrap_or_else(|| self.class_noun(*class));
                self.lacking(of, values, &other)
            }
        }
    }

    /// `above the average`, `higher than average`.
    fn beyond(&mut self, relation: usize, max: bool) -> String {
        let wording = &self.profile.relations[relation].wording;
        let adjectives = if max { &wording.more } else { &wording.less };
        let ends = adjectives.iter().find(|word| word.ends_with(" than"));
        let mean = match ends.cloned() {
            Some(adjective) if self.rng.chance(0.2) => adjective,
            _ if max => self.word("above|higher than|greater than|larger than|more than|over"),
            _ => self.word("below|lower than|smaller than|less than|under"),
        };
        let average = self.word("the average|average|the mean|the average of all");
        format!("{mean} {average}")
    }

    /// What a row shows of a member.
    pub(super) fn value_name(&mut self, of: &Set, value: &RowValue) -> String {
        match (value.via.last(), value.relation) {
            (None, Some(relation)) => self.noun_of(relation),
            (Some(&join), Some(relation)) => {
                let thing = self.tails_noun(join);
                let noun = self.noun_of(relation);
                match self.rng.below(6) {
                    0 | 1 => thing,
                    2 => format!("{noun} of the {thing}"),
                    3 => noun,
                    _ if noun.starts_with(&thing) => noun,
                    _ => format!("{thing} {noun}"),
                }
            }
            (Some(&join), None) => self.tails_noun(join),
            (None, None) => {
                let noun = self.noun_phrase(of).noun;
                if self.rng.chance(0.5) {
                    "name".to_owned()
                } else {
                    noun
                }
            }
        }
    }

    /// A noun for rows that only join things, without a name of their own: what else they join. The
    /// courses of a teacher are rows of a table of lessons.
    pub(super) fn joined_noun(&mut self, class: usize, but: usize) -> Option<String> {
        let profile = self.profile;
        let labelled = |&node: &NodeId| profile.is_labelled(node);
        let known = &profile.classes[class];
        if known.key.is_some() || known.sample.first().is_some_and(labelled) {
            return None;
        }
        let links = profile.relations.iter().enumerate();
        let mut links = links.filter(|(i, one)| {
            *i != but && one.heads == Some(class) && one.tail == TailType::Thing
        });
        let (link, _) = links.next()?;
        (links.next().is_none() && self.rng.chance(0.75)).then(|| self.tails_noun(link))
    }

    /// `name, age and country`.
    fn value_names(&mut self, of: &Set, values: &[RowValue], many: bool) -> String {
        let mut names: Vec<String> = Vec::new();
        for value in values {
            let name = self.value_name(of, value);
            names.push(if many { plural(&name) } else { name });
        }
        self.listed_names(names)
    }

    /// `a, b and c`, in some cases with another joint.
    pub(super) fn listed_names(&mut self, mut names: Vec<String>) -> String {
        let last = names.pop().unwrap_or_default();
        if names.is_empty() {
            return last;
        }
        let and = self.word("and|and|and|as well as|and the|along with the|and also the");
        let and = if names.len() > 1 && and != "and the" {
            "and".to_owned()
        } else {
            and
        };
        format!("{} {and} {last}", names.join(", "))
    }

    /// A question for values of members that a text describes.
    fn values_of(&mut self, of: &Set, values: &[RowValue], members: &str) -> String {
        let many = self.rng.chance(0.6);
        let names = self.value_names(of, values, many);
        let text = format!("{names} of {members}");
        self.requested(&text, many || values.len() > 1, "the ")
    }

    /// Values of all members side by side, with the order that `suffix` says.
    fn rows(&mut self, of: &Set, values: &[RowValue], suffix: &str) -> String {
        let each = matches!(of, Set::Class(_)) && self.rng.chance(0.4);
        let suffix = match suffix {
            "" => String::new(),
            suffix => format!(" {suffix}"),
        };
        if each {
            let noun = self.noun_phrase(of).noun;
            let many = self.rng.chance(0.3);
            let names = self.value_names(of, values, many);
            let each = self.word("each|every|each of the");
            let member = if each == "each of the" {
                plural(&noun)
            } else {
                noun
            };
            return match self.rng.below(5) {
                0 if suffix.is_empty() => {
                    let ask = self.word("list|show|give|what are|what is|return|find");
                    format!("for {each} {member}, {ask} its {names}")
                }
                1 => self.requested(
                    &format!("{names} for {each} {member}{suffix}"),
                    many,
                    "the ",
                ),
                _ => self.requested(&format!("{names} of {each} {member}{suffix}"), many, "the "),
            };
        }
        let phrase = self.noun_phrase(of);
        let members = self.text(&phrase, true, false);
        let all = self.word("||all |the |all the ");
        let many = self.rng.chance(0.7);
        // "The names of the teachers and the courses": what rows join says what they are.
        if let (Set::Class(_), [one, other]) = (of, values)
            && !one.via.is_empty()
            && !other.via.is_empty()
            && self.rng.chance(0.7)
        {
            let (one, other) = (self.value_name(of, one), self.value_name(of, other));
            let they = self.word("|| they have| of each| they belong to| for each");
            let text = format!("{} and the {}{they}{suffix}", plural(&one), plural(&other));
            return self.requested(&text, true, "the ");
        }
        // "The names of teachers and the courses they teach".
        if let [first, rest @ ..] = values
            && !rest.is_empty()
            && self.rng.chance(0.35)
        {
            let first = plural(&self.value_name(of, first));
            let rest = self.value_names(of, rest, many);
            let joint =
                self.word("and their|with their|and the|together with their|along with their");
            let they = if joint == "and the" {
                self.word(" they have| they are in| they belong to|")
            } else {
                String::new()
            };
            let text = format!("{first} of {all}{members} {joint} {rest}{they}{suffix}");
            return self.requested(&text, true, "the ");
        }
        let names = self.value_names(of, values, many);
        match self.rng.below(8) {
            0 => self.requested(&format!("{names} for {all}{members}{suffix}"), many, "the "),
            1 if values.len() > 1 && phrase.after.is_empty() => {
                let ask = self.word("list|show|give|return");
                format!("{ask} {all}{members} with their {names}{suffix}")
            }
            2 if phrase.after.is_empty() => {
                self.requested(&format!("{} {names}{suffix}", phrase.noun), many, "the ")
            }
            _ => self.requested(&format!("{names} of {all}{members}{suffix}"), many, "the "),
        }
    }

    /// `in descending order of age`, `from the oldest to the youngest`.
    fn order(&mut self, by: &RowOrder) -> String {
        let n = self.noun_of(by.relation);
        let relation = self.relation(by.relation);
        let tail = relation.tail;
        let (most, least) = (
            relation.wording.most.clone(),
            relation.wording.least.clone(),
        );
        let way = match (by.max, tail) {
            (true, TailType::Text) => "descending|reverse alphabetical|decreasing",
            (false, TailType::Text) => "alphabetical|ascending|alphabetical|lexicographical",
            (true, _) => "descending|decreasing|descending",
            (false, _) => "ascending|increasing|ascending",
        };
        let way = self.word(way);
        if let (Some(most), Some(least)) = (most.first(), least.first())
            && self.rng.chance(0.2)
        {
            let (from, to) = if by.max { (most, least) } else { (least, most) };
            return match self.rng.below(3) {
                0 => format!("from {from} to {to}"),
                1 => format!("from the {from} to the {to}"),
                _ => format!("sorted from {from} to {to}"),
            };
        }
        if !by.max && self.rng.chance(0.25) {
            let sorted =
                self.word("sorted by|ordered by|in order of|ordered by their|sorted by their");
            return format!("{sorted} {n}");
        }
        match self.rng.below(8) {
            0 => format!("ordered by {n} in {way} order"),
            1 => format!("sorted by {n} in {way} order"),
            2 => format!("sorted in {way} order of {n}"),
            3 => format!("ordered by {way} {n}"),
            4 => format!("in {way} order by {n}"),
            5 => format!("in {way} order of the {n}"),
            6 => format!("sorted by {way} {n}"),
            _ => format!("in {way} order of {n}"),
        }
    }

    /// Values of the members that come first.
    fn first_rows(&mut self, of: &Set, values: &[RowValue], by: &RowOrder) -> String {
        let first = by.first.unwrap_or(1);
        let mut phrase = self.noun_phrase(of);
        self.superlative(&mut phrase, by.relation, by.max);
        if first == 1 {
            let members = self.text(&phrase, false, true);
            let names = self.value_names(of, values, false);
            return match self.rng.below(4) {
                0 => self.requested(&format!("{names} for {members}"), false, "the "),
                1 => format!("for {members}, what are the {names}"),
                _ => self.requested(&format!("{names} of {members}"), values.len() > 1, "the "),
            };
        }
        let size = self.small(first);
        let top = if by.max {
            self.word("|top |")
        } else {
            String::new()
        };
        phrase.before = format!("{top}{size} {}", phrase.before).trim().to_owned();
        let members = self.text(&phrase, true, true);
        let many = self.rng.chance(0.75);
        let names = self.value_names(of, values, many);
        match self.rng.below(4) {
            0 if self.names_member(of, values) => self.requested(&members, true, ""),
            1 => self.requested(&format!("{names} for {members}"), many, "the "),
            _ => self.requested(&format!("{names} of {members}"), many, "the "),
        }
    }

    /// Whether rows show nothing but the name of the member.
    fn names_member(&self, of: &Set, values: &[RowValue]) -> bool {
        let key = match of {
            Set::Class(class) => self.profile.classes[*class].key,
            _ => None,
        };
        matches!(values, [only] if only.via.is_empty() && only.relation == key)
    }

    /// `average`, `highest`.
    pub(super) fn aggregate_word(&mut self, aggregate: Aggregate) -> String {
        match aggregate {
            Aggregate::Average => self.word("average|average|average|mean"),
            Aggregate::Sum => self.word("total|sum of|total|total amount of"),
            Aggregate::Max => self.word("maximum|highest|largest|maximum|greatest"),
            Aggregate::Min => self.word("minimum|lowest|smallest|minimum"),
            Aggregate::Distinct => self.word("number of different|number of distinct"),
        }
    }

    /// Numbers over all members: `the average and maximum age of all teachers`.
    fn summed(&mut self, of: &Set, summaries: &[(Aggregate, usize)]) -> String {
        let same = summaries.iter().all(|one| one.1 == summaries[0].1);
        let mut names = Vec::new();
        for (aggregate, relation) in summaries {
            let word = self.aggregate_word(*aggregate);
            names.push(if same {
                word
            } else {
                format!("{word} {}", self.noun_of(*relation))
            });
        }
        let last = names.pop().unwrap_or_default();
        let mut what = if names.is_empty() {
            last
        } else {
            format!("{} and {last}", names.join(", "))
        };
        if same {
            let n = self.noun_of(summaries[0].1);
            what = format!("{what} {n}");
        }
        let phrase = self.noun_phrase(of);
        let members = self.text(&phrase, true, false);
        let joint = self.word("of|of all|for|for all|of|across all|among");
        match self.rng.below(6) {
            0 => format!("for {members}, what is the {what}"),
            1 if phrase.after.is_empty() && summaries.len() == 1 => {
                let (before, n) = what.rsplit_once(' ').unwrap_or(("average", &what));
                format!("what is the {before} {} {n}", phrase.noun)
            }
            _ => self.requested(
                &format!("{what} {joint} {members}"),
                summaries.len() > 1,
                "the ",
            ),
        }
    }

    /// Members without others: `teachers without courses`.
    fn lacking(&mut self, of: &Set, values: &[RowValue], other: &str) -> String {
        let others = plural(other);
        let members = self.text_of_many(of);
        let no = match self.rng.below(9) {
            0 => format!("without {others}"),
            1 => format!("without any {other}"),
            2 => format!("that do not have any {other}"),
            3 => format!("with no {others}"),
            4 => format!("that have no {others}"),
            5 => format!("who have no {other}"),
            6 => format!("for which there is no {other}"),
            7 => format!("that are not in any {other}"),
            _ => format!("that do not have {others}"),
        };
        if !values.is_empty() {
            return self.values_of(of, values, &format!("{members} {no}"));
        }
        let bare = members.trim_start_matches("the ").to_owned();
        match self.rng.below(4) {
            0 => format!("what is the number of {bare} {no}"),
            1 => format!("count the {bare} {no}"),
            2 => format!("how many {bare} are there {no}"),
            _ => format!(
                "how many {bare} {}",
                no.trim_start_matches("that ").trim_start_matches("who ")
            ),
        }
    }

    /// A number of rows or members in digits or in words.
    pub(super) fn small(&mut self, number: usize) -> String {
        match NUMBERS.get(number) {
            Some(word) if self.rng.chance(0.5) => (*word).to_owned(),
            _ => number.to_string(),
        }
    }
}
