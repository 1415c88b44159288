//! What people would say for a relation and for a class, worked out from names, labels and the lexicon.

use super::lexicon::{Lexicon, TailKind, Verb};
use super::profile::Tail;
use super::words::{is_plural, segments, singular};

/// Ways to speak of a relation. In the texts `{x}` is a head, `{v}` a tail, `{c}` the heads' class in the plural, `{t}` the tails' class,
/// `{n}` the relation's noun.
#[derive(Clone, Debug, Default)]
pub(super) struct Phrases {
    /// Nouns for the tail, in the singular.
    pub nouns: Vec<String>,
    /// Questions for the tail of `{x}`.
    pub asks: Vec<String>,
    /// What is said of heads whose tail is `{v}`: behind the heads' noun.
    pub modifiers: Vec<String>,
    /// Questions for the heads of `{v}`.
    pub backs: Vec<String>,
    /// Nouns for the heads, seen from `{v}`, in the singular.
    pub heads: Vec<String>,
    /// Nouns for the tails' class.
    pub tails: Vec<String>,
    /// Prepositions before `{v}` that say the whole relation.
    pub prepositions: Vec<String>,
    pub more: Vec<String>,
    pub less: Vec<String>,
    pub most: Vec<String>,
    pub least: Vec<String>,
    pub kind: TailKind,
    /// The values are counts of `nouns` (`number of doors`).
    pub counted: bool,
    /// The tail is said in the plural by the relation's name.
    pub plural: bool,
}

/// Words before a relation's noun that say nothing.
const LEADING: &[&str] = &["ref", "fk", "has", "is", "the", "have", "r", "rel", "prop"];
/// Words behind a foreign key's noun.
const KEY_ENDS: &[&str] = &["id", "code", "key", "no", "nr", "ref"];
/// Words behind the name of a class that holds things of the noun before it.
const FILLERS: &[&str] = &[
    "data",
    "list",
    "info",
    "information",
    "details",
    "detail",
    "table",
    "records",
    "record",
    "entry",
    "entries",
    "set",
];
/// Units behind the name of an attribute.
const UNITS: &[&str] = &[
    "millions", "million", "billions", "usd", "eur", "dollars", "km", "km2", "m", "cm", "kg",
    "percent", "sqkm", "miles",
];
const PREPOSITIONS: &[&str] = &[
    "in", "at", "on", "from", "to", "for", "into", "with", "under", "near", "through",
];
/// Nouns that mean people.
const PEOPLE: &[&str] = &[
    "person",
    "people",
    "actor",
    "artist",
    "player",
    "author",
    "writer",
    "director",
    "politician",
    "singer",
    "employee",
    "teacher",
    "student",
    "athlete",
    "scientist",
    "owner",
    "agent",
    "human",
];
const PLACES: &[&str] = &[
    "place",
    "city",
    "country",
    "location",
    "region",
    "town",
    "continent",
    "state",
    "settlement",
    "area",
];

