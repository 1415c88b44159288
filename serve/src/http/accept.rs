//! Which of several formats a client wants: the `Accept` header (RFC 9110, section 12.5.1).

use axum::http::{HeaderMap, header};

/// A media range of the header.
struct Range {
    name: String,
    quality: f32,
}

/// How exactly a range names a format; 0 if it does not.
fn fits(range: &Range, own: &str, aliases: &[&str]) -> u8 {
    let family = own.split('/').next().unwrap_or_default();
    if range.name == own || aliases.contains(&range.name.as_str()) {
        3
    } else if range.name.strip_suffix("/*") == Some(family) {
        2
    } else {
        u8::from(range.name == "*/*")
    }
}

/// The format that the client likes best; `None` if it takes none of them. The quality of a format is
/// that of the range which names it most exactly. Of equal ones the format wins that is named more
/// exactly, then the one whose range comes first, then the first of the list. Without the header, or
/// with an empty one, a client takes everything.
pub(super) fn best<F: Copy>(
    headers: &HeaderMap,
    formats: &[F],
    names: impl Fn(F) -> (&'static str, &'static [&'static str]),
) -> Option<F> {
    let lines: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let header = match lines.join(",") {
        none if none.trim().is_empty() => "*/*".to_owned(),
        some => some,
    };
    let ranges: Vec<Range> = header.split(',').map(range).collect();
    let mut best: Option<(f32, u8, usize, F)> = None;
    for &format in formats {
        let (own, aliases) = names(format);
        // The first of the most exact ranges.
        let fitting = ranges.iter().enumerate();
        let fitting = fitting.map(|(at, range)| (fits(range, own, aliases), at, range.quality));
        let most = fitting.filter(|&(exact, ..)| exact > 0);
        let most = most.max_by_key(|&(exact, at, _)| (exact, std::cmp::Reverse(at)));
        let Some((exact, at, quality)) = most else {
            continue;
        };
        let better = best.as_ref().is_none_or(|&(other, most, first, _)| {
            quality > other || (quality >= other && (exact > most || (exact == most && at < first)))
        });
        if quality > 0.0 && better {
            best = Some((quality, exact, at, format));
        }
    }
    best.map(|(_, _, _, format)| format)
}

/// One range. A quality that is not a number counts as 0.
fn range(text: &str) -> Range {
    let mut fields = text.split(';').map(str::trim);
    let name = fields.next().unwrap_or_default().to_ascii_lowercase();
    let quality = fields.find_map(|field| {
        let (name, value) = field.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let quality = quality.map_or(1.0, |text| text.parse().unwrap_or(0.0));
    Range { name, quality }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderValue;
    use kg::{ResultsFormat, TriplesFormat};

    use super::*;

    fn triples(accept: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        let names = |format: TriplesFormat| (format.media_type(), format.aliases());
        best(&headers, &TriplesFormat::ALL, names).map(TriplesFormat::media_type)
    }

    #[test]
    fn the_most_exact_range_decides_and_the_highest_quality_wins() {
        for (accept, media_type) in [
            ("*/*", Some("application/n-triples")),
            ("text/*", Some("text/turtle")),
            ("application/rdf+xml, */*", Some("application/rdf+xml")),
            ("*/*, application/rdf+xml", Some("application/rdf+xml")),
            ("*/*;q=0.1, text/turtle;q=0.5", Some("text/turtle")),
            // Turtle has the quality of its own range, not that of the wildcard.
            (
                "text/turtle;q=0.1, */*;q=0.5",
                Some("application/n-triples"),
            ),
            ("application/n-triples;q=0, */*", Some("text/turtle")),
            ("application/rdf+xml;q=0", None),
            (
                "text/turtle;q=0.8,application/rdf+xml;q=0.9",
                Some("application/rdf+xml"),
            ),
            ("text/turtle, application/rdf+xml", Some("text/turtle")),
            (
                "application/rdf+xml ; Q = 1 , text/turtle",
                Some("application/rdf+xml"),
            ),
            ("application/xml", Some("application/rdf+xml")),
            ("text/xml;charset=utf-8;q=0.3", Some("application/rdf+xml")),
            (
                "application/ld+json;profile=\"x\"",
                Some("application/ld+json"),
            ),
            ("text/plain", Some("application/n-triples")),
            ("text/rdf+n3", Some("text/n3")),
            ("application/trig", Some("application/trig")),
            ("text/html", None),
            ("text/turtle;q=high", None),
            ("", Some("application/n-triples")),
        ] {
            assert_eq!(triples(accept), media_type, "{accept}");
        }
    }

    #[test]
    fn several_headers_are_one_and_none_takes_everything() {
        let names = |format: ResultsFormat| (format.media_type(), format.aliases());
        let mut headers = HeaderMap::new();
        let chosen = |headers: &HeaderMap| best(headers, &ResultsFormat::ALL, names);
        assert_eq!(chosen(&headers), Some(ResultsFormat::Json));
        headers.append(header::ACCEPT, HeaderValue::from_static("text/html"));
        headers.append(header::ACCEPT, HeaderValue::from_static("text/xml"));
        assert_eq!(chosen(&headers), Some(ResultsFormat::Xml));
    }
}
