//! Questions for a row per group: `how many teachers are there in each town`.

use kg::value::Op;

use super::Verbalizer;
use crate::synth::plan::{RowGroups, Set};
use crate::synth::words::plural;

/// The words of a group.
struct GroupWords {
    /// What the group is of: `town`, `teacher`.
    one: String,
    many: String,
    /// What its row shows of it, if that is not the same: `name`.
    shown: Option<String>,
}

impl GroupWords {
    /// `towns`, `names of teachers`.
    fn rows(&self) -> String {
        match &self.shown {
            Some(shown) => format!("{} of {}", plural(shown), self.many),
            None => self.many.clone(),
        }
    }

    /// `town`, `name of the teacher`.
    fn row(&self) -> String {
        match &self.shown {
            Some(shown) => format!("{shown} of the {}", self.one),
            None => self.one.clone(),
        }
    }
}

impl Verbalizer<'_, '_> {
    /// One row per group of members.
    pub(super) fn groups(&mut self, of: &Set, groups: &RowGroups) -> String {
        let words = self.group_words(of, groups);
        let phrase = self.noun_phrase(of);
        let joined = match (of, groups.keys[0].via.first()) {
            (Set::Class(class), Some(&link)) => self.joined_noun(*class, link),
            _ => None,
        };
        let members = match joined {
            Some(noun) => plural(&noun),
            None => self.text(&phrase, true, false),
        };
        match (groups.size, groups.order) {
            (Some((op, size)), _) => {
                let size = self.group_size(op, size);
                self.sized_groups(&words, &members, &size, groups.shown)
            }
            (None, Some((max, Some(first)))) => {
                self.largest_groups(&words, &members, (max, first), groups.shown)
            }
            (None, order) => {
                let suffix = match order {
                    None => String::new(),
                    Some((max, _)) => {
                        let way = if max { "descending" } else { "ascending" };
                        match self.rng.below(3) {
                            0 => format!(" in {way} order of the number"),
                            1 => format!(" sorted by the number in {way} order"),
                            _ => format!(" ordered by the count {way}"),
                        }
                    }
                };
                match groups.measure {
                    None => self.counted_groups(&words, &members, &suffix),
                    Some((aggregate, relation)) => {
                        let word = self.aggregate_word(aggregate);
                        let n = self.noun_of(relation);
                        self.summed_groups(&words, &members, &format!("{word} {n}"), &suffix)
                    }
                }
            }
        }
    }

    fn group_words(&mut self, of: &Set, groups: &RowGroups) -> GroupWords {
        let first = &groups.keys[0];
        let join = first.via.last().filter(|_| first.relation.is_some());
        let Some(&join) = join else {
            let one = self.value_name(of, first);
            return GroupWords {
                many: plural(&one),
                one,
                shown: None,
            };
        };
        let one = self.tails_noun(join);
        let attributes = groups.keys.iter().filter_map(|key| key.relation);
        let attributes: Vec<usize> = attributes.collect();
        let names = attributes.iter().map(|&r| self.noun_of(r)).collect();
        // "Of each teacher" says that the row shows the name.
        let named = groups.keys.len() == 1 && self.rng.chance(0.3);
        GroupWords {
            many: plural(&one),
            shown: (!named).then(|| self.listed_names(names)),
            one,
        }
    }

    /// `how many teachers are there in each town`.
    fn counted_groups(&mut self, words: &GroupWords, members: &str, suffix: &str) -> String {
        let GroupWords { one, many, shown } = words;
        let each = self.word("each|each|every|each");
        let joint = self.word("in|for|from|of|for");
        let count = self.word("number|number|number|total number|count");
        let Some(shown) = shown else {
            return match self.rng.below(11) {
                0 => format!("for {each} {one}, how many {members} are there{suffix}"),
                1 | 2 => format!("how many {members} are there {joint} {each} {one}{suffix}"),
                3 => format!("how many {members} does {each} {one} have{suffix}"),
                4 => {
                    let different = self.word("|different |all |the |all the ");
                    let text = format!(
                        "{different}{many} and the {count} of {members} {joint} each{suffix}"
                    );
                    self.requested(&text, true, "")
                }
                5 => {
                    let text =
                        format!("{many} and the {count} of {members} {joint} {each} {one}{suffix}");
                    self.requested(&text, true, "the ")
                }
                6 => {
                    let text = format!("{many} and how many {members} are {joint} each{suffix}");
                    self.requested(&text, true, "the ")
                }
                7 => {
                    let per = self.word("per|by|for each|grouped by");
                    self.requested(
                        &format!("{count} of {members} {per} {one}{suffix}"),
                        false,
                        "the ",
                    )
                }
                8 => {
                    let ask = self.word("list|show|return|give|find");
                    format!("{ask} {each} {one} and its {count} of {members}{suffix}")
                }
                9 => format!("for {each} {one}, what is the {count} of {members}{suffix}"),
                _ => self.requested(
                    &format!("{count} of {members} {joint} {each} {one}{suffix}"),
                    false,
                    "the ",
                ),
            };
        };
        let shown_many = plural(shown);
        match self.rng.below(9) {
            0 => {
                let ask = self.word("list|show|give|return");
                format!("for {each} {one}, {ask} its {shown} and the {count} of {members}{suffix}")
            }
            1 => {
                let they = self.word("they have|they have|for each|of each|in each");
                let text =
                    format!("{shown_many} of {many} and the {count} of {members} {they}{suffix}");
                self.requested(&text, true, "the ")
            }
            2 => {
                let text = format!("{shown} of {each} {one} and how many {members} it has{suffix}");
                self.requested(&text, false, "the ")
            }
            3 => {
                let text = format!(
                    "{shown_many} of the {many} and how many {members} do they have{suffix}"
                );
                self.requested(&text, true, "the ")
            }
            4 => {
                let ask = self.word("list|show|give|return");
                format!(
                    "how many {members} does {each} {one} have, {ask} the {shown} and the {count}{suffix}"
                )
            }
            5 => {
                let text = format!("{one} {shown} and the {count} of {members}{suffix}");
                self.requested(&text, true, "the ")
            }
            6 => format!(
                "what is the {shown} of {each} {one} and how many {members} are there in each{suffix}"
            ),
            7 => {
                let text =
                    format!("{shown} of {each} {one} along with the {count} of {members}{suffix}");
                self.requested(&text, true, "the ")
            }
            _ => format!(
                "how many {members} are there {joint} {each} {one}, with its {shown}{suffix}"
            ),
        }
    }

