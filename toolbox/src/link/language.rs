//! General knowledge of English that linking needs, independent of any graph: nations with their
//! adjectives, and ordinary words that are no names.

use std::sync::LazyLock;

use kg::search::{nearly, normalise, singular};
use rustc_hash::{FxHashMap, FxHashSet};

/// Nations by adjective and by name.
#[derive(Default)]
struct Nations {
    /// The normalised names of each nation.
    names: Vec<Vec<String>>,
    /// The words of each nation's names and adjectives, and its codes in ISO 3166.
    coded: Vec<(Vec<String>, Vec<&'static str>)>,
    by_adjective: FxHashMap<String, Vec<usize>>,
    by_name: FxHashMap<String, Vec<usize>>,
}

static NATIONS: LazyLock<Nations> = LazyLock::new(|| {
    let mut nations = Nations::default();
    for line in lines(include_str!("nations.txt")) {
        let Some((names, adjectives)) = line.split_once(':') else {
            continue;
        };
        let (adjectives, codes) = adjectives.split_once(':').unwrap_or((adjectives, ""));
        let at = nations.names.len();
        let names: Vec<String> = names
            .split(['|', ','])
            .map(normalise)
            .filter(|name| !name.is_empty())
            .collect();
        let forms: Vec<String> = adjectives.split(',').map(normalise).collect();
        let words = names.iter().chain(&forms).flat_map(|name| name.split(' '));
        // `the` and `of` name no country.
        let words = words.filter(|word| word.len() > 3 || *word == "uk" || *word == "usa");
        let words = words.map(str::to_owned).collect();
        nations
            .coded
            .push((words, codes.split_whitespace().collect()));
        for adjective in forms {
            let known = nations.by_adjective.entry(adjective).or_default();
            if !names.is_empty() {
                known.push(at);
            }
        }
        for name in &names {
            let known = nations.by_name.entry(name.clone()).or_default();
            known.push(at);
        }
        nations.names.push(names);
    }
    nations
});

/// The two lists of ordinary words: those that name nothing, and those that name professions,
/// genres and the like.
static ORDINARY: LazyLock<[FxHashSet<&str>; 2]> = LazyLock::new(|| {
    let mut lists = [FxHashSet::default(), FxHashSet::default()];
    for line in lines(include_str!("ordinary.txt")) {
        match line.strip_prefix('+') {
            Some(words) => lists[1].extend(words.split_whitespace()),
            None => lists[0].extend(line.split_whitespace()),
        }
    }
    lists
});

/// Ordinary words by their number of characters, for the search of misspelt ones.
static BY_LENGTH: LazyLock<FxHashMap<usize, Vec<&str>>> = LazyLock::new(|| {
    let mut by_length: FxHashMap<usize, Vec<&str>> = FxHashMap::default();
    for word in ORDINARY.iter().flatten() {
        by_length
            .entry(word.chars().count())
            .or_default()
            .push(word);
    }
    by_length
});

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
}

/// Spoken forms of names and of words in names, each with its written form.
const SPOKEN: [(&str, &str); 23] = [
    ("sci fi", "science fiction"),
    ("scifi", "science fiction"),
    ("rom com", "romantic comedy"),
    ("rom coms", "romantic comedy"),
    ("romcoms", "romantic comedy"),
    ("romcom", "romantic comedy"),
    ("biopic", "biographical film"),
    ("telly", "television"),
    ("oscar", "academy award"),
    ("oscars", "academy award"),
    ("goalie", "goalkeeper"),
    ("goalies", "goalkeeper"),
    ("keeper", "goalkeeper"),
    ("barca", "fc barcelona"),
    ("nobel laureates in", "nobel prize in"),
    ("nobel laureate in", "nobel prize in"),
    ("nobel winners in", "nobel prize in"),
    ("nobel for", "nobel prize in"),
    ("nobel in", "nobel prize in"),
    ("nobel", "nobel prize"),
    ("pulitzer for", "pulitzer prize for"),
    ("booker", "booker prize"),
    ("whodunit", "mystery"),
];

