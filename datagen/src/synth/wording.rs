//! The vocabulary for relations and classes, derived from names, labels and the lexicon.

use super::lexicon::{Concept, Lexicon, Verb};
use super::tail::{TailKind, TailType};
use super::words::{is_plural, plural, singular};

/// The wording of a relation. Template variables: `{x}` is a head, `{v}` a tail, `{c}` the heads'
/// class in the plural, `{t}` the tails' class, `{n}` the relation's noun.
#[derive(Clone, Debug, Default)]
pub(super) struct RelationWording {
    /// Nouns for the tail, in the singular.
    pub nouns: Vec<String>,
    /// Questions for the tail of `{x}`.
    pub asks: Vec<String>,
    /// Modifiers of the heads' noun for heads with tail `{v}`.
    pub modifiers: Vec<String>,
    /// Questions for the heads of `{v}`.
    pub backs: Vec<String>,
    /// Nouns for the heads in relation to `{v}`, in the singular.
    pub heads: Vec<String>,
    /// Nouns for the tails' class.
    pub tails: Vec<String>,
    /// Prepositions that express the relation to `{v}`.
    pub prepositions: Vec<String>,
    pub more: Vec<String>,
    pub less: Vec<String>,
    pub most: Vec<String>,
    pub least: Vec<String>,
    pub kind: TailKind,
    /// The values are counts of `nouns` (`number of doors`).
    pub counted: bool,
    /// The relation's name is a plural.
    pub plural: bool,
}

/// Meaningless words at the start of a relation's name.
const LEADING: &str = "ref fk has is the have r rel prop";
/// Words at the end of a foreign key's name.
const KEY_ENDS: &str = "id code key no nr ref";
/// Meaningless words at the end of a class's name.
const FILLERS: &str = "data list info information details detail table records record entry \
    entries set";
/// Units at the end of an attribute's name.
const UNITS: &str = "millions million billions usd eur dollars km km2 m cm kg percent sqkm miles";
const PREPOSITIONS: &str = "in at on from to for into with under near through";
/// Nouns for people.
const PEOPLE: &str = "person people actor artist player author writer director politician \
    singer employee teacher student athlete scientist owner agent human";
/// Nouns for places.
const PLACES: &str = "place city country location region town continent state settlement area";

/// Whether a word is in a space-separated list.
fn listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

/// Nouns for a class, in the singular, best first.
pub(super) fn class_nouns(name: &str, label: Option<&str>, lexicon: &Lexicon) -> Vec<String> {
    let mut nouns: Vec<String> = Vec::new();
    let mut add = |noun: String| {
        if !noun.is_empty() && !nouns.contains(&noun) {
            nouns.push(noun);
        }
    };
    let last = lexicon.segments(name).pop().unwrap_or_default();
    let last = last
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ')
        .to_owned();
    if let Some(label) = label {
        add(singular(&label.to_lowercase()));
    }
    let mut words: Vec<&str> = last.split(' ').collect();
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| listed(FILLERS, word) || listed(KEY_ENDS, word))
    {
        words.pop();
        add(singular(&words.join(" ")));
    }
    add(singular(&last));
    let mut more = Vec::new();
    for noun in &nouns {
        more.extend(lexicon.synonyms(noun).iter().cloned());
        // For "car maker": "car" with synonyms of "maker", and "maker".
        if let Some((before, head)) = noun.rsplit_once(' ') {
            more.extend(
                lexicon
                    .synonyms(head)
                    .iter()
                    .map(|other| format!("{before} {other}")),
            );
            more.push(head.to_owned());
        }
    }
    for noun in more {
        if !nouns.contains(&noun) {
            nouns.push(noun);
        }
    }
    nouns
}