    /// `the average age of teachers in each town`.
    fn summed_groups(
        &mut self,
        words: &GroupWords,
        members: &str,
        what: &str,
        suffix: &str,
    ) -> String {
        let (row, rows) = (words.row(), words.rows());
        let each = self.word("each|each|every");
        let joint = self.word("for|in|of|per|by|with");
        let each_row = match joint.as_str() {
            "per" | "by" => row.clone(),
            _ => format!("{each} {row}"),
        };
        match self.rng.below(7) {
            0 => format!("for {each} {row}, what is the {what} of {members}{suffix}"),
            1 => {
                let text = format!("{rows} and the {what} of {members} in each{suffix}");
                self.requested(&text, true, "the ")
            }
            2 => {
                let text = format!("{rows} and the {what} of their {members}{suffix}");
                self.requested(&text, true, "the ")
            }
            3 => {
                let text = format!("{what} {joint} {each_row}{suffix}");
                self.requested(&text, false, "the ")
            }
            _ => {
                let text = format!("{what} of {members} {joint} {each_row}{suffix}");
                self.requested(&text, false, "the ")
            }
        }
    }

    /// `which town has the most teachers`.
    fn largest_groups(
        &mut self,
        words: &GroupWords,
        members: &str,
        (max, first): (bool, usize),
        shown: bool,
    ) -> String {
        let most = if max {
            self.word("most|most|largest number of|highest number of|greatest number of|maximum number of")
        } else {
            self.word("fewest|least|smallest number of|lowest number of|least number of")
        };
        let common = if max { "most common" } else { "least common" };
        let (row, one) = if first == 1 {
            (words.row(), words.one.clone())
        } else {
            let size = self.small(first);
            (words.rows(), format!("{size} {}", words.many))
        };
        let row = match &words.shown {
            Some(shown) if first > 1 => format!("{} of the {one}", plural(shown)),
            Some(_) => row,
            None => one.clone(),
        };
        let many = first > 1;
        let has = if many { "have" } else { "has" };
        let text = match self.rng.below(8) {
            0 | 1 if words.shown.is_none() => {
                let which = self.word("which|which|what");
                format!("{which} {one} {has} the {most} {members}")
            }
            2 if words.shown.is_none() => {
                let joint = self.word("of|of all|among|for");
                self.requested(&format!("{common} {one} {joint} {members}"), many, "the ")
            }
            3 if words.shown.is_none() => {
                let verb = self.word("shared by|used by|of|with");
                self.requested(&format!("{one} {verb} the {most} {members}"), many, "the ")
            }
            4 => {
                let that = self.word("that has|which has|having|that have");
                self.requested(&format!("{row} {that} the {most} {members}"), many, "the ")
            }
            _ => self.requested(&format!("{row} with the {most} {members}"), many, "the "),
        };
        if !shown {
            return text;
        }
        let also =
            self.word(" and how many are there| and the number| and how many| and its number");
        if also.ends_with("number") {
            format!("{text}{also} of {members}")
        } else {
            format!("{text}{also}")
        }
    }

    /// `at least 3`.
    fn group_size(&mut self, op: Op, size: usize) -> String {
        let size = self.small(size);
        match op {
            Op::Ge => match self.rng.below(3) {
                0 => format!("{size} or more"),
                _ => format!("at least {size}"),
            },
            Op::Gt => {
                let than = self.word("more than|more than|over");
                format!("{than} {size}")
            }
            _ => {
                let than = self.word("fewer than|less than");
                format!("{than} {size}")
            }
        }
    }

    /// `which towns have at least 3 teachers`.
    fn sized_groups(
        &mut self,
        words: &GroupWords,
        members: &str,
        size: &str,
        shown: bool,
    ) -> String {
        let rows = words.rows();
        let text = match self.rng.below(6) {
            0 | 1 if words.shown.is_none() => {
                let which = self.word("which|which|what");
                format!("{which} {rows} have {size} {members}")
            }
            2 if words.shown.is_none() => {
                let verb = self.word("shared by|used by|of");
                self.requested(&format!("{rows} {verb} {size} {members}"), true, "the ")
            }
            3 => self.requested(&format!("{rows} with {size} {members}"), true, "the "),
            _ => {
                let that = self.word("that have|having|that have|which have|who have");
                self.requested(&format!("{rows} {that} {size} {members}"), true, "the ")
            }
        };
        if !shown {
            return text;
        }
        let also = self.word("and how many|and the number of them|and their number");
        format!("{text} {also}")
    }
}
