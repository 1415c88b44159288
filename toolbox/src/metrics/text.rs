//! Text normalisation and equality as in the published scorers.

/// The comparison form of the ToG scripts: lower case, no spaces.
#[must_use]
pub fn fold_tog(text: &str) -> String {
    text.trim().replace(' ', "").to_lowercase()
}

/// The normalisation of open-domain question answering (SQuAD, also RoG): lower case, no ASCII
/// punctuation, no articles, single spaces.
#[must_use]
pub fn normalise(text: &str) -> String {
    let plain: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let mut out = String::with_capacity(plain.len());
    let mut word = String::new();
    let finish = |word: &mut String, out: &mut String| {
        if !matches!(word.as_str(), "a" | "an" | "the") {
            out.push_str(word);
        } else {
            out.push(' ');
        }
        word.clear();
    };
    for c in plain.chars() {
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            finish(&mut word, &mut out);
            out.push(c);
        }
    }
    finish(&mut word, &mut out);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// KQA Pro's equality of two answers. Numbers may have units and a zero fraction (`100.0 metres`
/// equals `100 metres`), a date equals its bare year, and everything else is compared as text. As
/// published, any fraction of a negative number is dropped.
#[must_use]
pub fn kqa_equal(a: &str, b: &str) -> bool {
    let (a, b) = (whole_number(a), whole_number(b));
    match (Day::read(&a), Day::read(&b)) {
        (Some(Day::Date(x)), Some(Day::Date(y))) => x == y,
        (Some(x), Some(y)) if x.year() == y.year() => true,
        _ => a == b,
    }
}

fn whole_number(text: &str) -> String {
    let mut parts = text.split_whitespace();
    let number = parts
        .next()
        .and_then(|first| first.parse::<f64>().ok())
        .filter(|number| number.is_finite());
    let Some(number) = number else {
        return text.to_owned();
    };
    let mut out = if number - number.trunc() < 1e-5 {
        format!("{:.0}", number.trunc() + 0.0)
    } else {
        number.to_string()
    };
    for unit in parts {
        out.push(' ');
        out.push_str(unit);
    }
    out
}

/// A date or a bare year.
enum Day {
    Date((i64, u32, u32)),
    Year(i64),
}

impl Day {
    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts[..] else {
            return text.trim().parse().ok().map(Self::Year);
        };
        let (year, month, day) = (
            year.trim().parse().ok()?,
            month.trim().parse().ok()?,
            day.trim().parse().ok()?,
        );
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u32::from(leap),
            _ => return None,
        };
        ((1..=9999).contains(&year) && (1..=days).contains(&day))
            .then_some(Self::Date((year, month, day)))
    }

    fn year(&self) -> i64 {
        match self {
            Self::Date((year, ..)) | Self::Year(year) => *year,
        }
    }
}
