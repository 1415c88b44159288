//! The words by which relations and classes are named, and what some of these words mean. English.

use std::sync::LazyLock;

use kg::term::NodeId;
use kg::{Kg, words};
use rustc_hash::FxHashMap;

use super::vocabulary::{split, stems};
use crate::rank::stem;

/// Words of relations whose numbers of four digits are years.
const EVENT_WORDS: &str = "year founded established opened built constructed completed released published \
launched created inaugurated started began inception formed born birth died death introduced invented discovered since \
incorporated renovated joined hired acquired debut premiered first";
/// Words of classes of people, and of relations that only people have.
const PEOPLE_WORDS: &str = "person people human birth born gender sex surname nationality citizenship occupation profession spouse";
/// Nouns by which questions ask for people.
const PEOPLE_NOUNS: &str = "people person player actor actress director author writer novelist poet singer musician composer \
painter artist sculptor architect scientist physicist engineer inventor politician president minister mayor athlete footballer \
striker goalkeeper driver teacher professor student employee worker manager boss colleague member guest customer client patient \
doctor nurse surgeon curator coach trainer captain referee editor producer conductor owner founder laureate winner guy man woman lady girl boy kid folk";
/// Relations that say where a thing is. `in` asks for them.
const PLACE_WORDS: &str = "country city located location place contains part state region continent county district province island \
    isle archipelago town village";

/// Whether a stem says when something ends.
pub(super) fn is_end(name: &str) -> bool {
    matches!(
        name,
        "end" | "ended" | "finish" | "expiry" | "expir" | "clos" | "closur" | "death" | "retir"
    )
}

/// Nouns that mean the same kind of things.
const SAME_KIND: &str = "vehicle car automobile, film movie, employee worker, customer client, company firm business, \
doctor physician, student pupil, author writer, shop store, song track, aircraft plane airplane, ship boat vessel, bike bicycle, \
teacher instructor, illness disease, medicine drug medication, country nation, trip journey, apartment flat, dish meal, invoice bill, parcel package, \
exhibition show, lorry truck, photo photograph";

/// Whether two stems are of nouns that mean the same kind of things: `cars` are vehicles.
pub(super) fn means_same(one: &str, other: &str) -> bool {
    static KINDS: LazyLock<Vec<Vec<String>>> =
        LazyLock::new(|| SAME_KIND.split(',').map(stems_of).collect());
    let has = |kind: &[String], stem: &str| kind.iter().any(|known| known == stem);
    KINDS.iter().any(|kind| has(kind, one) && has(kind, other))
}

/// Whether a stem names an event, so that a number of four digits is its year.
pub(super) fn is_event(name: &str) -> bool {
    static EVENTS: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(EVENT_WORDS));
    EVENTS.iter().any(|event| event == name)
}

/// Whether a stem names people, or what only people have.
pub(super) fn is_of_people(name: &str) -> bool {
    static PEOPLE: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(PEOPLE_WORDS));
    PEOPLE.iter().any(|one| one == name)
}

/// Whether a word is a noun by which questions ask for people, or its plural. Stems do not tell
/// `directors` from `directed`.
pub(super) fn names_people(word: &str) -> bool {
    let people = |noun: &str| PEOPLE_NOUNS.split(' ').any(|one| one == noun);
    let singular = |ending: &str, one: &str| {
        (word.strip_suffix(ending)).is_some_and(|stem| people(&format!("{stem}{one}")))
    };
    people(word)
        || singular("s", "")
        || singular("ies", "y")
        || singular("es", "")
        || singular("men", "man")
}

/// Whether a word asks for people, by the word behind it: `I need somebody who knows it`.
pub(super) fn is_anybody(word: &str, next: &str) -> bool {
    const ANYBODY: &str = "somebody someone anybody anyone everybody everyone";
    const BEHIND: &str = "who that with whose from in at";
    let is = |list: &str, word| list.split(' ').any(|one| one == word);
    is(ANYBODY, word) && is(BEHIND, next)
}

