//! Names of rows. Graphs made from tables have a node for each row, with its key in the IRI
//! (`guest/id=17`, `guest/17`), a relation for each column, and no labels. Columns are named after
//! their table (`guest#last_name` in W3C Direct Mapping, `vocab#guest_last_name` in D2RQ) or not.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{NamedRelation, SchemaSource};
use crate::label::percent_decode;
use crate::names::split;
use crate::term::{NodeId, RDF_TYPE, RelId, Term};

/// Parts of a person's name, first and last.
const FIRST: [&str; 4] = ["firstname", "forename", "givenname", "fname"];
const LAST: [&str; 5] = ["lastname", "surname", "familyname", "lname", "secondname"];
/// Columns that end like a name and name something else than the row.
const OTHER_NAMES: &str = "first fore given f last sur family l second middle maiden nick alias user login file host domain street city country county state region bank contact job \
    mgr manager boss owner rcpt recipient receiver sender lead supervisor spouse father mother guardian author agent customer client";

/// Triples of a relation that show which table it is a column of.
const SAMPLE: usize = 8;
/// Triples that show whether titles are shared. They come in the order of their values, so a few would show one
/// title of several films.
const TITLES: usize = 1000;
/// How columns with codes end.
const CODES: [&str; 9] = [
    "no",
    "nr",
    "num",
    "number",
    "code",
    "cd",
    "ref",
    "reference",
    "registration",
];
/// What other codes are of.
const OTHER_CODES: [&str; 18] = [
    "phone",
    "tel",
    "telephone",
    "mobile",
    "fax",
    "house",
    "street",
    "zip",
    "post",
    "postal",
    "area",
    "country",
    "currency",
    "lang",
    "account",
    "card",
    "tax",
    "colour",
];
/// The longest code.
const CODE_CHARS: usize = 12;
/// The longest text that can be a name, in characters on average.
const NAME_CHARS: usize = 40;

/// The columns that name the rows of each table, one list per table that has such columns: `name`
/// or `title`, the two parts of a person's name, or a column such as `dept_name`. `types` are the
/// relations to classes. In a graph without labels, columns may be named in any way; `labelled`
/// graphs have tables only as `table#column`. The second list has the columns with codes by which people call the
/// rows of a table without names.
pub(super) fn row_names(
    graph: &dyn SchemaSource,
    relations: &[NamedRelation],
    types: &[RelId],
    labelled: bool,
) -> (Vec<Vec<RelId>>, Vec<RelId>) {
    let mut tables: BTreeMap<String, Vec<(String, RelId)>> = BTreeMap::new();
    let vocabulary = vocabulary(relations);
    for relation in relations {
        let local = match relation.iri.rsplit_once('#') {
            Some((table, column)) if Some(table) != vocabulary => {
                let table = split(table).1.to_lowercase();
                tables
                    .entry(table)
                    .or_default()
                    .push((plain(column), relation.id));
                continue;
            }
            _ => plain(split(&relation.iri).1),
        };
        let ends_like_a_name = ["name", "title", "label", "description"]
            .iter()
            .any(|end| local.ends_with(end));
        if labelled || !ends_like_a_name {
            continue;
        }
        if let Some(table) = class_of(graph, relation.id, types) {
            let column = local
                .strip_prefix(&plain(&table))
                .filter(|rest| !rest.is_empty());
            let column = column.unwrap_or(&local).to_owned();
            tables.entry(table).or_default().push((column, relation.id));
        }
    }
    let (mut names, mut codes) = (Vec::new(), Vec::new());
    for (table, columns) in &tables {
        let named = named(graph, table, columns);
        // The name of something else does not stand for a row with a code of its own.
        let weak = matches!(&named, Some((OF_ANOTHER, _)));
        let code = if weak { key_code(graph, columns) } else { None };
        match (code, named.map(|(_, names)| names)) {
            (Some(code), _) => codes.push(code),
            (None, Some(name)) => names.push(name),
            (None, None) => match described(graph, table, columns) {
                Some(name) => names.push(name),
                None => codes.extend(coded(graph, columns)),
            },
        }
    }
    (names, codes)
}

