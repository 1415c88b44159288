//! English words: splitting the names of relations and classes, plural and singular.

use super::lexicon::Lexicon;

/// The parts of a relation's or class's short name that people would say, most specific last: `film.film.directed_by` gives `[film, film,
/// directed by]`, `http://ex.org/car_makers#ref-country` gives `[car makers, ref country]`, `dbo:birthPlace` gives `[birth place]`.
pub(super) fn segments(name: &str, lexicon: &Lexicon) -> Vec<String> {
    let local = match name.split_once("://") {
        // Of a full IRI the last two parts of the path are enough: table and column, or vocabulary and name.
        Some((_, rest)) => {
            let parts: Vec<&str> = rest.split(['/', '#']).collect();
            parts[parts
                .len()
                .saturating_sub(2)
                .max(usize::from(parts.len() > 1))..]
                .join("#")
        }
        None => name
            .split_once(':')
            .map_or(name, |(_, local)| local)
            .to_owned(),
    };
    local
        .replace("__", ".")
        .split(['.', '/', '#', ':'])
        .map(|part| {
            let words = toolbox::rank::words(part);
            words
                .iter()
                .flat_map(|word| lexicon.split(word))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .filter(|part| !part.is_empty())
        .collect()
}

const UNCOUNTED: &[&str] = &[
    "people",
    "staff",
    "music",
    "money",
    "information",
    "news",
    "software",
    "equipment",
    "data",
];
const PLURALS: &[(&str, &str)] = &[
    ("person", "people"),
    ("child", "children"),
    ("man", "men"),
    ("woman", "women"),
    ("wife", "wives"),
    ("life", "lives"),
    ("foot", "feet"),
    ("mouth", "mouths"),
    ("species", "species"),
    ("series", "series"),
    ("headquarters", "headquarters"),
    ("datum", "data"),
];

/// The plural of a word.
fn plural_word(word: &str) -> String {
    if UNCOUNTED.contains(&word) || is_plural(word) {
        return word.to_owned();
    }
    if let Some((_, plural)) = PLURALS.iter().find(|(one, _)| *one == word) {
        return (*plural).to_owned();
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    if let Some(stem) = word
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']))
    {
        return format!("{stem}ies");
    }
    if ends(&["s", "x", "z", "ch", "sh"]) {
        format!("{word}es")
    } else {
        format!("{word}s")
    }
}

/// Whether a word reads as a plural.
pub(super) fn is_plural(phrase: &str) -> bool {
    let word = head(phrase);
    if PLURALS.iter().any(|(_, many)| *many == word) || UNCOUNTED.contains(&word) {
        return true;
    }
    word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is", "ous", "ics"]
            .iter()
            .any(|end| word.ends_with(end))
}

fn singular_word(word: &str) -> String {
    if let Some((one, _)) = PLURALS.iter().find(|(_, many)| *many == word) {
        return (*one).to_owned();
    }
    if !is_plural(word) || UNCOUNTED.contains(&word) {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return if ["mov", "cook", "zomb"].contains(&stem) {
            format!("{stem}ie")
        } else {
            format!("{stem}y")
        };
    }
    for ending in ["sses", "shes", "ches", "xes", "zzes", "tzes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    word[..word.len() - 1].to_owned()
}

/// The word that carries number: before `of` and other prepositions, else the last.
fn head(phrase: &str) -> &str {
    let mut last = "";
    for word in phrase.split(' ') {
        if ["of", "in", "for", "at", "on", "from", "by", "to"].contains(&word) && !last.is_empty() {
            return last;
        }
        last = word;
    }
    last
}

fn with_head(phrase: &str, change: impl Fn(&str) -> String) -> String {
    let word = head(phrase);
    let start = word.as_ptr() as usize - phrase.as_ptr() as usize;
    format!(
        "{}{}{}",
        &phrase[..start],
        change(word),
        &phrase[start + word.len()..]
    )
}

/// The plural of a noun phrase: `place of birth` becomes `places of birth`.
pub(super) fn plural(phrase: &str) -> String {
    with_head(phrase, plural_word)
}

/// The singular of a noun phrase.
pub(super) fn singular(phrase: &str) -> String {
    with_head(phrase, singular_word)
}

/// `a` or `an`.
pub(super) fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        let lexicon = Lexicon::new();
        let last = |name: &str| segments(name, &lexicon).pop().unwrap_or_default();
        assert_eq!(last("film.film.directed_by"), "directed by");
        assert_eq!(last("dbo:birthPlace"), "birth place");
        assert_eq!(
            segments(
                "http://valuenet.example/ontop/car_makers#ref-country",
                &lexicon
            ),
            ["car makers", "ref country"]
        );
        assert_eq!(last("__people__person__place_of_birth"), "place of birth");
        assert_eq!(last("lifeexpectancy"), "life expectancy");
        assert_eq!(last("headofstate"), "head of state");
    }

    #[test]
    fn nouns_have_two_numbers() {
        for (one, many) in [
            ("city", "cities"),
            ("place of birth", "places of birth"),
            ("person", "people"),
            ("car maker", "car makers"),
            ("church", "churches"),
        ] {
            assert_eq!((plural(one).as_str(), singular(many).as_str()), (many, one));
        }
        assert!(is_plural("people born here") || !is_plural("status"));
        assert_eq!(singular("status"), "status");
        assert_eq!(
            (singular("sizes"), singular("waltzes")),
            ("size".to_owned(), "waltz".to_owned())
        );
    }
}
