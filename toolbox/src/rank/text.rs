//! Words, stems and trigrams of English questions and names, independent of any data set.

use std::sync::LazyLock;

use kg::words;
use rustc_hash::{FxHashMap, FxHashSet};

/// Words without influence on the choice of a relation: articles, prepositions, auxiliaries and
/// question words.
const STOP: &str = "a an the of in on at to by for with from as is are was were be been being am do does did has have had having what which \
who whom whose when where why how that this these those it its s t and or not no nor but if then than so such there their they them he she \
him her his hers we us our you your i me my can could will would shall should may might must let list name give tell show find please also \
any some all each both either one ones own same other others another many much more most few less least very too only just about into over \
under after before between through during out up down off";

/// Whether a lower-case word is one of the stop words.
#[must_use]
pub fn is_stop(word: &str) -> bool {
    static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP.split(' ').collect());
    WORDS.contains(word)
}

/// The words that are not stop words.
#[must_use]
pub fn content(text: &str) -> Vec<String> {
    words(text)
        .into_iter()
        .filter(|word| !is_stop(word))
        .collect()
}

/// Word families that stemming does not unify: a base form and the forms mapped to it.
const FAMILIES: &[(&str, &[&str])] = &[
    ("birth", &["born"]),
    ("death", &["died", "die", "dead", "dying", "deceased"]),
    (
        "write",
        &["wrote", "written", "writer", "author", "screenwriter"],
    ),
    ("language", &["speak", "spoke", "spoken"]),
    ("win", &["won", "winner"]),
    ("lead", &["led"]),
    ("build", &["built"]),
    ("sing", &["sang", "sung"]),
    ("hold", &["held"]),
    ("make", &["made"]),
    ("teach", &["taught"]),
    ("begin", &["began", "begun"]),
    ("choose", &["chose", "chosen"]),
    ("fight", &["fought"]),
    ("marri", &["marry", "married", "marrying", "marriage"]),
    (
        "child",
        &["children", "son", "daughter", "kid", "kiddo", "offspring"],
    ),
    ("parent", &["father", "mother", "dad", "mom", "mum"]),
    ("spouse", &["husband", "wife", "wives"]),
    ("person", &["people"]),
    ("man", &["men"]),
    ("woman", &["women"]),
    ("film", &["movie"]),
    ("city", &["town", "citi"]),
    ("country", &["nation", "countri"]),
    ("location", &["located", "situated"]),
    ("population", &["inhabitant"]),
    ("elevation", &["height"]),
    ("occupation", &["profession", "job"]),
    ("gender", &["sex"]),
    ("religion", &["faith"]),
    ("order", &["ordered"]),
    ("transfer", &["transferred"]),
    ("power", &["powered"]),
    ("register", &["registered"]),
    (
        "delivered",
        &[
            "deliver",
            "delivers",
            "delivery",
            "deliveries",
            "delivering",
        ],
    ),
    ("offered", &["offer", "offers", "offering"]),
    ("draw", &["drew", "drawn"]),
    ("sell", &["sold"]),
    ("buy", &["bought"]),
    ("drive", &["drove", "driven"]),
    ("grow", &["grew", "grown"]),
    ("fly", &["flew", "flown"]),
    ("wear", &["wore", "worn"]),
    ("throw", &["threw", "thrown"]),
    ("spend", &["spent"]),
    ("send", &["sent"]),
    ("bring", &["brought"]),
    ("steal", &["stole", "stolen"]),
    ("eat", &["ate", "eaten"]),
    ("ride", &["rode", "ridden"]),
];

/// Nouns that would lose an ending and then look like another word: a station is no state, and an action no actor.
const WHOLE: &[&str] = &[
    "station", "action", "section", "edition", "mission", "county", "party", "story", "army",
    "flower",
];

/// Endings to remove, longest first; at least three letters must remain.
const ENDINGS: [&str; 15] = [
    "ations", "ation", "ings", "ing", "ions", "ion", "ors", "ers", "or", "er", "ies", "ed", "es",
    "s", "y",
];

/// A crude English stem: enough to unify `directed`, `director` and `directs`, or `born` and
/// `birth`.
#[must_use]
pub fn stem(word: &str) -> String {
    // `classes` loses as much as `class`.
    let word = match word.strip_suffix("es") {
        Some(one) if one.ends_with("ss") => one,
        _ => word,
    };
    // And `valleys` as much as `valley`.
    let word = match word.strip_suffix('s') {
        Some(one) if ["ay", "ey", "oy"].iter().any(|end| one.ends_with(end)) => one,
        _ => word,
    };
    let plural = |one: &&&str| match one.strip_suffix('y') {
        Some(start) => word.strip_suffix("ies") == Some(start),
        None => word.strip_suffix('s') == Some(**one),
    };
    let noun = (WHOLE.iter()).find(|one| **one == word || plural(one));
    if let Some(noun) = noun {
        return (*noun).to_owned();
    }
    let base = family(word)
        .or_else(|| word.strip_suffix('s').and_then(family))
        .unwrap_or(word);
    for ending in ENDINGS {
        if let Some(left) = base.strip_suffix(ending)
            && left.chars().count() >= 3
        {
            let mut left = left.trim_end_matches('e').to_owned();
            if left.chars().count() > 3 {
                let mut last = left.chars().rev();
                // A consonant doubled before the ending (`planned`). `ll` and `ss` usually belong
                // to the word.
                if let (Some(a), Some(b)) = (last.next(), last.next())
                    && a == b
                    && !matches!(a, 's' | 'l')
                {
                    left.pop();
                }
                left.truncate(left.trim_end_matches('i').len());
            }
            return left;
        }
    }
    base.trim_end_matches('e').to_owned()
}

