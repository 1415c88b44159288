//! Adjectives of degree, what they measure and which extreme they ask for. English.

use kg::value::{Extreme, Op};

/// The degree of an adjective's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    /// `long`.
    Plain,
    /// `longer`.
    Comparative,
    /// `longest`.
    Superlative,
}

/// An adjective of degree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Adjective {
    /// The plain form.
    pub(super) plain: &'static str,
    /// Stems of the attributes that it measures.
    pub(super) measures: &'static [&'static str],
    /// The extreme that its superlative asks for: of a number, and of a time.
    pub(super) extremes: [Extreme; 2],
}

const LENGTH: &[&str] = &["length", "long", "dur", "runtim", "distanc"];
const HEIGHT: &[&str] = &["height", "elev", "altitud", "tall", "high"];
const SIZE: &[&str] = &["area", "popul", "siz", "capac", "surfac", "seat", "number"];
const DATE: &[&str] = &[
    "dat",
    "year",
    "releas",
    "found",
    "establish",
    "open",
    "publish",
    "complet",
    "begin",
    "start",
    "birth",
    "from",
    "tim",
    "to",
    "end",
];
const AGE: &[&str] = &[
    "birth",
    "dat",
    "found",
    "establish",
    "open",
    "releas",
    "year",
    "complet",
    "age",
    "publish",
];

const HIGH: [Extreme; 2] = [Extreme::Max, Extreme::Max];
const LOW: [Extreme; 2] = [Extreme::Min, Extreme::Min];

const fn of(
    plain: &'static str,
    measures: &'static [&'static str],
    extremes: [Extreme; 2],
) -> Adjective {
    Adjective {
        plain,
        measures,
        extremes,
    }
}

/// The adjectives. Old things have early dates, and high ages.
static ADJECTIVES: &[Adjective] = &[
    of("long", LENGTH, HIGH),
    of(
        "short",
        &["length", "height", "dur", "runtim", "long", "tall"],
        LOW,
    ),
    of("tall", HEIGHT, HIGH),
    of("high", HEIGHT, HIGH),
    of("low", HEIGHT, LOW),
    of("deep", &["depth", "deep"], HIGH),
    of("big", SIZE, HIGH),
    of("large", SIZE, HIGH),
    of("great", SIZE, HIGH),
    of("small", SIZE, LOW),
    of("populous", &["popul"], HIGH),
    of("populated", &["popul"], HIGH),
    of("crowded", &["popul"], HIGH),
    of("old", AGE, [Extreme::Max, Extreme::Min]),
    of("young", AGE, [Extreme::Min, Extreme::Max]),
    of("new", DATE, HIGH),
    of("recent", DATE, HIGH),
    of("late", DATE, HIGH),
    of("early", DATE, LOW),
    of("heavy", &["weight", "mass"], HIGH),
    of("light", &["weight", "mass"], LOW),
    of("fast", &["spe", "tim", "accelerat", "horsepow"], HIGH),
    of("slow", &["spe", "tim"], LOW),
    of("rich", &["worth", "incom", "gnp", "gdp"], HIGH),
    of("poor", &["worth", "incom", "gnp", "gdp"], LOW),
    of("expensive", &["pric", "cost"], HIGH),
    of("cheap", &["pric", "cost"], LOW),
    of("wide", &["width", "wide"], HIGH),
];

/// The adjective of a lower-case word and the degree of its form. `first` and `last` are
/// superlatives of time.
pub(super) fn adjective(word: &str) -> Option<(&'static Adjective, Degree)> {
    let find = |plain: &str| ADJECTIVES.iter().find(|one| one.plain == plain);
    match word {
        "first" | "earliest" => return find("early").map(|one| (one, Degree::Superlative)),
        "last" | "latest" => return find("late").map(|one| (one, Degree::Superlative)),
        _ => {}
    }
    if let Some(found) = find(word) {
        return Some((found, Degree::Plain));
    }
    let stripped = |ending: &str| {
        let left = word.strip_suffix(ending)?;
        // longer, larger, bigger, heavier.
        find(left)
            .or_else(|| find(&format!("{left}e")))
            .or_else(|| left.strip_suffix('g').and_then(|left| find(left)))
            .or_else(|| {
                left.strip_suffix('i')
                    .and_then(|left| find(&format!("{left}y")))
            })
    };
    if let Some(found) = stripped("est") {
        return Some((found, Degree::Superlative));
    }
    stripped("er").map(|found| (found, Degree::Comparative))
}

impl Adjective {
    /// The comparisons that its comparative asks for: with a number, and with a time.
    pub(super) fn comparisons(&self) -> [Op; 2] {
        self.extremes.map(|extreme| match extreme {
            Extreme::Max => Op::Gt,
            Extreme::Min => Op::Lt,
        })
    }
}