/// The word that ends the names of at least half of a table's rows, with their class: `Central Library` and `Elmfield
/// Library` are libraries, whatever their table is called. `name` is the column of names.
pub(super) fn row_noun(
    graph: &dyn SchemaSource,
    name: RelId,
    types: &[RelId],
) -> Option<(NodeId, String)> {
    const SOME: usize = 3;
    let sample = graph.pairs(name, TITLES);
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in &sample {
        let name = graph.term(*name).as_literal()?.lexical.to_lowercase();
        if let Some((_, last)) = name.rsplit_once(' ')
            && last.chars().all(char::is_alphabetic)
        {
            *ends.entry(last.to_owned()).or_default() += 1;
        }
    }
    let (noun, count) = ends.into_iter().max_by_key(|(_, count)| *count)?;
    let (row, _) = sample.first()?;
    let class = types.iter().find_map(|&is| graph.tail(*row, is))?;
    (count >= SOME && 2 * count >= sample.len()).then_some((class, noun))
}

/// Whether a relation to titles gives ranks such as `GM`, and not names: several things have the same, or
/// the rows of its table have another name.
pub(super) fn is_rank(
    graph: &dyn SchemaSource,
    title: &NamedRelation,
    relations: &[NamedRelation],
    row_names: &[Vec<RelId>],
) -> bool {
    if split(&title.iri).1.to_lowercase() != "title" {
        return false;
    }
    let table_of = |iri: &str| Some(iri.rsplit_once('#')?.0.to_owned());
    let table = table_of(&title.iri);
    let names = row_names
        .iter()
        .filter(|columns| !columns.contains(&title.id));
    let named = |id: &RelId| {
        let relation = relations.iter().find(|relation| relation.id == *id);
        table.is_some() && relation.is_some_and(|relation| table_of(&relation.iri) == table)
    };
    let sample = graph.pairs(title.id, TITLES);
    let values: BTreeSet<NodeId> = sample.iter().map(|(_, value)| *value).collect();
    names.flatten().any(named) || 2 * values.len() <= sample.len()
}

/// A name in lower case without separators; `nm` at its end is short for `name`, `ttl` for `title` and `desc` for `description`.
fn plain(name: &str) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("nm", "name"),
        ("ttl", "title"),
        ("descr", "description"),
        ("desc", "description"),
    ];
    // Before separators are removed: `len_m` does not end in `nm`.
    let lower = name.to_lowercase();
    let mut long = SHORT.iter().filter_map(|(short, long)| {
        let start = lower.strip_suffix(short)?;
        Some(format!("{start}{long}"))
    });
    let long = long.next();
    long.unwrap_or(lower).replace(['_', '-'], "")
}

/// The part before `#` that all relations share, if they do: a vocabulary, and not a table.
fn vocabulary(relations: &[NamedRelation]) -> Option<&str> {
    let mut parts = (relations.iter())
        .filter(|relation| relation.iri != RDF_TYPE)
        .filter_map(|relation| relation.iri.rsplit_once('#'))
        .map(|(part, _)| part);
    let first = parts.next()?;
    let mut others = 0;
    for part in parts {
        if part != first {
            return None;
        }
        others += 1;
    }
    (others > 0).then_some(first)
}

/// The name of the class that the first things with a relation have, in lower case; `None` if they
/// have different ones, or if their values are too long to be names.
fn class_of(graph: &dyn SchemaSource, relation: RelId, types: &[RelId]) -> Option<String> {
    let sample = graph.pairs(relation, SAMPLE);
    let mut found = None;
    let mut chars = 0;
    for (head, value) in &sample {
        let class = types.iter().find_map(|&is| graph.tail(*head, is))?;
        if *found.get_or_insert(class) != class {
            return None;
        }
        chars += graph.term(*value).as_literal()?.lexical.chars().count();
    }
    match graph.term(found?) {
        Term::Iri(iri) if chars <= NAME_CHARS * sample.len() => Some(split(&iri).1.to_lowercase()),
        _ => None,
    }
}

/// How well a column names the rows of its table, best first: it is called `name`, after the table, or after something else.
const OWN: u8 = 0;
const OF_ANOTHER: u8 = 3;