/// Whether a stem asks for the end of a life and a relation of these stems states its beginning, or the other way
/// round: nobody is buried in a place of birth. And no other date is a birthday.
pub(super) fn is_contrary(word: &str, relation: &[String]) -> bool {
    const BIRTH: &str = "born birth birthplace birthday birthdate";
    const DEATH: &str =
        "die died dead death deathplace deathdate buried burial bury grave tomb deceased";
    const BIRTHDAY: &str = "birthday birthdate";
    static STEMS: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| {
        [BIRTH, DEATH, BIRTHDAY].map(|words| words.split(' ').map(stem).collect())
    });
    let [birth, death, birthday] = &*STEMS;
    let asks = |list: &[String]| list.iter().any(|one| one == word);
    let states = |list: &[String]| relation.iter().any(|name| list.contains(name));
    asks(birth) && states(death)
        || asks(death) && states(birth)
        || asks(birthday) && !states(birth) && !relation.iter().any(|name| name == "dob")
}

/// Whether a stem names any person.
pub(super) fn is_person(name: &str) -> bool {
    static PERSONS: LazyLock<Vec<String>> =
        LazyLock::new(|| stems_of("people person guy man woman folk"));
    PERSONS.iter().any(|one| one == name)
}

/// Whether a stem names a relation that holds in both directions.
pub(super) fn is_mutual(name: &str) -> bool {
    const MUTUAL: &str = "spous partn marri sibl bord border adjoin adjacent neighb neighbor neighbour twin sist relat relativ friend";
    MUTUAL.split(' ').any(|one| one == name)
}

/// Whether the name of a relation says where a way begins (1) or ends (-1): `departs from`, `destination`.
pub(super) fn heading_of(name: &str) -> i8 {
    const BEGINS: [&str; 6] = ["depart", "origin", "from", "start", "takeoff", "leave"];
    const ENDS: [&str; 6] = ["arriv", "destination", "to", "end", "ends", "land"];
    let all = kg::words(name);
    let has = |list: &[&str]| {
        let of = |word: &String| {
            list.iter()
                .any(|one| word == one || one.len() > 4 && word.starts_with(one))
        };
        all.iter().any(of)
    };
    i8::from(has(&BEGINS)) - i8::from(has(&ENDS))
}

/// Whether a stem says where a thing is.
pub(super) fn is_place(name: &str) -> bool {
    static PLACES: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(PLACE_WORDS));
    PLACES.iter().any(|place| place == name)
}

/// Whether a stem names a kind of place.
pub(super) fn names_places(name: &str) -> bool {
    static NOUNS: LazyLock<Vec<String>> = LazyLock::new(|| {
        stems_of(
            "office building site venue neighbourhood neighborhood street village suburb campus island town zone area \
depot warehouse room hall park",
        )
    });
    is_place(name) || NOUNS.iter().any(|noun| noun == name)
}

/// Whether a stem says which country somebody is of. The adjective of a country asks for it.
pub(super) fn is_nationality(name: &str) -> bool {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| stems_of("nationality citizenship"));
    NAMES.iter().any(|one| one == name)
}

/// What a relation says by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Role {
    /// Where a thing is.
    pub(super) place: bool,
    /// Of what it is a part.
    pub(super) part: bool,
    /// Of what somebody is a member.
    pub(super) member: bool,
}

impl Role {
    /// The role of a relation with this name, of whose names these are the stems. `subjects` are the nouns
    /// of the things that have it.
    pub(super) fn of(name: &str, own: &[String], subjects: impl Fn() -> Vec<String>) -> Self {
        let has = |word: &str| own.contains(&stem(word));
        let words = words(name);
        let is_in = |word: Option<&String>| word.is_some_and(|word| word == "in" || word == "at");
        // `in_zone`, `housed_in`, and `zone_of` of a zone.
        let inside = words.len() > 1 && (is_in(words.first()) || is_in(words.last()));
        let of = matches!(words.as_slice(), [noun, of] if of == "of" && subjects().contains(&stem(noun)));
        Self {
            place: inside || of || own.iter().any(|name| is_place(name)),
            part: of || has("part"),
            member: has("member"),
        }
    }
}

fn stems_of(words: &str) -> Vec<String> {
    words.split(' ').map(stem).collect()
}

/// The aliases of a relation or class.
fn alias_texts(kg: &dyn Kg, node: NodeId) -> Vec<String> {
    let relations = kg.schema().alias_relations.iter();
    let names = relations.flat_map(|&relation| kg.tails(node, relation).into_owned());
    let nouns = kg.schema().row_nouns.iter();
    let nouns = nouns.filter(|(class, _)| *class == node);
    names
        .filter_map(|name| Some(kg.term(name).as_literal()?.lexical.clone()))
        .chain(nouns.map(|(_, noun)| noun.clone()))
        .chain(known_names(kg, node).iter().cloned())
        .collect()
}

