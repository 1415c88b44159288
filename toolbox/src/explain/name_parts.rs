//! First and last names: how questions say them, and how tables call their columns.

/// What the word at `at` says of a name, and how many words say it: `first name`, `first` of `first and last
/// names`. English.
pub(super) fn name_part(all: &[impl AsRef<str>], at: usize) -> Option<(&'static str, usize)> {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let part = part_of(word(at))?;
    let name = |at: usize| matches!(word(at), "name" | "names");
    if name(at + 1) {
        return Some((part, 2));
    }
    let joined = matches!(word(at + 1), "and" | "or");
    (joined && part_of(word(at + 2)).is_some() && name(at + 3)).then_some((part, 1))
}

fn part_of(word: &str) -> Option<&'static str> {
    match word {
        "first" | "given" => Some("forename"),
        "last" | "family" => Some("surname"),
        _ => None,
    }
}

/// The words of a column's name, with one word for the part of a name that it holds: `first_name`, `Stu_LName`.
pub(super) fn with_name_parts(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut said = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let (word, length) = match (words[at], name_part(&words, at)) {
            ("fname" | "firstname", _) => ("forename", 1),
            ("lname" | "lastname", _) => ("surname", 1),
            (_, Some((part, 2))) => (part, 2),
            (word, _) => (word, 1),
        };
        said.push(word);
        at += length;
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_names_are_read_in_questions_and_columns() {
        let at = |question: &str, at: usize| {
            let words: Vec<&str> = question.split(' ').collect();
            name_part(&words, at)
        };
        assert_eq!(at("first name", 0), Some(("forename", 2)));
        assert_eq!(at("first and last names", 0), Some(("forename", 1)));
        assert_eq!(at("first and last names", 2), Some(("surname", 2)));
        assert_eq!(at("first and last games", 0), None);
        assert_eq!(at("the first to come", 1), None);
        for (column, words) in [
            ("stu fname", "stu forename"),
            ("last name", "surname"),
            ("name", "name"),
            ("first", "first"),
        ] {
            assert_eq!(with_name_parts(column), words);
        }
    }
}