/// The columns that name the rows of a table, and how well they do.
fn named(
    graph: &dyn SchemaSource,
    table: &str,
    columns: &[(String, RelId)],
) -> Option<(u8, Vec<RelId>)> {
    let mut names = ["name", "fullname"].into_iter();
    let called = |name| columns.iter().find(|(column, _)| column == name);
    if let Some((_, name)) = names.find_map(called) {
        return Some((OWN, vec![*name]));
    }
    if let (Some(first), Some(last)) = (
        part_of(&FIRST, table, columns),
        part_of(&LAST, table, columns),
    ) {
        return Some((OWN, vec![first, last]));
    }
    let ending = |column: &str| {
        let of = |end: &str| column.strip_suffix(end).map(str::to_owned);
        of("name").or_else(|| of("title"))
    };
    let mut others: Vec<(u8, RelId)> = (columns.iter())
        .filter_map(|(column, id)| {
            // A title may be a person's rank, and a label a record company.
            match column.as_str() {
                "title" => return Some((1, *id)),
                "label" => return Some((2, *id)),
                _ => {}
            }
            // The name of a country is the name of a row only in the table of countries.
            let own = |start: &str| start.len() > 2 && is_of_table(start, table);
            let listed = |start: &str| OTHER_NAMES.split(' ').any(|one| one == start);
            let other = |start: &str| listed(start) && !own(start);
            let start = ending(column).filter(|start| !other(start))?;
            match (is_of_table(&start, table), column.ends_with("title")) {
                (true, title) => Some((u8::from(title), *id)),
                (false, true) => None,
                (false, false) => is_own(graph, *id).then_some((OF_ANOTHER, *id)),
            }
        })
        .collect();
    // A table of suppliers may call its rows `company`.
    let company = |(column, id): &(String, RelId)| {
        let called = ["company", "firm", "organisation", "organization"];
        called
            .contains(&column.as_str())
            .then_some((OF_ANOTHER - 1, *id))
    };
    others.extend(columns.iter().filter_map(company));
    others.sort_unstable();
    others.first().map(|(rank, id)| (*rank, vec![*id]))
}

/// Whether most values of a column belong to one row only: `brake overhaul` describes many jobs, and names none.
fn is_own(graph: &dyn SchemaSource, column: RelId) -> bool {
    let sample = graph.pairs(column, TITLES);
    let values: BTreeSet<NodeId> = sample.iter().map(|(_, value)| *value).collect();
    2 * values.len() > sample.len()
}

/// The column with short descriptions of the rows of a table without names: `type_description` of `room_type`.
fn described(
    graph: &dyn SchemaSource,
    table: &str,
    columns: &[(String, RelId)],
) -> Option<Vec<RelId>> {
    let of_table = |column: &str| {
        let start = column.strip_suffix("description");
        start.is_some_and(|start| start.is_empty() || is_of_table(start, table))
    };
    let short = |id: RelId| {
        let sample = graph.pairs(id, SAMPLE);
        let texts = sample.iter().filter_map(|(_, value)| {
            let term = graph.term(*value);
            Some(term.as_literal()?.lexical.chars().count())
        });
        texts.sum::<usize>() <= NAME_CHARS * sample.len()
    };
    let column = columns
        .iter()
        .find(|(column, id)| of_table(column) && short(*id) && is_own(graph, *id));
    column.map(|(_, id)| vec![*id])
}

