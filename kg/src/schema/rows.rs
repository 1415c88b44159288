//! Names of rows. Graphs made from tables (W3C Direct Mapping) have a node for each row, with its
//! key in the IRI (`guest/id=17`), a relation for each column (`guest#last_name`), and no labels.

use std::collections::BTreeMap;

use super::source::NamedRelation;
use crate::names::split;
use crate::term::RelId;

/// Parts of a person's name, first and last.
const FIRST: [&str; 4] = ["firstname", "forename", "givenname", "fname"];
const LAST: [&str; 5] = ["lastname", "surname", "familyname", "lname", "secondname"];
/// Columns that end like a name and name something else than the row.
const OTHER_NAMES: [&str; 25] = [
    "first", "fore", "given", "f", "last", "sur", "family", "l", "second", "middle", "maiden",
    "user", "login", "file", "host", "domain", "street", "city", "country", "county", "state",
    "region", "bank", "contact", "job",
];

/// The columns that name the rows of each table, one list per table that has such columns: `name`
/// or `title`, the two parts of a person's name, or a column such as `dept_name`.
pub(super) fn row_names(relations: &[NamedRelation]) -> Vec<Vec<RelId>> {
    let mut tables: BTreeMap<&str, Vec<(String, RelId)>> = BTreeMap::new();
    for relation in relations {
        if let Some((table, column)) = relation.iri.rsplit_once('#') {
            let plain = column.to_lowercase().replace(['_', '-'], "");
            tables.entry(table).or_default().push((plain, relation.id));
        }
    }
    let named = |(table, columns): (&str, Vec<(String, RelId)>)| {
        let table = split(table).1.to_lowercase();
        let one_of = |names: &[&str]| {
            let column = columns
                .iter()
                .find(|(column, _)| names.contains(&column.as_str()));
            column.map(|(_, id)| *id)
        };
        if let Some(name) = one_of(&["name", "title", "fullname", "label"]) {
            return Some(vec![name]);
        }
        if let (Some(first), Some(last)) = (one_of(&FIRST), one_of(&LAST)) {
            return Some(vec![first, last]);
        }
        let ending = |column: &str| {
            let of = |end: &str| column.strip_suffix(end).map(str::to_owned);
            of("name").or_else(|| of("title"))
        };
        let mut others: Vec<(bool, bool, RelId)> = (columns.iter())
            .filter_map(|(column, id)| {
                let start =
                    ending(column).filter(|start| !OTHER_NAMES.contains(&start.as_str()))?;
                let title = column.ends_with("title");
                Some((!is_of_table(&start, &table), title, *id))
            })
            .filter(|(foreign, title, _)| !(*foreign && *title))
            .collect();
        others.sort_unstable();
        others.first().map(|(_, _, id)| vec![*id])
    };
    tables.into_iter().filter_map(named).collect()
}

/// Whether a word is one of a table's name, or short for one: `dept` of `department`.
fn is_of_table(word: &str, table: &str) -> bool {
    let start = |text: &str| text.chars().take(3).collect::<String>();
    let mut words = table.split(['_', '-', ' ']);
    words.any(|one| start(one) == start(word)) || table.ends_with(word)
}

/// The values of the key in the IRI of a row, and its table: `guest` and `17` of `guest/id=17`.
pub(crate) fn row_key(iri: &str) -> Option<(String, String)> {
    let (table, local) = split(iri);
    if !local.contains('=') {
        return None;
    }
    let parts: Option<Vec<&str>> = (local.split([';', '&']))
        .map(|part| part.split_once('=').map(|(_, value)| value))
        .collect();
    let table = split(table.trim_end_matches(['/', '#']))
        .1
        .replace(['_', '-'], " ");
    Some((table, parts?.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_by_their_columns() {
        let columns = [
            "department#dept_code",
            "department#dept_name",
            "employee#first_name",
            "employee#job_title",
            "employee#last_name",
            "event#event_title",
            "event#host_name",
            "invoice#number",
            "supplier#company_name",
            "supplier#contact_name",
            "venue#name",
            "venue#street_name",
        ];
        let relations: Vec<NamedRelation> = (columns.iter().zip(0..))
            .map(|(column, id)| NamedRelation {
                id: RelId(id),
                iri: format!("http://a.example/db/{column}"),
                name: (*column).to_owned(),
            })
            .collect();
        let found = row_names(&relations);
        let names: Vec<Vec<&str>> = (found.iter())
            .map(|ids| ids.iter().map(|id| columns[id.0 as usize]).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["department#dept_name"],
                vec!["employee#first_name", "employee#last_name"],
                vec!["event#event_title"],
                vec!["supplier#company_name"],
                vec!["venue#name"],
            ]
        );
    }

    #[test]
    fn keys_are_read_from_iris() {
        let key = |iri: &str| row_key(iri);
        let pair = |table: &str, key: &str| Some((table.to_owned(), key.to_owned()));
        assert_eq!(key("http://a.example/db/guest/id=17"), pair("guest", "17"));
        assert_eq!(
            key("http://a.example/db/room_type/code=A;no=3"),
            pair("room type", "A 3")
        );
        assert_eq!(key("http://a.example/db/guest/17"), None);
        assert_eq!(key("http://a.example/x?id=1;y"), None);
    }
}
