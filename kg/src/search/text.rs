//! Comparison of names: the normal form, weaker forms, and edit distance.

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, TokenStream};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Number of characters of a name that are compared; longer than any title of the published sets.
pub(crate) const NAME_CHARS: usize = 200;

/// Minimum length of a text for one edit, and for two. In shorter texts nearly every word would
/// match.
const ONE_EDIT: usize = 4;
const TWO_EDITS: usize = 8;

/// Maximum length of a text for fuzzy search: the automaton grows with it, and long names match by
/// words.
const FUZZY_CHARS: usize = 40;

/// The normal form of a name: compatibility forms and diacritics folded, lower case, punctuation
/// and underscores as spaces, apostrophes and the dots of initials removed (`O'Neill`, `U.S.`),
/// initials joined, `&` as `and`, single spaces. Empty if the text has no letters or digits.
///
/// ```
/// use kg::search::normalise;
/// assert_eq!(normalise("  Musée_d’Orsay (Paris) "), "musee dorsay paris");
/// assert_eq!(normalise("Simon & Garfunkel"), "simon and garfunkel");
/// assert_eq!(normalise("U.S. Open – Ødegård"), "us open odegard");
/// ```
#[must_use]
pub fn normalise(text: &str) -> String {
    if text.is_ascii() {
        return single_spaced(&spaced_ascii(text.as_bytes()));
    }
    let chars: Vec<char> = text
        .nfkd()
        .filter(|&c| !is_combining_mark(c))
        .take(NAME_CHARS)
        .collect();
    let mut spaced = String::with_capacity(text.len());
    for (i, &c) in chars.iter().enumerate() {
        let before = if i == 0 { ' ' } else { chars[i - 1] };
        match c {
            '&' => spaced.push_str(" and "),
            c if c.is_alphanumeric() => spaced.extend(c.to_lowercase()),
            '\'' | '’' | '‘' | '`' | '´' | 'ʼ' if before.is_alphanumeric() => {}
            '.' if ends_initial(&chars, i) => {}
            _ => spaced.push(' '),
        }
    }
    let out = single_spaced(&spaced);
    if out.is_ascii() { out } else { ascii(&out) }
}

/// [`normalise`] for ASCII before spaces are collapsed: letters and digits in lower case,
/// everything else as spaces.
fn spaced_ascii(text: &[u8]) -> String {
    let text = &text[..text.len().min(NAME_CHARS)];
    let is =
        |at: Option<usize>, kind: fn(&u8) -> bool| at.and_then(|at| text.get(at)).is_some_and(kind);
    let mut spaced = String::with_capacity(text.len() + 8);
    for (i, &byte) in text.iter().enumerate() {
        let before = |back: usize, kind: fn(&u8) -> bool| is(i.checked_sub(back), kind);
        match byte {
            b'&' => spaced.push_str(" and "),
            byte if byte.is_ascii_alphanumeric() => {
                spaced.push(char::from(byte.to_ascii_lowercase()));
            }
            b'\'' | b'`' if before(1, u8::is_ascii_alphanumeric) => {}
            b'.' if before(1, u8::is_ascii_alphabetic) && !before(2, u8::is_ascii_alphanumeric) => {
            }
            _ => spaced.push(' '),
        }
    }
    spaced
}

/// Number of characters of a text that are not spaces.
pub fn letters(text: &str) -> usize {
    text.chars().filter(|&c| c != ' ').count()
}

/// Number of [`letters`] in the normal form of a text; `None` if counting them is as expensive as
/// normalising.
pub fn normal_letters(text: &str) -> Option<usize> {
    let of = |byte: u8| {
        if byte == b'&' {
            "and".len()
        } else {
            usize::from(byte.is_ascii_alphanumeric())
        }
    };
    (text.is_ascii() && text.len() <= NAME_CHARS).then(|| text.bytes().map(of).sum())
}