/// The column with codes by which people call the rows of a table without names: `flight_no` with `HJ711`. Every row
/// has one of its own, and there is one such column.
fn coded(graph: &dyn SchemaSource, columns: &[(String, RelId)]) -> Option<RelId> {
    let is_code = |text: &str| {
        text.chars().count() <= CODE_CHARS
            && !text.contains(' ')
            && text.chars().any(char::is_alphabetic)
    };
    let codes = |id: RelId| {
        let sample = graph.pairs(id, TITLES);
        let rows: BTreeSet<NodeId> = sample.iter().map(|(row, _)| *row).collect();
        let values: BTreeSet<NodeId> = sample.iter().map(|(_, value)| *value).collect();
        let mut terms = values.iter().map(|&value| graph.term(value));
        values.len() > 1
            && values.len() == sample.len()
            && rows.len() == sample.len()
            && terms.all(|term| term.as_literal().is_some_and(|code| is_code(&code.lexical)))
    };
    let called = |column: &str| {
        let of = |end: &&str| column.strip_suffix(end).map(str::to_owned);
        let start = CODES.iter().find_map(of);
        start.is_some_and(|start| !OTHER_CODES.iter().any(|other| start.ends_with(other)))
    };
    if let Some(key) = key_code(graph, columns) {
        return Some(key);
    }
    let mut found = columns
        .iter()
        .filter(|(column, id)| called(column) && codes(*id));
    match (found.next(), found.next()) {
        (Some((_, id)), None) => Some(*id),
        _ => None,
    }
}

/// The column with the keys of the rows, if they have letters: a code, whatever it is called (`vehicle/plate=KG14%20YWG`).
fn key_code(graph: &dyn SchemaSource, columns: &[(String, RelId)]) -> Option<RelId> {
    let is_key = |row: NodeId, value: NodeId| match (graph.term(row), graph.term(value)) {
        (Term::Iri(iri), Term::Literal(key)) => {
            key.lexical.chars().any(char::is_alphabetic)
                && row_key(&iri).is_some_and(|(_, own)| percent_decode(&own) == key.lexical)
        }
        _ => false,
    };
    let keys = |id: RelId| {
        let sample = graph.pairs(id, TITLES);
        !sample.is_empty() && sample.iter().all(|&(row, value)| is_key(row, value))
    };
    columns.iter().map(|(_, id)| *id).find(|&id| keys(id))
}

/// The column with a part of a person's name, which may begin with a short form of its table: `stu_fname` of `student`.
fn part_of(names: &[&str], table: &str, columns: &[(String, RelId)]) -> Option<RelId> {
    let own = |column: &str| {
        let mut starts = names.iter().filter_map(|name| column.strip_suffix(name));
        starts.any(|start| table.starts_with(start) || is_of_table(start, table))
    };
    let column = columns.iter().find(|(column, _)| own(column));
    column.map(|(_, id)| *id)
}

/// Whether a word is one of a table's name, or short for one: `dept` of `department`.
fn is_of_table(word: &str, table: &str) -> bool {
    let start = |text: &str| text.chars().take(3).collect::<String>();
    let mut words = table.split(['_', '-', ' ']);
    // `vname` of a venue.
    let begins = |one: &str| !word.is_empty() && one.starts_with(word);
    words.any(|one| start(one) == start(word) || begins(one)) || table.ends_with(word)
}

/// The values of the key in the IRI of a row, and its table: `guest` and `17` of `guest/id=17` and
/// of `guest/17`.
#[must_use]
pub fn row_key(iri: &str) -> Option<(String, String)> {
    let (table, local) = split(iri);
    let table = split(table.trim_end_matches(['/', '#'])).1;
    let table = table.replace(['_', '-'], " ");
    if !local.is_empty() && local.bytes().all(|byte| byte.is_ascii_digit()) {
        let word = table.chars().any(char::is_alphabetic) && !table.contains('.');
        return word.then(|| (table, local.to_owned()));
    }
    if !local.contains('=') {
        return None;
    }
    let parts: Option<Vec<&str>> = (local.split([';', '&']))
        .map(|part| part.split_once('=').map(|(_, value)| value))
        .collect();
    Some((table, parts?.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_iris() {
        let key = |iri: &str| row_key(iri);
        let pair = |table: &str, key: &str| Some((table.to_owned(), key.to_owned()));
        assert_eq!(key("http://a.example/db/guest/id=17"), pair("guest", "17"));
        assert_eq!(
            key("http://a.example/db/room_type/code=A;no=3"),
            pair("room type", "A 3")
        );
        assert_eq!(key("http://a.example/db/guest/17"), pair("guest", "17"));
        assert_eq!(key("http://a.example/17"), None);
        assert_eq!(key("http://a.example/x?id=1;y"), None);
    }
}