/// What people call a term of a public vocabulary: `author` for `foaf:maker`.
fn known_names(kg: &dyn Kg, node: NodeId) -> &'static [String] {
    static KNOWN: LazyLock<FxHashMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut known = FxHashMap::default();
        let mut namespace = "";
        for line in include_str!("../../../data/base/vocabularies.txt").lines() {
            if line.starts_with("http") {
                namespace = line;
            } else if let Some((local, names)) =
                line.split_once(": ").filter(|_| !line.starts_with('#'))
            {
                let names = names.split(", ").map(str::to_owned).collect();
                known.insert(format!("{namespace}{local}"), names);
            }
        }
        known
    });
    let names = kg.iri(node).and_then(|iri| {
        // schema.org has two forms.
        let iri = iri.replacen("https://schema.org/", "http://schema.org/", 1);
        KNOWN.get(&iri)
    });
    names.map_or(&[], Vec::as_slice)
}

/// The stems of each alias of a relation or class.
pub(super) fn aliases(kg: &dyn Kg, node: NodeId) -> Vec<Vec<String>> {
    let names = alias_texts(kg, node);
    names
        .iter()
        .map(|name| stems(name))
        .filter(|stems| !stems.is_empty())
        .collect()
}

/// The stems of a class's label, aliases and last segment.
pub(super) fn class_words(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    let name = kg.name(class);
    let mut names = stems(split(&name).0);
    if let Some(label) = kg.label(class) {
        names.extend(stems(&label));
    }
    names.extend(aliases(kg, class).into_iter().flatten());
    names.sort_unstable();
    names.dedup();
    names
}

/// The last segment of a class's name, its label and its aliases.
pub(super) fn class_texts(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    let name = kg.name(class);
    let mut texts = vec![split(&name).0.to_owned()];
    texts.extend(kg.label(class));
    texts.extend(alias_texts(kg, class));
    texts
}

/// Whether one of these texts has a word with the stem of this one and an ending of the same kind:
/// people who do something (`painter`), what was done (`painted`), or anything else (`painting`). What was
/// `ordered` is an `order`.
pub(super) fn same_kind(word: &str, texts: &[String]) -> bool {
    const ENDINGS: [&[&str]; 2] = [&["er", "or", "ist", "ian"], &["ed"]];
    let kind = |word: &str| {
        let word = word.strip_suffix('s').unwrap_or(word);
        let has = |endings: &&[&str]| endings.iter().any(|ending| word.ends_with(ending));
        ENDINGS.iter().position(has)
    };
    let own = stem(word);
    let done = |other: &str| {
        let one = other.strip_suffix('s').unwrap_or(other);
        let ending = word.strip_prefix(one);
        ending.is_some_and(|ending| matches!(ending, "d" | "ed"))
    };
    let mut alike = texts.iter().flat_map(|text| words(text));
    alike.any(|other| stem(&other) == own && (kind(&other) == kind(word) || done(&other)))
}

/// Whether a stem names anything, so that it says nothing about the class of an answer.
pub(super) fn is_general(name: &str) -> bool {
    const GENERAL: &str = "place location thing item object person people one company firm business organisation organization";
    GENERAL.split(' ').any(|word| stem(word) == name)
}

/// The stems of the nouns that say what the instances of a class are: of its label, its aliases and its
/// last segment.
pub(super) fn class_nouns(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    let texts = class_texts(kg, class);
    texts.iter().flat_map(|text| nouns_of(text)).collect()
}

/// The stem of the last word of a name, and of each part before a preposition or around `or`.
pub(super) fn nouns_of(name: &str) -> Vec<String> {
    const ENDS: [&str; 7] = ["of", "in", "at", "for", "from", "by", "with"];
    let words = words(name);
    let parts = words.split(|word| word == "or" || word == "and");
    let heads = parts.filter_map(|part| {
        let head = part.split(|word| ENDS.contains(&word.as_str())).next();
        head.and_then(<[String]>::last).map(|noun| stem(noun))
    });
    heads.collect()
}