/// How a spoken name is written, both normalised: `Academy Award for Best Actor` for `best actor oscar`.
pub(super) fn written_out(name: &str) -> Option<String> {
    let begins = |word: &str| SPOKEN.iter().any(|(spoken, _)| spoken.starts_with(word));
    if !name.split(' ').any(begins) {
        return None;
    }
    let of = |(spoken, written): &(&str, &'static str)| {
        let (before, behind) = name.split_once(spoken)?;
        let whole = (before.is_empty() || before.ends_with(' '))
            && (behind.is_empty() || behind.starts_with(' '));
        whole.then_some((before.trim(), *written, behind.trim()))
    };
    let (before, written, behind) = SPOKEN.iter().find_map(of)?;
    let last = behind.is_empty() && !before.is_empty();
    let parts = match written {
        "academy award" if last => [written, "for", before],
        // `the physics Nobel`
        "nobel prize" if last => [written, "in", before],
        _ => [before, written, behind],
    };
    Some(parts.join(" ").trim().to_owned())
}

/// Believers, with the names of what they believe.
const CREEDS: &[(&str, &[&str])] = &[
    ("agnostic", &["agnosticism"]),
    ("anglican", &["anglicanism", "church of england"]),
    ("atheist", &["atheism"]),
    ("baptist", &["baptists", "baptist church"]),
    ("buddhist", &["buddhism"]),
    ("calvinist", &["calvinism"]),
    (
        "catholic",
        &[
            "catholicism",
            "catholic church",
            "roman catholic church",
            "roman catholicism",
        ],
    ),
    ("christian", &["christianity"]),
    ("confucian", &["confucianism"]),
    ("hindu", &["hinduism"]),
    ("jain", &["jainism"]),
    ("jew", &["judaism"]),
    ("jewish", &["judaism"]),
    ("lutheran", &["lutheranism", "lutheran church"]),
    ("methodist", &["methodism", "methodist church"]),
    ("mormon", &["mormonism"]),
    ("muslim", &["islam"]),
    (
        "orthodox",
        &[
            "orthodox church",
            "eastern orthodox church",
            "eastern orthodoxy",
        ],
    ),
    ("presbyterian", &["presbyterianism", "presbyterian church"]),
    ("protestant", &["protestantism"]),
    ("quaker", &["quakerism", "religious society of friends"]),
    ("shia", &["shia islam"]),
    ("sikh", &["sikhism"]),
    ("sunni", &["sunni islam"]),
    ("taoist", &["taoism"]),
];

/// The subjects that a normalised noun in `-ist` may come from: `violin` for `violinists`, `cardiology` for
/// `cardiologist`. Empty for ordinary professions such as `artist`. Believers come from their religion.
pub(super) fn subjects_of(noun: &str) -> Vec<String> {
    let believes = |(name, _): &&(&str, &[&str])| noun.strip_suffix('s').unwrap_or(noun) == *name;
    if let Some((_, creeds)) = CREEDS.iter().find(believes) {
        return creeds.iter().map(|creed| (*creed).to_owned()).collect();
    }
    const ENDINGS: [&str; 7] = ["", "o", "y", "e", "s", "ry", "istry"];
    if !noun.ends_with("ist") && !noun.ends_with("ists") {
        return Vec::new();
    }
    let one = singular(noun).unwrap_or_else(|| noun.to_owned());
    let known = is_concept(noun) || is_ordinary(noun);
    match one.strip_suffix("ist") {
        Some(base) if base.len() >= 4 && !known => {
            ENDINGS.map(|ending| format!("{base}{ending}")).into()
        }
        _ => Vec::new(),
    }
}

/// The codes of the nations of a normalised name or adjective: `NO` and `NOR` of `norwegian`.
pub(super) fn codes(name: &str) -> impl Iterator<Item = &'static str> {
    let adjectives = NATIONS.by_adjective.get(name);
    let found = adjectives.or_else(|| NATIONS.by_name.get(name));
    let all = found.into_iter().flatten();
    all.flat_map(|&at| NATIONS.coded[at].1.iter().copied())
}

/// Words for the sexes, and how tables write these.
const SEXES: [(&str, [&str; 2]); 2] = [
    (
        "female females woman women girl girls lady ladies",
        ["F", "female"],
    ),
    ("male males man men boy boys gentlemen", ["M", "male"]),
];

/// How tables write the sex that a lower-case word names.
pub(super) fn sexes(word: &str) -> &'static [&'static str] {
    let of = |(words, _): &&(&str, [&str; 2])| words.split(' ').any(|one| one == word);
    (SEXES.iter().find(of)).map_or(&[], |(_, written)| written)
}