impl RelationWording {
    /// Derives the wording of a relation.
    pub(super) fn new(
        name: &str,
        label: Option<&str>,
        tail: TailType,
        heads: &[String],
        tails: &[String],
        lexicon: &Lexicon,
    ) -> Self {
        let parts = lexicon.segments(name);
        let mut wording = Self {
            kind: kind_of(tail, tails),
            tails: tails.to_vec(),
            ..Self::default()
        };
        let last = parts.last().cloned().unwrap_or_default();
        // Nobody calls `has part` by its number, `BFO_0000051`.
        let is_number = label.is_some() && kg::readable_name(name).is_none();
        let bases: Vec<String> = label
            .map(str::to_lowercase)
            .into_iter()
            .chain((!is_number).then_some(last))
            .collect();
        for base in &bases {
            wording.base(base, tail, tails, lexicon);
        }
        // `award_nominee.award_nominations..award_nomination.award`: the first half matters too.
        if name.contains("..") && parts.len() >= 4 {
            let first = &parts[parts.len() / 2 - 1];
            let last = parts.last().cloned().unwrap_or_default();
            if *first != last {
                wording.add_noun(format!("{} {}", singular(first), singular(&last)));
            }
        }
        if parts.len() >= 3 && heads.is_empty() {
            // `film.film.directed_by`: the middle segment is the class of the heads.
            wording.heads.push(singular(&parts[parts.len() - 2]));
        }
        if wording.nouns.is_empty() {
            let base = bases.iter().find(|base| !base.ends_with(" of"));
            let noun = base.map_or("thing", String::as_str).to_owned();
            wording.nouns.push(noun);
        }
        wording.nouns.dedup();
        wording
    }

    fn add_noun(&mut self, noun: String) {
        if !noun.is_empty() && !self.nouns.contains(&noun) {
            self.nouns.push(noun);
        }
    }

    fn base(&mut self, text: &str, tail: TailType, tails: &[String], lexicon: &Lexicon) {
        let mut words: Vec<&str> = text.split(' ').collect();
        let key = words
            .first()
            .is_some_and(|word| ["ref", "fk"].contains(word));
        while words.len() > 1 && listed(LEADING, words[0]) {
            words.remove(0);
        }
        // `sibling_s`: a separate plural suffix.
        if words.len() > 1 && words.last() == Some(&"s") {
            words.pop();
            self.plural = true;
        }
        if key && words.len() > 1 && words.last().is_some_and(|word| listed(KEY_ENDS, word)) {
            words.pop();
        }
        let base = words.join(" ");
        if base.is_empty() {
            return;
        }
        self.plural |=
            is_plural(&base) && tail == TailType::Thing && !base.ends_with("headquarters");
        let rest = &words[..words.len() - 1];
        let end = words[words.len() - 1];
        let concept = lexicon
            .concept(&base)
            .map(|(concept, whole)| (concept.clone(), whole));
        if end == "by" && !rest.is_empty() {
            self.by(rest[rest.len() - 1], lexicon);
            self.add_noun(base.clone());
        } else if end == "of" && !rest.is_empty() {
            let before = rest.join(" ");
            let many = plural(&before);
            self.modifiers.push(format!("that are {many} of {{v}}"));
            self.modifiers.push(format!("which are {many} of {{v}}"));
            self.asks.extend([
                format!("what is {{x}} the {before} of"),
                format!("what is {{x}} {before} of"),
                format!("of what is {{x}} {before}"),
            ]);
            self.heads.push(before);
            // The noun is that of the head; `the predecessor of {x}` would be the other way round.
            self.add_nouns(tails.iter().take(2));
        } else if listed(PREPOSITIONS, end) && !rest.is_empty() {
            let verb = rest.join(" ");
            self.modifiers.extend([
                format!("{verb} {end} {{v}}"),
                format!("that are {verb} {end} {{v}}"),
            ]);
            self.asks.extend([
                format!("what is {{x}} {verb} {end}"),
                format!("which {{t}} is {{x}} {verb} {end}"),
                format!("{end} which {{t}} is {{x}} {verb}"),
            ]);
            self.add_nouns(tails.iter().take(2));
            self.add_noun(base.clone());
        } else if let Some(verb) = lexicon
            .verb(&base)
            .filter(|_| concept.is_none() && tail == TailType::Thing)
        {
            self.verb(verb);
            self.add_nouns(tails.iter().take(2));
            self.add_noun(base.clone());
        } else {
            self.noun(&base, lexicon);
        }
        if key {
            self.add_nouns(tails.iter().take(3));
        }
        if let Some((concept, whole)) = concept {
            self.concept(concept, whole, tail);
        }
    }

    /// Adds the templates of a verb.
    fn verb(&mut self, verb: &Verb) {
        self.modifiers.extend([
            format!("that {} {{v}}", verb.base),
            format!("who {} {{v}}", verb.past),
            format!("that {} {{v}}", verb.third),
        ]);
        self.asks.extend([
            format!("what does {{x}} {}", verb.base),
            format!("which {{t}} does {{x}} {}", verb.base),
            format!("what did {{x}} {}", verb.base),
            format!("what is {} by {{x}}", verb.participle),
            format!("which {{t}} did {{x}} {}", verb.base),
        ]);
        self.backs.extend([
            format!("who {} {{v}}", verb.past),
            format!("which {{c}} {} {{v}}", verb.base),
            format!("what {} {{v}}", verb.third),
        ]);
    }

