//! Units of the numbers of a question: a graph that has minutes knows what is longer than three hours. English.

use kg::term::Literal;

use crate::link::number_of_word;
use crate::rank::stem;

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Time,
    Length,
    Mass,
}

/// A unit: what it measures, its size in the smallest unit, and its names.
#[derive(Debug, PartialEq)]
pub(super) struct Unit {
    measure: Measure,
    size: f64,
    names: &'static str,
}

const fn of(measure: Measure, size: f64, names: &'static str) -> Unit {
    Unit {
        measure,
        size,
        names,
    }
}

/// The units; usual ones of each measure first.
static UNITS: [Unit; 13] = [
    of(Measure::Time, 60.0, "minute minutes min mins"),
    of(Measure::Time, 1.0, "second seconds sec secs"),
    of(Measure::Time, 3_600.0, "hour hours hr hrs h"),
    of(Measure::Time, 86_400.0, "day days"),
    of(Measure::Length, 1_000.0, "m metre metres meter meters"),
    of(
        Measure::Length,
        1_000_000.0,
        "km kilometre kilometres kilometer kilometers k",
    ),
    of(
        Measure::Length,
        10.0,
        "cm centimetre centimetres centimeter centimeters",
    ),
    of(
        Measure::Length,
        1.0,
        "mm millimetre millimetres millimeter millimeters",
    ),
    of(Measure::Length, 304.8, "ft foot feet"),
    of(Measure::Length, 1_609_344.0, "mile miles mi"),
    of(Measure::Mass, 1_000.0, "kg kilo kilos kilogram kilograms"),
    of(Measure::Mass, 1.0, "g gram grams"),
    of(Measure::Mass, 1_000_000.0, "t ton tons tonne tonnes"),
];

/// The unit that stands behind a number of the question.
pub(super) fn unit_of(question: &str, value: &Literal) -> Option<&'static Unit> {
    let number: f64 = value.lexical.parse().ok()?;
    let lower = question.to_lowercase();
    let tokens: Vec<&str> = (lower.split([' ', '-']))
        .map(|token| token.trim_matches(['?', '!', ',', '.', ';', '"']))
        .collect();
    let is_number = |token: &str| {
        let digits = token.replace(',', "").parse::<f64>().ok();
        digits.or_else(|| number_of_word(token).map(|at| at as f64)) == Some(number)
    };
    let behind = |at: usize| tokens.get(at + 1).copied().unwrap_or_default();
    let place = (0..tokens.len()).find(|&at| is_number(tokens[at]))?;
    named(behind(place))
}

fn named(word: &str) -> Option<&'static Unit> {
    let has = |unit: &&Unit| unit.names.split(' ').any(|name| name == word);
    UNITS.iter().find(has)
}

impl Unit {
    /// The unit that a relation's stems name, of the same measure as this one.
    fn of_relation(&self, stems: &[String]) -> Option<&'static Unit> {
        let named = |unit: &&Unit| {
            let mut names = unit.names.split(' ').map(stem);
            unit.measure == self.measure && names.any(|name| stems.contains(&name))
        };
        UNITS.iter().find(named)
    }

    /// A number of this unit in the units that values of a relation may have: in its own if its name has one
    /// (`duration_seconds`), otherwise as it is, and then in the other units of the same measure.
    pub(super) fn readings(&self, value: &Literal, stems: &[String]) -> Vec<Literal> {
        let Ok(number) = value.lexical.parse::<f64>() else {
            return Vec::new();
        };
        let converted = |unit: &Unit| Literal::plain((number * self.size / unit.size).to_string());
        match self.of_relation(stems) {
            Some(unit) if unit == self => vec![value.clone()],
            Some(unit) => vec![converted(unit)],
            None => {
                let others = UNITS.iter().filter(|unit| unit.measure == self.measure);
                let others = others.filter(|unit| *unit != self).map(converted);
                std::iter::once(value.clone()).chain(others).collect()
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_the_unit_of_the_relation() {
        let value = |text: &str| Literal::plain(text);
        for (question, number, relation, read) in [
            ("films longer than 3 hours", "3", "minut", vec!["180"]),
            ("songs over five minutes", "5", "second", vec!["300"]),
            ("trails longer than 2.5 km", "2.5", "metr", vec!["2500"]),
            ("a 90-minute film", "90", "minut", vec!["90"]),
            ("peaks above 1500 m?", "1500", "km", vec!["1.5"]),
        ] {
            let unit = unit_of(question, &value(number)).unwrap();
            let found = unit.readings(&value(number), &[relation.to_owned()]);
            let found: Vec<&str> = found.iter().map(|one| one.lexical.as_str()).collect();
            assert_eq!(found, read, "{question}");
        }
        let hours = unit_of("films longer than 3 hours", &value("3")).unwrap();
        let found = hours.readings(&value("3"), &["runtim".to_owned()]);
        let found: Vec<&str> = found.iter().map(|one| one.lexical.as_str()).collect();
        assert_eq!(found, ["3", "180", "10800", "0.125"]);
        assert_eq!(unit_of("films with 3 actors", &value("3")), None);
        assert_eq!(unit_of("films of 2003", &value("2003")), None);
    }
}
