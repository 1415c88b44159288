//! Units of the numbers of a question: a graph that has minutes knows what is longer than three hours. English.

use kg::term::Literal;

use crate::rank::stem;

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Time,
    Length,
    Mass,
}

/// A unit of measure. Its size is given in seconds, millimetres or grams.
#[derive(Debug, PartialEq)]
pub(crate) struct Unit {
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
static UNITS: [Unit; 14] = [
    of(Measure::Time, 60.0, "minute minutes min mins"),
    of(Measure::Time, 1.0, "second seconds sec secs"),
    of(Measure::Time, 3_600.0, "hour hours hr hrs h"),
    of(Measure::Time, 86_400.0, "day days"),
    of(Measure::Time, 0.001, "millisecond milliseconds msec ms"),
    of(Measure::Length, 1_000.0, "m metre metres meter meters"),
    of(
        Measure::Length,
        1_000_000.0,
        "km kilometre kilometres kilometer kilometers",
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

/// The unit with this lower-case name.
pub(crate) fn unit_named(word: &str) -> Option<&'static Unit> {
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
    /// A number of things (`bed_count`) has no unit.
    pub(crate) fn readings(&self, value: &Literal, stems: &[String]) -> Vec<Literal> {
        let Ok(number) = value.lexical.parse::<f64>() else {
            return Vec::new();
        };
        if stems.iter().any(|stem| stem == "count" || stem == "number") {
            return vec![value.clone()];
        }
        let converted = |unit: &Unit| Literal::plain((number * self.size / unit.size).to_string());
        match self.of_relation(stems) {
            Some(unit) if unit == self => vec![value.clone()],
            Some(unit) => vec![converted(unit)],
            None => {
                // Nobody measures in units that are smaller, unless the name says so.
                let others = UNITS.iter().filter(|unit| unit.measure == self.measure);
                let others = others.filter(|unit| *unit != self && unit.size >= 1.0);
                let others = others.map(converted);
                std::iter::once(value.clone()).chain(others).collect()
            }
        }
    }
}
