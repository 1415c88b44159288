//! Exact decimal numbers, compared digit by digit without rounding.

use std::cmp::Ordering;

/// The number `sign × 0.d₁d₂d₃… × 10^exponent`. Infinity has the maximum exponent and no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    sign: i8,
    exponent: i64,
    /// Without leading or trailing zeros.
    digits: Vec<u8>,
}

impl Decimal {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, rest) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
            None => (1, text),
        };
        if rest == "INF" {
            return Some(Self {
                sign,
                exponent: i64::MAX,
                digits: Vec::new(),
            });
        }
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (
                mantissa,
                exponent.parse::<i64>().ok().filter(|e| e.abs() < 1 << 40)?,
            ),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty()
            || !whole
                .bytes()
                .chain(fraction.bytes())
                .all(|b| b.is_ascii_digit())
        {
            return None;
        }
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = all.iter().position(|&b| b != b'0') else {
            return Some(Self {
                sign: 0,
                exponent: 0,
                digits: Vec::new(),
            });
        };
        let last = all.iter().rposition(|&b| b != b'0')?;
        let exponent = exponent + i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        Some(Self {
            sign,
            exponent,
            digits: all[first..=last].to_vec(),
        })
    }

    pub(super) fn is_whole(&self) -> bool {
        i64::try_from(self.digits.len()).is_ok_and(|n| n <= self.exponent.max(0))
            && self.exponent != i64::MAX
    }

    /// A text whose order is that of the numbers.
    pub(super) fn sort_key(&self) -> String {
        let exponent = i128::from(self.exponent) - i128::from(i64::MIN);
        let complement = |text: String| {
            text.bytes()
                .map(|b| char::from(b'0' + b'9' - b))
                .collect::<String>()
        };
        let magnitude = format!(
            "{exponent:020}{}",
            self.digits
                .iter()
                .map(|&d| char::from(d))
                .collect::<String>()
        );
        match self.sign {
            0 => "1".to_owned(),
            // Fewer digits mean a smaller magnitude, so a greater negative number: `~` is greater
            // than every digit.
            -1 => format!("0{}~", complement(magnitude)),
            _ => format!("2{magnitude}"),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign.cmp(&other.sign).then_with(|| {
            let magnitude = (self.exponent, &self.digits).cmp(&(other.exponent, &other.digits));
            if self.sign < 0 {
                magnitude.reverse()
            } else {
                magnitude
            }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn n(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_beyond_floats() {
        assert!(n("9007199254740993") > n("9007199254740992"));
        assert!(
            n("0.1") == n("0.10")
                && n("1e2") == n("100")
                && n("-0") == n("0.000")
                && n("+7") == n("007")
        );
        assert!(n("-INF") < n("-1e300") && n("1e300") < n("INF") && n("1.5E3") == n("1500.0"));
        assert!(
            n("12").is_whole()
                && n("1.20e1").is_whole()
                && n("0").is_whole()
                && !n("1.5").is_whole()
                && !n("INF").is_whole()
        );
        for bad in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "NaN",
            "0x10",
            "1,000",
            "1.2.3",
            "--1",
            "1e99999999999999999999",
            "٣",
        ] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn integers_order_as_integers(a in any::<i128>(), b in any::<i128>()) {
            prop_assert_eq!(n(&a.to_string()).cmp(&n(&b.to_string())), a.cmp(&b));
        }

        #[test]
        fn decimals_order_by_value(a in -10_000i64..10_000, b in -10_000i64..10_000, places in 0usize..6) {
            // a and b in thousandths, written with trailing zeros
            let text = |v: i64, zeros: usize| format!("{}{}.{:03}{}", if v < 0 { "-" } else { "" }, v.abs() / 1000, v.abs() % 1000, "0".repeat(zeros));
            prop_assert_eq!(n(&text(a, places)).cmp(&n(&text(b, 0))), a.cmp(&b));
        }

        #[test]
        fn sort_keys_sort_as_numbers(a in "-?[0-9]{1,4}(\\.[0-9]{1,3})?(e-?[0-9])?", b in "-?[0-9]{1,4}(\\.[0-9]{1,3})?(e-?[0-9])?") {
            prop_assert_eq!(n(&a).sort_key().cmp(&n(&b).sort_key()), n(&a).cmp(&n(&b)));
        }

        #[test]
        fn only_texts_with_digits_are_numbers(text in "\\PC*|[-+ .eE0-9INF]{0,8}") {
            let number = Decimal::parse(&text);
            let digits = text.bytes().any(|byte| byte.is_ascii_digit());
            prop_assert!(number.is_none() || digits || text.contains("INF"), "{text}: {number:?}");
            // The sign is all that two numbers with the same digits differ in.
            if let Some(number) = number.filter(|_| !text.contains(['-', '+'])) {
                let negative = Decimal::parse(&format!("-{}", text.trim()));
                let turned = negative.map(|negative| (-negative.sign, negative.digits));
                prop_assert_eq!(turned, Some((number.sign, number.digits)));
            }
        }
    }
}