/// The words for the sex that a table writes like this.
pub(crate) fn words_of_sex(written: &str) -> impl Iterator<Item = &'static str> {
    let of = |(_, forms): &&(&str, [&str; 2])| {
        forms.iter().any(|form| form.eq_ignore_ascii_case(written))
    };
    let words = SEXES.iter().find(of).map(|(words, _)| words.split(' '));
    words.into_iter().flatten()
}

/// The words of the names and adjectives of the nation with this normalised name.
pub(super) fn forms(name: &str) -> &'static [String] {
    let nation = NATIONS.by_name.get(name).and_then(|at| at.first());
    nation.map_or(&[], |&at| NATIONS.coded[at].0.as_slice())
}

/// The words of the names and adjectives of the nation with this code, name or adjective (`Asia`: `asia`,
/// `asian`).
pub(crate) fn words_of_nation(text: &str) -> &'static [String] {
    let by_code = (NATIONS.coded.iter()).find(|(_, codes)| codes.contains(&text));
    let by_name = || {
        let at = *NATIONS.by_name.get(&normalise(text))?.first()?;
        NATIONS.coded.get(at)
    };
    let by_adjective = || {
        let at = *NATIONS.by_adjective.get(&normalise(text))?.first()?;
        NATIONS.coded.get(at)
    };
    by_code
        .or_else(by_name)
        .or_else(by_adjective)
        .map_or(&[], |(words, _)| words.as_slice())
}

/// What a name is by the list of nations: a `country` or a `continent`.
pub(crate) fn kind_of_place(name: &str) -> Option<&'static str> {
    const CONTINENTS: &str =
        "africa|antarctica|asia|australia|europe|north america|oceania|south america";
    let name = normalise(name);
    if CONTINENTS.split('|').any(|one| one == name) {
        return Some("continent");
    }
    let at = *NATIONS.by_name.get(&name)?.first()?;
    let (_, codes) = NATIONS.coded.get(at)?;
    (codes.iter().any(|code| code.len() == 3)).then_some("country")
}

/// The names of the nations of a normalised adjective or noun (`french`, `Germans`), in the
/// singular or plural.
pub(super) fn nations(word: &str) -> Vec<&'static str> {
    let known = &NATIONS.by_adjective;
    let one = || {
        singular(word)
            .or_else(|| word.strip_suffix('s').map(str::to_owned))
            .and_then(|one| known.get(&one))
    };
    let found = known.get(word).or_else(one);
    found
        .into_iter()
        .flatten()
        .flat_map(|&at| NATIONS.names[at].iter().map(String::as_str))
        .collect()
}

/// Other names of the nations with this normalised name (`holland`, `usa`).
pub(super) fn other_names(name: &str) -> Vec<&'static str> {
    let found = NATIONS.by_name.get(name).into_iter().flatten();
    found
        .flat_map(|&at| NATIONS.names[at].iter().map(String::as_str))
        .filter(|other| *other != name)
        .collect()
}

/// Whether a normalised word is an adjective or noun of a nation, region or language.
pub(crate) fn is_adjective(word: &str) -> bool {
    NATIONS.by_adjective.contains_key(word)
}

/// The place that an adjective may be made from, if it is no nation's: `Valdorian` of Valdoria, `Sundreli` of Sundrel.
pub(super) fn home_of(word: &str) -> Option<&str> {
    /// Letters of such a name, at least.
    const NAME: usize = 5;
    let one = match word.strip_suffix('s') {
        Some(one) if one.ends_with('n') => one,
        _ => word,
    };
    let home = match one.strip_suffix('n') {
        Some(home) if home.ends_with('a') => Some(home),
        _ => one.strip_suffix("ese").or_else(|| one.strip_suffix('i')),
    };
    home.filter(|home| home.chars().count() >= NAME && !is_ordinary(word) && !is_concept(word))
}

/// Whether people are called so before their surname: `Dr Hall`.
pub(super) fn is_title(word: &str) -> bool {
    const TITLES: &str = "mr mrs ms miss mx dr doctor prof professor sir dame lord lady madam rev reverend capt captain sgt \
                          judge nurse coach";
    TITLES.split(' ').any(|title| title == word)
}

/// Whether a normalised text is the name of a nation, continent or region.
pub(super) fn is_nation(name: &str) -> bool {
    NATIONS.by_name.contains_key(name)
}

/// Whether a word is ordinary and names nothing.
pub(super) fn is_ordinary(word: &str) -> bool {
    ORDINARY[0].contains(word)
}

/// Whether a word names a profession, a genre or the like.
pub(super) fn is_concept(word: &str) -> bool {
    ORDINARY[1].contains(word)
}

