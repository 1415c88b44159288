//! Reads a parsed query: the modifiers around WHERE, its patterns, then the normal form.

use kg::spargebra::Query;

use super::head::{Head, unwrapped};
use super::normal;
use super::query_graph::{PatternGroup, QueryForm, QueryGraph};
use super::reader::PatternReader;
use super::vocabulary::Vocabulary;
use crate::refusal::Refusal;

/// Reads the query graph of a parsed query.
///
/// # Errors
/// The reason why no query graph can represent the query.
pub(crate) fn read_query(query: &Query, vocabulary: &Vocabulary) -> Result<QueryGraph, Refusal> {
    let mut reader = PatternReader::new(vocabulary);
    let mut group = PatternGroup::default();
    let graph = match query {
        Query::Select { pattern, .. } => {
            let head = Head::of(pattern)?;
            reader.pattern(head.body, &mut group)?;
            let answer = match head.answer {
                Some(name) => reader.var(&name),
                None => reader.counted(&group)?,
            };
            let form = if head.count {
                QueryForm::Count(answer)
            } else {
                QueryForm::Select(answer)
            };
            let extreme = head
                .extreme
                .map(|(name, extreme)| (reader.var(&name), extreme));
            let key = head.key.map(|key| reader.numbered(key));
            let mut names = reader.names.iter().filter(|_| head.rows);
            let rows = names.find(|(_, var)| **var == answer);
            QueryGraph {
                form,
                group,
                extreme,
                key,
                aggregated: head.aggregated,
                rows: rows.map(|(name, _)| name.clone()),
            }
        }
        Query::Ask { pattern, .. } => {
            reader.pattern(unwrapped(pattern), &mut group)?;
            QueryGraph {
                form: QueryForm::Ask,
                group,
                extreme: None,
                key: None,
                aggregated: false,
                rows: None,
            }
        }
        Query::Construct { .. } | Query::Describe { .. } => return Err(Refusal::NotSelectOrAsk),
    };
    normal::normalise(&reader, graph)
}