/// Collapses spaces and joins initials.
fn single_spaced(spaced: &str) -> String {
    let mut out = String::with_capacity(spaced.len());
    let mut single = false;
    for word in spaced.split_whitespace() {
        let was = std::mem::replace(
            &mut single,
            word.chars().nth(1).is_none() && word.chars().all(char::is_alphabetic),
        );
        // Adjacent initials join, so that `J. R. R.` equals `J.R.R.`.
        let joins = was && single;
        if !out.is_empty() && !joins {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Whether the dot at `i` follows a single letter, as in `U.S.` and `J. R. R.`.
fn ends_initial(chars: &[char], i: usize) -> bool {
    let letter = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|c| c.is_alphabetic())
    };
    letter(i.checked_sub(1))
        && !i
            .checked_sub(2)
            .and_then(|at| chars.get(at))
            .is_some_and(|c| c.is_alphanumeric())
}

/// Replaces non-ASCII letters by ASCII equivalents (`ø` by `o`, `ß` by `ss`) where possible.
fn ascii(text: &str) -> String {
    let mut analyzer = TextAnalyzer::builder(RawTokenizer::default())
        .filter(AsciiFoldingFilter)
        .build();
    let mut stream = analyzer.token_stream(text);
    if stream.advance() {
        stream.token().text.to_lowercase()
    } else {
        String::new()
    }
}

/// A name without the part that distinguishes it from equal names: `Titanic (1997 film)`, `Paris,
/// Texas`. `None` if there is no such part.
pub(crate) fn undistinguished(text: &str) -> Option<&str> {
    let text = text.trim();
    let cut = match text.strip_suffix(')').and_then(|rest| rest.rfind('(')) {
        Some(open) => &text[..open],
        None => text
            .split_once(", ")
            .filter(|(_, rest)| !rest.contains(','))
            .map(|(head, _)| head)?,
    };
    let cut = cut.trim_end();
    (!cut.is_empty()).then_some(cut)
}

/// Other normal forms that may be indexed: with and without an article, and in the singular.
pub(crate) fn variants(normal: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for article in ["the ", "a ", "an "] {
        if let Some(rest) = normal.strip_prefix(article).filter(|rest| !rest.is_empty()) {
            forms.push(rest.to_owned());
        }
    }
    if forms.is_empty() && !normal.is_empty() {
        forms.push(format!("the {normal}"));
    }
    let (head, last) = normal
        .rsplit_once(' ')
        .map_or(("", normal), |(head, last)| (head, last));
    if let Some(one) = singular(last) {
        forms.push(if head.is_empty() {
            one
        } else {
            format!("{head} {one}")
        });
    }
    forms
}

/// The singular of an English plural; `None` if the word is not a plural.
pub fn singular(word: &str) -> Option<String> {
    let long = |base: &str, least: usize| base.chars().count() >= least;
    if let Some(base) = word.strip_suffix("ies").filter(|base| long(base, 2)) {
        return Some(format!("{base}y"));
    }
    if let Some(base) = word
        .strip_suffix("es")
        .filter(|base| long(base, 3) && base.ends_with(['s', 'x', 'z', 'h']))
    {
        return Some(base.to_owned());
    }
    word.strip_suffix('s')
        .filter(|base| long(base, 3) && !base.ends_with(['s', 'u', 'i']))
        .map(str::to_owned)
}

/// Number of edits allowed in a text of this many characters.
pub(super) fn allowed_edits(chars: usize) -> u8 {
    match chars {
        0..ONE_EDIT => 0,
        ONE_EDIT..TWO_EDITS => 1,
        TWO_EDITS..=FUZZY_CHARS => 2,
        _ => 0,
    }
}

/// A lower bound of [`edits`] that is cheap to compute: the number of characters that one text has
/// and the other lacks.
pub(super) fn fewest_edits(a: &str, b: &str) -> usize {
    if !a.is_ascii() || !b.is_ascii() {
        return 0;
    }
    let mut more = [0_i16; 128];
    a.bytes().for_each(|byte| more[usize::from(byte)] += 1);
    b.bytes().for_each(|byte| more[usize::from(byte)] -= 1);
    let lacking = |sign: i16| {
        more.iter()
            .map(|count| usize::try_from(count * sign).unwrap_or(0))
            .sum::<usize>()
    };
    lacking(1).max(lacking(-1))
}

/// Number of insertions, deletions, substitutions and swaps of neighbours that turn one text into
/// the other (optimal string alignment distance).
pub(super) use strsim::osa_distance as edits;

/// Whether two texts have the same digits in the same order. A different digit means a different
/// thing, not a typing error: `INC-2198` is not `INC-2155`.
pub(super) fn same_digits(a: &str, b: &str) -> bool {
    a.bytes()
        .filter(u8::is_ascii_digit)
        .eq(b.bytes().filter(u8::is_ascii_digit))
}

/// Whether a normalised text is within the allowed number of edits of a normalised name.
pub fn nearly(text: &str, name: &str) -> bool {
    let allowed = edits_of(name);
    let length = || text.chars().count().abs_diff(name.chars().count());
    allowed > 0
        && length() <= allowed
        && same_digits(text, name)
        && fewest_edits(text, name) <= allowed
        && edits(text, name) <= allowed
}

/// Number of edits by which a text may differ from a normalised name and still match it.
pub fn edits_of(name: &str) -> usize {
    usize::from(allowed_edits(name.chars().count()))
}

/// Similarity of two texts in `[0, 1]`: the Dice coefficient of their character trigrams.
pub(super) fn similarity(a: &str, b: &str) -> f32 {
    let grams = |text: &str| {
        let padded: Vec<char> = format!(" {text} ").chars().collect();
        let mut grams: Vec<[char; 3]> = padded
            .windows(3)
            .map(|gram| [gram[0], gram[1], gram[2]])
            .collect();
        grams.sort_unstable();
        grams.dedup();
        grams
    };
    let (a, b) = (grams(a), grams(b));
    let shared = a
        .iter()
        .filter(|gram| b.binary_search(gram).is_ok())
        .count();
    let all = a.len() + b.len();
    if all == 0 {
        0.0
    } else {
        2.0 * shared as f32 / all as f32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn another_digit_is_no_typing_error() {
        assert!(nearly("inc 2155 outge", "inc 2155 outage"));
        assert!(!nearly("inc 2198 outage", "inc 2155 outage"));
        assert!(!nearly("qc 2020 02", "qc 2021 02"));
        assert!(nearly("hitchcok", "hitchcock"));
    }

    #[test]
    fn equivalent_names_have_one_normal_form() {
        for (name, normal) in [
            (
                "Frederica_of_Mecklenburg-Strelitz",
                "frederica of mecklenburg strelitz",
            ),
            ("J. R. R. Tolkien", "jrr tolkien"),
            ("J.R.R. Tolkien", "jrr tolkien"),
            ("O’Neill", "oneill"),
            ("Straße", "strasse"),
            ("ＡＢＣ ½", "abc 1 2"),
            ("¿?!", ""),
        ] {
            assert_eq!(normalise(name), normal, "{name}");
        }
    }

    #[test]
    fn distinguishing_parts_are_removed() {
        assert_eq!(undistinguished("Titanic (1997 film)"), Some("Titanic"));
        assert_eq!(
            undistinguished("El Sobrante, California"),
            Some("El Sobrante")
        );
        assert_eq!(undistinguished("Crosby, Stills, Nash"), None);
        assert_eq!(undistinguished("(sic)"), None);
    }

    #[test]
    fn plurals_and_articles_are_variants() {
        assert_eq!(variants("comedies"), ["the comedies", "comedy"]);
        assert_eq!(variants("the beatles"), ["beatles", "the beatle"]);
        assert_eq!(singular("boss"), None);
        assert_eq!(singular("churches").as_deref(), Some("church"));
    }

    #[test]
    fn edits_count_swaps_once() {
        assert_eq!(
            (
                edits("amazon", "amzaon"),
                edits("nile", "nile"),
                edits("nile", "")
            ),
            (1, 0, 4)
        );
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "\\PC{0,40}") {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once);
        }

        #[test]
        fn edits_are_a_symmetric_distance(a in "[abc]{0,8}", b in "[abc]{0,8}") {
            prop_assert_eq!(edits(&a, &b), edits(&b, &a));
            prop_assert_eq!(edits(&a, &b) == 0, a == b);
        }

        #[test]
        fn fewest_edits_is_a_lower_bound(a in "[abc é]{0,8}", b in "[abc é]{0,8}") {
            prop_assert!(fewest_edits(&a, &b) <= edits(&a, &b));
            prop_assert!(letters(&a).abs_diff(letters(&b)) <= edits(&a, &b));
        }

        #[test]
        fn normal_letters_counts_letters_of_the_normal_form(text in "[a-zA-Z0-9 .&'`_-]{0,30}|\\PC{0,40}|[a-z. ]{150,250}") {
            if let Some(counted) = normal_letters(&text) {
                prop_assert_eq!(counted, letters(&normalise(&text)));
            }
        }
    }
}