/// Whether a word is ordinary or a misspelt ordinary word.
pub(super) fn is_nearly_ordinary(word: &str) -> bool {
    let length = word.chars().count();
    is_ordinary(word)
        || is_concept(word)
        || (length.saturating_sub(2)..=length + 2)
            .filter_map(|length| BY_LENGTH.get(&length))
            .flatten()
            .any(|known| nearly(word, known))
}

/// Words that a name may have or lack, besides its distinctive words.
pub(super) fn is_designator(word: &str) -> bool {
    is_particle(word) || is_club(word) || DESIGNATORS.contains(&word)
}

/// Words that mark a sports club.
pub(super) fn is_club(word: &str) -> bool {
    [
        "ac", "afc", "as", "cf", "club", "fc", "fk", "sc", "sk", "ss", "sv",
    ]
    .contains(&word)
}

/// Words for what is named after its place: `London` is no London Stadium.
pub(super) fn is_institution(word: &str) -> bool {
    const INSTITUTIONS: &str = "airport bridge building castle cathedral church college festival hospital hotel institute \
                                museum palace park school stadium station theater theatre tower university";
    INSTITUTIONS.split(' ').any(|one| one == word)
}

/// Small words inside names.
pub(super) fn is_particle(word: &str) -> bool {
    PARTICLES.contains(&word)
}

const PARTICLES: &[&str] = &[
    "a", "al", "an", "and", "bin", "d", "da", "de", "del", "della", "den", "der", "des", "di",
    "do", "dos", "du", "el", "ibn", "la", "las", "le", "los", "of", "the", "van", "von", "y", "zu",
];

const DESIGNATORS: &[&str] = &[
    "airport",
    "award",
    "bay",
    "bridge",
    "building",
    "canyon",
    "castle",
    "cathedral",
    "church",
    "city",
    "club",
    "college",
    "comics",
    "corp",
    "corporation",
    "desert",
    "disease",
    "disorder",
    "empire",
    "festival",
    "fiction",
    "film",
    "gmbh",
    "gulf",
    "hospital",
    "hotel",
    "inc",
    "institute",
    "island",
    "islands",
    "kingdom",
    "lake",
    "language",
    "llc",
    "ltd",
    "mount",
    "mountain",
    "mountains",
    "mt",
    "museum",
    "national",
    "novel",
    "ocean",
    "palace",
    "park",
    "people",
    "plc",
    "prize",
    "records",
    "republic",
    "river",
    "saint",
    "school",
    "sea",
    "sir",
    "st",
    "stadium",
    "state",
    "station",
    "studio",
    "studios",
    "syndrome",
    "theater",
    "theatre",
    "tower",
    "university",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_of_what_they_play_or_practise() {
        for (noun, subject) in [
            ("violinists", "violin"),
            ("pianist", "piano"),
            ("cardiologists", "cardiology"),
        ] {
            assert!(subjects_of(noun).iter().any(|one| one == subject), "{noun}");
        }
        for noun in ["artists", "list", "tourists are", "violin"] {
            assert!(subjects_of(noun).is_empty(), "{noun}");
        }
    }

    #[test]
    fn spoken_names_are_written_out() {
        for (spoken, written) in [
            ("sci fi", Some("science fiction")),
            ("sci fi film", Some("science fiction film")),
            (
                "best actress oscars",
                Some("academy award for best actress"),
            ),
            ("oscar for best actor", Some("academy award for best actor")),
            ("science fiction", None),
            ("oscarine", None),
        ] {
            assert_eq!(written_out(spoken).as_deref(), written, "{spoken}");
        }
    }

    #[test]
    fn adjectives_lead_to_nations() {
        assert_eq!(nations("french"), ["france"]);
        assert_eq!(nations("italians"), ["italy"]);
        assert!(nations("dutch").contains(&"holland"));
        assert!(nations("arabic").is_empty() && is_adjective("arabic"));
        assert!(nations("paris").is_empty() && !is_adjective("paris"));
        assert!(other_names("usa").contains(&"united states"));
    }

    #[test]
    fn misspelt_ordinary_words_are_not_names() {
        assert!(is_nearly_ordinary("populaton") && is_nearly_ordinary("burried"));
        assert!(is_ordinary("film") && is_concept("actor"));
        assert!(!is_nearly_ordinary("hitchcock") && !is_nearly_ordinary("botswanna"));
    }
}
