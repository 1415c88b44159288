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

/// Attributes that say how long something lasts, and dates since which it has lasted.
const LASTING: &[&str] = &[
    "length",
    "long",
    "dur",
    "runtim",
    "distanc",
    "minut",
    "second",
    "hour",
    "tenur",
    "hir",
    "join",
    "sinc",
    "start",
    "appoint",
    "millisecond",
    "ms",
];
const HEIGHT: &[&str] = &["height", "elev", "altitud", "tall", "high"];
/// People are tall.
const SMALL: &[&str] = &[
    "area", "elev", "popul", "siz", "capacit", "surfac", "seat", "numb", "diamet", "amount",
];
const SIZE: &[&str] = &[
    "area",
    "popul",
    "siz",
    "capacit",
    "surfac",
    "seat",
    "numb",
    "diamet",
    "amount",
    "budget",
    "volum",
    "revenu",
    "turnov",
    "staff",
    "employe",
    "student",
    "member",
    "enrol",
    "headcount",
    "total",
];
/// Measures of time: these stems, and then those of how things begin. From the fifth on, their order makes no difference.
macro_rules! times {
    ($($own:literal)*) => {
        &[
            $($own,)*
            "sinc", "yob", "born", "built", "construct", "inaugur", "premier", "introduc", "creat",
        ]
    };
}
const DATE: &[&str] = times!("dat" "year" "releas" "found" "establish" "open" "publish" "complet" "begin" "start" "birth"
    "from" "tim" "to" "end" "join" "hir" "regist");
const AGE: &[&str] = times!("birth" "dob" "dat" "found" "establish" "open" "releas" "year" "complet" "ag" "publish" "incept");

const PRICE: &[&str] = &[
    "pric", "cost", "fee", "far", "premium", "valu", "amount", "worth", "charg", "rat", "total",
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
    // `The longest` of several dates is the earliest.
    of("long", LASTING, [Extreme::Max, Extreme::Min]),
    of(
        "short",
        &[
            "length", "height", "elev", "dur", "runtim", "long", "tall", "minut", "second", "hour",
        ],
        LOW,
    ),
    of("tall", HEIGHT, HIGH),
    of("high", HEIGHT, HIGH),
    of("low", HEIGHT, LOW),
    of("deep", &["depth", "deep"], HIGH),
    of("shallow", &["depth", "deep"], LOW),
    of("big", SIZE, HIGH),
    of("large", SIZE, HIGH),
    of("great", SIZE, HIGH),
    of("huge", SIZE, HIGH),
    of("small", SMALL, LOW),
    of("tiny", SMALL, LOW),
    of("populous", &["popul"], HIGH),
    of("populated", &["popul"], HIGH),
    of("crowded", &["popul"], HIGH),
    of("old", AGE, [Extreme::Max, Extreme::Min]),
    of("ancient", AGE, [Extreme::Max, Extreme::Min]),
    of("young", AGE, [Extreme::Min, Extreme::Max]),
    of("new", DATE, HIGH),
    of("recent", DATE, HIGH),
    of("late", DATE, HIGH),
    of("early", DATE, LOW),
    of("soon", DATE, LOW),
    of("heavy", &["weight", "mas"], HIGH),
    of("light", &["weight", "mas"], LOW),
    of("fast", &["sp", "tim", "acceler", "horsepow"], HIGH),
    of("slow", &["sp", "tim"], LOW),
    of(
        "quick",
        &[
            "minut", "second", "hour", "dur", "tim", "prep", "runtim", "length",
        ],
        LOW,
    ),
    of("rich", &["worth", "incom", "gnp", "gdp"], HIGH),
    of("poor", &["worth", "incom", "gnp", "gdp"], LOW),
    of("expensive", PRICE, HIGH),
    of("dear", PRICE, HIGH),
    of("pricey", PRICE, HIGH),
    of("pricy", PRICE, HIGH),
    of("costly", PRICE, HIGH),
    of("valuable", PRICE, HIGH),
    of("cheap", PRICE, LOW),
    of("wid", &["width", "wid"], HIGH),
    of("narrow", &["width", "wid"], LOW),
    of(
        "busy",
        &["passenger", "visitor", "traffic", "rider", "hour"],
        HIGH,
    ),
    of(
        "popular",
        &["visitor", "sal", "rat", "passenger", "attend"],
        HIGH,
    ),
    of("hot", &["temperatur", "heat"], HIGH),
    of("warm", &["temperatur", "heat"], HIGH),
    of("cold", &["temperatur"], LOW),
    of("strong", &["strength", "power", "pow", "alcohol"], HIGH),
    of("powerful", &["power", "pow", "horsepow"], HIGH),
    of("healthy", &["calor", "kcal", "sugar"], LOW),
];

