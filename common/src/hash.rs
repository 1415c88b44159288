//! Stable pseudo-random numbers from names: equal on every machine and in every version, and
//! independent of order and threads.

use sha2::{Digest, Sha256};

/// A number from a seed, a purpose and a name.
#[must_use]
pub fn number(seed: u64, purpose: &str, name: &str) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update([0]);
    hasher.update(name.as_bytes());
    let digest = hasher.finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A quick hash of bytes (FNV-1a), which no compiler or library changes.
pub fn quick(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Whether a name falls into the given share (0 to 1) of all names.
#[must_use]
pub fn falls_into(share: f64, seed: u64, purpose: &str, name: &str) -> bool {
    // A double holds 53 bits exactly.
    let place = (number(seed, purpose, name) >> 11) as f64 / (1_u64 << 53) as f64;
    place < share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_hashes_are_those_of_the_standard() {
        assert_eq!(quick("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(quick("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn shares_are_met_and_nested() {
        let inside = |share: f64| {
            (0..10_000)
                .filter(|i| falls_into(share, 7, "test", &i.to_string()))
                .count()
        };
        assert!((800..1200).contains(&inside(0.1)));
        assert_eq!((inside(0.0), inside(1.0)), (0, 10_000));
        assert!(
            (0..1000).all(|i: i32| !falls_into(0.1, 7, "t", &i.to_string())
                || falls_into(0.2, 7, "t", &i.to_string()))
        );
    }
}