fn family(word: &str) -> Option<&'static str> {
    static BASES: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
        let mut bases = FxHashMap::default();
        for &(base, forms) in FAMILIES {
            for form in std::iter::once(&base).chain(forms) {
                bases.entry(*form).or_insert(base);
            }
        }
        bases
    });
    BASES.get(word).copied()
}

/// The distinct trigrams of a word with marked ends, each packed into a number, sorted; and a
/// fingerprint in which each trigram sets one bit. Words whose fingerprints share no bit share no
/// trigram.
pub(crate) fn word_grams(word: &str) -> (Vec<u64>, [u128; 2]) {
    let marked: Vec<char> = std::iter::once('^')
        .chain(word.chars())
        .chain(std::iter::once('$'))
        .collect();
    // A character takes 21 bits.
    let packed = |w: &[char]| {
        w.iter()
            .fold(0, |gram, &c| gram << 21 | u64::from(u32::from(c)))
    };
    let mut grams: Vec<u64> = marked.windows(3).map(packed).collect();
    grams.sort_unstable();
    grams.dedup();
    let mut fingerprint = [0; 2];
    for gram in &grams {
        let bit = gram.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        fingerprint[usize::from(bit >= 128)] |= 1_u128 << (bit % 128);
    }
    (grams, fingerprint)
}

/// The Dice coefficient of two sorted lists.
pub(crate) fn dice<T: Ord>(a: &[T], b: &[T]) -> f32 {
    let (mut i, mut j, mut common) = (0, 0, 0usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (i, j) = (i + 1, j + 1);
                common += 1;
            }
        }
    }
    let total = a.len() + b.len();
    if total == 0 {
        0.0
    } else {
        2.0 * common as f32 / total as f32
    }
}

/// Trigram counts of a text, sorted by trigram, with a fingerprint in which each trigram sets one
/// bit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profile {
    counts: Vec<(u32, f32)>,
    norm: f32,
    fingerprint: [u64; 8],
}

impl Profile {
    pub(super) fn of(words: &[String]) -> Self {
        let padded = format!("  {} ", words.join(" "));
        let mut grams: Vec<u32> = padded
            .as_bytes()
            .windows(3)
            .map(|w| u32::from_be_bytes([0, w[0], w[1], w[2]]))
            .collect();
        grams.sort_unstable();
        let mut counts: Vec<(u32, f32)> = Vec::new();
        for gram in grams {
            match counts.last_mut() {
                Some((last, count)) if *last == gram => *count += 1.0,
                _ => counts.push((gram, 1.0)),
            }
        }
        let norm = counts
            .iter()
            .map(|(_, count)| count * count)
            .sum::<f32>()
            .sqrt();
        let mut fingerprint = [0; 8];
        for (word, bit) in counts.iter().map(|(gram, _)| place(*gram)) {
            fingerprint[word] |= bit;
        }
        Self {
            counts,
            norm,
            fingerprint,
        }
    }

    /// Cosine of the trigram counts of a short text and a longer one.
    pub(super) fn cosine(&self, longer: &Self) -> f32 {
        let mut dot = 0.0;
        for (gram, count) in &self.counts {
            let (word, bit) = place(*gram);
            // Most trigrams of a name do not occur in the question; the fingerprint shows it
            // without a search.
            if longer.fingerprint[word] & bit != 0
                && let Ok(at) = longer.counts.binary_search_by_key(gram, |(gram, _)| *gram)
            {
                dot += count * longer.counts[at].1;
            }
        }
        let product = self.norm * longer.norm;
        if product > 0.0 { dot / product } else { 0.0 }
    }
}

/// The word and bit of a fingerprint for a trigram.
fn place(gram: u32) -> (usize, u64) {
    let bit = gram.wrapping_mul(0x9E37_79B1) >> 23;
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_at_separators_and_case() {
        assert_eq!(
            words("people.person.place_of_birth"),
            ["people", "person", "place", "of", "birth"]
        );
        assert_eq!(words("birthPlace"), ["birth", "place"]);
    }

    #[test]
    fn stems_bring_forms_together() {
        for (a, b) in [
            ("directed", "director"),
            ("born", "birth"),
            ("wrote", "writers"),
            ("sons", "children"),
            ("countries", "nation"),
            ("towns", "city"),
            ("planned", "planning"),
            ("inhabitants", "population"),
            ("movies", "film"),
            ("ordered", "orders"),
            ("deliveries", "delivered"),
            ("classes", "class"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
        assert_ne!(stem("director"), stem("direction_of"));
        assert_ne!(stem("actor"), stem("act_of"));
    }
}