    /// Adds the entry of the lexicon; only its comparisons if it matches only the end of the name.
    fn concept(&mut self, concept: Concept, whole: bool, tail: TailType) {
        if whole {
            self.add_nouns(&concept.is);
            self.asks.extend(concept.ask);
            self.modifiers.extend(concept.modifiers);
            self.backs.extend(concept.back);
            self.prepositions.extend(concept.prepositions);
        }
        // The end of a name determines comparisons ("net worth" in "total net worth") and the kind.
        self.more.extend(concept.more);
        self.less.extend(concept.less);
        self.most.extend(concept.most);
        self.least.extend(concept.least);
        if self.kind == TailKind::Thing && tail == TailType::Thing {
            self.kind = concept.kind;
        }
    }

    fn add_nouns<'n>(&mut self, nouns: impl IntoIterator<Item = &'n String>) {
        for noun in nouns {
            self.add_noun(noun.clone());
        }
    }

    /// Adds the nouns of a name that is a noun phrase.
    fn noun(&mut self, base: &str, lexicon: &Lexicon) {
        let mut words: Vec<&str> = base.split(' ').collect();
        for prefix in ["number of ", "num of ", "no of ", "num "] {
            if let Some(counted) = base.strip_prefix(prefix) {
                self.counted = true;
                self.add_noun(singular(counted));
                self.add_noun(base.to_owned());
                return;
            }
        }
        if words.len() > 1 && ["count", "total"].contains(&words[words.len() - 1]) {
            self.add_noun(words[..words.len() - 1].join(" "));
        }
        while words.len() > 1 && listed(UNITS, words[words.len() - 1]) {
            words.pop();
            self.add_noun(words.join(" "));
        }
        let base = if self.plural {
            singular(base)
        } else {
            base.to_owned()
        };
        self.add_noun(base.clone());
        if let Some(verb) = lexicon.verb_of_agent(base.split(' ').next_back().unwrap_or_default()) {
            self.done_by(verb);
        }
    }

    /// Adds the templates of `directed by`.
    fn by(&mut self, participle: &str, lexicon: &Lexicon) {
        match lexicon.verb(participle) {
            Some(verb) => self.done_by(verb),
            None => {
                self.modifiers.extend([
                    format!("{participle} by {{v}}"),
                    format!("that were {participle} by {{v}}"),
                ]);
                self.asks.extend([
                    format!("who {participle} {{x}}"),
                    format!("by whom was {{x}} {participle}"),
                    format!("what was {{x}} {participle} by"),
                ]);
            }
        }
    }

    fn done_by(&mut self, verb: &Verb) {
        let Verb {
            base,
            third,
            past,
            participle,
            agents,
        } = verb;
        self.add_nouns(agents);
        self.asks.extend([
            format!("who {past} {{x}}"),
            format!("by whom was {{x}} {participle}"),
            format!("who was {{x}} {participle} by"),
            format!("{{x}} was {participle} by whom"),
            format!("which {{t}} {past} {{x}}"),
            format!("who {third} {{x}}"),
        ]);
        self.modifiers.extend([
            format!("{participle} by {{v}}"),
            format!("that {{v}} {past}"),
            format!("that were {participle} by {{v}}"),
            "by {v}".to_owned(),
        ]);
        self.backs.extend([
            format!("what did {{v}} {base}"),
            format!("which {{c}} did {{v}} {base}"),
            format!("which {{c}} were {participle} by {{v}}"),
            format!("what was {participle} by {{v}}"),
        ]);
    }
}

fn kind_of(tail: TailType, tails: &[String]) -> TailKind {
    match tail {
        TailType::Number => TailKind::Number,
        TailType::Time => TailKind::Time,
        TailType::Text => TailKind::Thing,
        TailType::Thing => {
            let has = |words: &str| tails.iter().any(|noun| listed(words, noun));
            if has(PEOPLE) {
                TailKind::Person
            } else if has(PLACES) {
                TailKind::Place
            } else {
                TailKind::Thing
            }
        }
    }
}
