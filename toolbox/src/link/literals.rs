//! Extraction of numbers, dates and quoted strings from a question.

use kg::term::Literal;

/// What makes a year its last day.
pub(crate) const LAST_DAY: &str = "-12-31";

/// The numbers, dates and quoted strings of a question, in order, without duplicates.
///
/// A year also gives its last day, because "after 1990" compares with the end of the year (rule R10
/// starts `>` at the beginning).
#[must_use]
pub fn literals(question: &str) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    let mut add = |literal: Literal| {
        if !found.contains(&literal) {
            found.push(literal);
        }
    };
    let chars: Vec<char> = question.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '"' {
            if let Some(length) = chars[i + 1..].iter().position(|&c| c == '"') {
                if length > 0 {
                    add(Literal::plain(
                        chars[i + 1..i + 1 + length].iter().collect::<String>(),
                    ));
                }
                i += length + 2;
                continue;
            }
        } else if c.is_ascii_digit() && (i == 0 || !chars[i - 1].is_alphanumeric()) {
            let end = number_end(&chars, i);
            let followed = chars.get(end).is_some_and(|c| c.is_alphabetic());
            let text: String = chars[i..end].iter().filter(|&&c| c != ',').collect();
            if !followed {
                let year = text.len() == 4
                    && text.bytes().all(|b| b.is_ascii_digit())
                    && matches!(text.as_bytes()[0], b'1' | b'2');
                let text = scaled(&text, &chars[end..]);
                add(Literal::plain(text.clone()));
                if year {
                    add(Literal::plain(format!("{text}{LAST_DAY}")));
                }
            }
            i = end;
            continue;
        }
        i += 1;
    }
    found
}

/// A number times the word of size after it: `2 million` is 2000000.
fn scaled(text: &str, after: &[char]) -> String {
    let next: String = (after.iter().skip_while(|c| **c == ' '))
        .take_while(|c| c.is_alphabetic())
        .collect();
    let zeros = match next.to_lowercase().as_str() {
        "thousand" => 3,
        "million" | "millions" => 6,
        "billion" | "billions" => 9,
        _ => return text.to_owned(),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > zeros {
        return text.to_owned();
    }
    format!("{whole}{part}{}", "0".repeat(zeros - part.len()))
}

/// The end of the number or date that starts at `start`: digits, then `.`, `-` or a thousands comma
/// if digits follow.
fn number_end(chars: &[char], start: usize) -> usize {
    let digits = |from: usize| {
        chars[from.min(chars.len())..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
    };
    let mut end = start + digits(start);
    while let Some(&c) = chars.get(end) {
        let next = digits(end + 1);
        let joins = match c {
            '.' | '-' => next > 0,
            ',' => next == 3,
            _ => false,
        };
        if !joins {
            break;
        }
        end += 1 + next;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(question: &str) -> Vec<String> {
        literals(question)
            .into_iter()
            .map(|literal| literal.lexical)
            .collect()
    }

    #[test]
    fn literals_are_numbers_dates_and_quotes() {
        assert_eq!(
            texts("teams in 2011 with more than 60,000 seats"),
            ["2011", "2011-12-31", "60000"]
        );
        assert_eq!(
            texts("born on 1985-02-05, rated 7.5."),
            ["1985-02-05", "7.5"]
        );
        assert_eq!(texts("who is called \"Young Forrest\""), ["Young Forrest"]);
        assert_eq!(
            texts("between 1.5 million and 2 billion"),
            ["1500000", "2000000000"]
        );
        assert_eq!(texts("the 20th century of A1"), Vec::<String>::new());
    }
}
