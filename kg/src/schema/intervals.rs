//! Interval relations (rule R11), recognised by the names of their two relations.

use rustc_hash::FxHashMap;

use super::source::SchemaSource;
use super::types::IntervalRelation;
use crate::term::RelId;
use crate::value::is_time;

/// Suffixes of the two relation names of an interval (rule R11): Freebase's, which need no further
/// check.
pub const INTERVAL_ENDS: &[(&str, &str)] = &[
    (".from", ".to"),
    (".from_date", ".to_date"),
    (".start_date", ".end_date"),
];

/// Suffixes in other vocabularies. They may mean places ("from Lisbon to Porto") or pages, so the
/// values of both relations must be times.
const TIME_ENDS: &[(&str, &str)] = &[
    ("from", "to"),
    ("start", "end"),
    ("fromDate", "toDate"),
    ("from_date", "to_date"),
    ("FromDate", "ToDate"),
    ("startDate", "endDate"),
    ("StartDate", "EndDate"),
    ("start_date", "end_date"),
    ("startYear", "endYear"),
    ("StartYear", "EndYear"),
    ("start_year", "end_year"),
    ("startTime", "endTime"),
    ("start_time", "end_time"),
    ("validFrom", "validTo"),
    ("valid_from", "valid_to"),
    ("P580", "P582"),
];

/// Number of values that are examined to decide whether a relation has times as values.
const SAMPLED: usize = 20;

/// The interval relations among `relations`, given as names and ids.
pub(super) fn intervals(
    graph: &dyn SchemaSource,
    relations: &[(String, RelId)],
) -> Vec<IntervalRelation> {
    let ids: FxHashMap<&str, RelId> = relations
        .iter()
        .map(|(name, id)| (name.as_str(), *id))
        .collect();
    let mut found: Vec<IntervalRelation> = Vec::new();
    for (ends, checked) in [(INTERVAL_ENDS, false), (TIME_ENDS, true)] {
        for (from_end, to_end) in ends {
            for (from_name, from) in relations {
                let Some(stem) = from_name.strip_suffix(from_end) else {
                    continue;
                };
                let Some(&to) = ids.get(format!("{stem}{to_end}").as_str()) else {
                    continue;
                };
                // The suffix must be a separate word: `valid_from`, `activeStartDate`, but not
                // `inherit`.
                let parted = !stem.ends_with(char::is_alphanumeric)
                    || from_end.starts_with(['.'])
                    || from_end.starts_with(char::is_uppercase);
                let taken = found
                    .iter()
                    .any(|interval| interval.from == *from || interval.to == to);
                if !parted
                    || taken
                    || checked && !(leads_to_times(graph, *from) && leads_to_times(graph, to))
                {
                    continue;
                }
                let stem = stem.trim_end_matches(['.', '_', '-']);
                let name = match (
                    stem.is_empty() || stem.ends_with([':', '/', '#']),
                    *from_end,
                ) {
                    (true, "from") => format!("{stem}from_to"),
                    // Without a stem, the name of the start is used: `startDate.from_to`,
                    // `pq:P580.from_to`.
                    (true, start) => format!("{stem}{start}.from_to"),
                    (false, _) => format!("{stem}.from_to"),
                };
                if !found.iter().any(|interval| interval.name == name)
                    && !ids.contains_key(name.as_str())
                {
                    found.push(IntervalRelation {
                        name,
                        from: *from,
                        to,
                    });
                }
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Whether the first values of a relation are all times.
fn leads_to_times(graph: &dyn SchemaSource, relation: RelId) -> bool {
    let values = graph.pairs(relation, SAMPLED);
    !values.is_empty()
        && values
            .iter()
            .all(|(_, tail)| graph.term(*tail).as_literal().is_some_and(is_time))
}
