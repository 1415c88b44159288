//! English inflection: plural and singular of noun phrases, and articles.

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

/// Whether the head of a noun phrase is a plural.
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

/// The head of a noun phrase: the word before the first preposition, else the last word.
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