/// The adjective of a lower-case word and the degree of its form. `first` and `last` are
/// superlatives of time.
pub(super) fn adjective(word: &str) -> Option<(&'static Adjective, Degree)> {
    let find = |plain: &str| ADJECTIVES.iter().find(|one| one.plain == plain);
    match word {
        "first" | "earliest" => return find("early").map(|one| (one, Degree::Superlative)),
        "elder" => return find("old").map(|one| (one, Degree::Comparative)),
        "eldest" => return find("old").map(|one| (one, Degree::Superlative)),
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
            .or_else(|| left.strip_suffix('g').and_then(find))
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
    /// Whether it may measure a time: `new`, `old`, `long`, but not `big`.
    pub(super) fn measures_time(&self) -> bool {
        (self.measures.iter()).any(|name| matches!(*name, "dat" | "start" | "tim"))
    }

    /// The comparisons that its comparative asks for: with a number, and with a time.
    pub(super) fn comparisons(&self) -> [Op; 2] {
        self.extremes.map(|extreme| match extreme {
            Extreme::Max => Op::Gt,
            Extreme::Min => Op::Lt,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rank::stem;

    #[test]
    fn forms_lead_to_their_plain_form_and_degree() {
        use Degree::{Comparative, Plain, Superlative};
        for (word, plain, degree) in [
            ("long", "long", Plain),
            ("populous", "populous", Plain),
            ("longer", "long", Comparative),
            ("larger", "large", Comparative),
            ("bigger", "big", Comparative),
            ("heavier", "heavy", Comparative),
            ("later", "late", Comparative),
            ("earlier", "early", Comparative),
            ("longest", "long", Superlative),
            ("widest", "wid", Superlative),
            ("biggest", "big", Superlative),
            ("heaviest", "heavy", Superlative),
            ("earliest", "early", Superlative),
            ("first", "early", Superlative),
            ("latest", "late", Superlative),
            ("last", "late", Superlative),
        ] {
            let (found, of) = adjective(word).unwrap();
            assert_eq!((found.plain, of), (plain, degree), "{word}");
        }
    }

    #[test]
    fn other_words_are_no_adjectives_of_degree() {
        for word in [
            "river", "order", "leader", "forest", "numb", "bigly", "er", "est", "", "Longest",
        ] {
            assert_eq!(adjective(word), None, "{word}");
        }
    }

    #[test]
    fn old_things_have_high_ages_and_early_dates() {
        let of = |word| adjective(word).unwrap().0;
        assert_eq!(of("oldest").extremes, [Extreme::Max, Extreme::Min]);
        assert_eq!(of("youngest").extremes, [Extreme::Min, Extreme::Max]);
        assert_eq!(of("older").comparisons(), [Op::Gt, Op::Lt]);
        assert_eq!(of("newer").comparisons(), [Op::Gt, Op::Gt]);
        assert_eq!(of("shorter").comparisons(), [Op::Lt, Op::Lt]);
    }

    #[test]
    fn adjectives_measure_the_stems_of_attributes() {
        for (adjective_word, attribute) in [
            ("long", "length"),
            ("long", "duration"),
            ("tall", "height"),
            ("high", "elevation"),
            ("big", "area"),
            ("large", "population"),
            ("old", "birth"),
            ("small", "height"),
            ("tiniest", "height"),
            ("new", "released"),
            ("heavy", "weight"),
            ("rich", "income"),
            ("cheap", "price"),
            ("wid", "width"),
        ] {
            let measures = adjective(adjective_word).unwrap().0.measures;
            let wanted = stem(attribute);
            assert!(
                measures.contains(&wanted.as_str()),
                "{adjective_word}: `{attribute}` has the stem `{wanted}`"
            );
        }
    }
}
