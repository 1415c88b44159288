//! The order in which a question lists things. English.

use kg::value::Extreme;

use super::adjective::{Degree, adjective};

/// The extreme that comes first where these words begin with the order of a list, and the number of words
/// that say it: `oldest first`, `cheapest to dearest`.
pub(super) fn sorts(words: &[impl AsRef<str>]) -> Option<([Extreme; 2], usize)> {
    let word = |at: usize| words.get(at).map_or("", AsRef::as_ref);
    // `from most to least expensive`.
    if let ("most" | "least", "to", "most" | "least") = (word(0), word(1), word(2))
        && let Some((found, _)) = adjective(word(3))
    {
        let opposite = |one| match one {
            Extreme::Max => Extreme::Min,
            Extreme::Min => Extreme::Max,
        };
        let most = word(0) == "most";
        let extremes = found
            .extremes
            .map(|one| if most { one } else { opposite(one) });
        return Some((extremes, 3));
    }
    let first = superlative(word(0))?;
    let length = match (word(1), word(2), word(3)) {
        ("first", "", _) => 2,
        // `priciest on top`
        ("on", "top", "") => 3,
        ("at", "the", "top") if word(4).is_empty() => 4,
        (serving, "first", "") if serving.ends_with("ing") => 3,
        ("to", other, _) if superlative(other).is_some() => 3,
        ("to", "the", other) if superlative(other).is_some() => 4,
        ("to", "the", "most" | "least") => 4,
        // `from the oldest band to the newest`.
        (_, "to", other) if superlative(other).is_some() => 4,
        (_, "to", "the") if superlative(word(4)).is_some() => 5,
        _ => return None,
    };
    Some((first, length))
}

/// The extreme that a superlative asks for: of a number, and of a time.
pub(super) fn superlative(word: &str) -> Option<[Extreme; 2]> {
    match (word, adjective(word)) {
        ("lowest" | "minimum", _) => Some([Extreme::Min; 2]),
        ("highest" | "maximum", _) => Some([Extreme::Max; 2]),
        (_, Some((found, Degree::Superlative))) => Some(found.extremes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_list_has_many_words() {
        let order = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            sorts(&words)
        };
        let high = Some(([Extreme::Max; 2], 3));
        let low = Some(([Extreme::Min; 2], 3));
        assert_eq!(order("most to least expensive"), high);
        assert_eq!(order("least to most expensive"), low);
        assert_eq!(order("cheapest to dearest"), low);
        assert_eq!(order("dearest on top"), high);
        assert_eq!(order("dearest at the top"), Some(([Extreme::Max; 2], 4)));
        assert_eq!(order("most to least"), None);
        assert_eq!(order("most expensive"), None);
    }
}