/// What a class is called, in the singular, best first.
pub(super) fn class_nouns(name: &str, label: Option<&str>, lexicon: &Lexicon) -> Vec<String> {
    let mut nouns: Vec<String> = Vec::new();
    let mut add = |noun: String| {
        if !noun.is_empty() && !nouns.contains(&noun) {
            nouns.push(noun);
        }
    };
    let last = segments(name, lexicon).pop().unwrap_or_default();
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
            .is_some_and(|word| FILLERS.contains(word) || KEY_ENDS.contains(word))
    {
        words.pop();
        add(singular(&words.join(" ")));
    }
    add(singular(&last));
    let mut more = Vec::new();
    for noun in &nouns {
        more.extend(lexicon.synonyms(noun).iter().cloned());
        // "car maker" is a maker, and what makers are called.
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

impl Phrases {
    /// Works out the phrases of a relation.
    pub(super) fn new(
        name: &str,
        label: Option<&str>,
        tail: Tail,
        heads: &[String],
        tails: &[String],
        lexicon: &Lexicon,
    ) -> Self {
        let parts = segments(name, lexicon);
        let mut say = Self {
            kind: kind_of(tail, tails),
            tails: tails.to_vec(),
            ..Self::default()
        };
        let last = parts.last().cloned().unwrap_or_default();
        let bases: Vec<String> = label
            .map(str::to_lowercase)
            .into_iter()
            .chain([last])
            .collect();
        for base in &bases {
            say.base(base, tail, heads, tails, lexicon);
        }
        // `award_nominee.award_nominations..award_nomination.award`: what the first half says matters too.
        if name.contains("..") && parts.len() >= 4 {
            let first = &parts[parts.len() / 2 - 1];
            let last = parts.last().cloned().unwrap_or_default();
            if *first != last {
                say.add_noun(format!("{} {}", singular(first), singular(&last)));
            }
        }
        if parts.len() >= 3 && heads.is_empty() {
            // `film.film.directed_by`: the middle part is the class of the heads.
            say.heads.push(singular(&parts[parts.len() - 2]));
        }
        if say.nouns.is_empty() {
            say.nouns
                .push(bases.first().cloned().unwrap_or_else(|| "value".to_owned()));
        }
        say.nouns.dedup();
        say
    }

    fn add_noun(&mut self, noun: String) {
        if !noun.is_empty() && !self.nouns.contains(&noun) {
            self.nouns.push(noun);
        }
    }

    fn base(
        &mut self,
        text: &str,
        tail: Tail,
        heads: &[String],
        tails: &[String],
        lexicon: &Lexicon,
    ) {
        let mut words: Vec<&str> = text.split(' ').collect();
        let key = words
            .first()
            .is_some_and(|word| ["ref", "fk"].contains(word));
        while words.len() > 1 && LEADING.contains(&words[0]) {
            words.remove(0);
        }
        // `sibling_s`: the plural mark stands alone.
        if words.len() > 1 && words.last() == Some(&"s") {
            words.pop();
            self.plural = true;
        }
        if key && words.len() > 1 && words.last().is_some_and(|word| KEY_ENDS.contains(word)) {
            words.pop();
        }
        let base = words.join(" ");
        if base.is_empty() {
            return;
        }
        self.plural |= is_plural(&base) && tail == Tail::Thing && !base.ends_with("headquarters");
        let rest = &words[..words.len() - 1];
        let end = words[words.len() - 1];
        let concept = lexicon
            .concept(&base)
            .map(|(concept, whole)| (concept.clone(), whole));
        if end == "by" && !rest.is_empty() {
            self.by(rest[rest.len() - 1], heads, lexicon);
            self.add_noun(base.clone());
        } else if end == "of" && !rest.is_empty() {
            let before = rest.join(" ");
            self.modifiers.push(format!("that are {before} of {{v}}"));
            self.modifiers.push(format!("which is a {before} of {{v}}"));
            self.asks.extend([
                format!("what is {{x}} the {before} of"),
                format!("what is {{x}} {before} of"),
                format!("of what is {{x}} {before}"),
            ]);
            self.heads.push(before);
            self.add_noun(base.clone());
        } else if PREPOSITIONS.contains(&end) && !rest.is_empty() {
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
            for noun in tails.iter().take(2) {
                self.add_noun(noun.clone());
            }
            self.add_noun(base.clone());
        } else if let Some(verb) = lexicon
            .verb(&base)
            .filter(|_| concept.is_none() && tail == Tail::Thing)
        {
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
            for noun in tails.iter().take(2) {
                self.add_noun(noun.clone());
            }
            self.add_noun(base.clone());
        } else {
            self.noun(&base, heads, lexicon);
        }
        if key {
            for noun in tails.iter().take(3) {
                self.add_noun(noun.clone());
            }
        }
        if let Some((concept, whole)) = concept {
            if whole {
                self.is_nouns(&concept.is);
                self.asks.extend(concept.ask);
                self.modifiers.extend(concept.modifiers);
                self.backs.extend(concept.back);
                self.prepositions.extend(concept.prepositions);
            }
            // The end of a name tells how sizes compare ("net worth" in "total net worth"), and what it is.
            self.more.extend(concept.more);
            self.less.extend(concept.less);
            self.most.extend(concept.most);
            self.least.extend(concept.least);
            if self.kind == TailKind::Thing && tail == Tail::Thing {
                self.kind = concept.kind;
            }
        }
    }

    fn is_nouns(&mut self, nouns: &[String]) {
        for noun in nouns {
            self.add_noun(noun.clone());
        }
    }

    /// A name that is a noun phrase.
    fn noun(&mut self, base: &str, heads: &[String], lexicon: &Lexicon) {
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
        while words.len() > 1 && UNITS.contains(&words[words.len() - 1]) {
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
            self.done_by(&verb.clone(), heads);
        }
    }

    /// `directed by`.
    fn by(&mut self, participle: &str, heads: &[String], lexicon: &Lexicon) {
        match lexicon.verb(participle).cloned() {
            Some(verb) => self.done_by(&verb, heads),
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

    fn done_by(&mut self, verb: &Verb, heads: &[String]) {
        let Verb {
            base,
            third,
            past,
            participle,
            agents,
        } = verb;
        self.is_nouns(agents);
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
        let _ = heads;
    }
}

fn kind_of(tail: Tail, tails: &[String]) -> TailKind {
    match tail {
        Tail::Number => TailKind::Number,
        Tail::Time => TailKind::Time,
        Tail::Text => TailKind::Thing,
        Tail::Thing => {
            let has = |words: &[&str]| tails.iter().any(|noun| words.contains(&noun.as_str()));
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
