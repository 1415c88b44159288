//! Pieces of HTML: pages, tables and escaped text.

/// Longest text that is shown in full; a label can be a megabyte.
const LONGEST: usize = 1_500;

/// A self-contained page.
pub(in crate::commands) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{}</title><style>{}</style></head><body>{body}\
         <script>{}</script></body></html>\n",
        escape(title),
        include_str!("page.css"),
        include_str!("page.js")
    )
}

/// Text for a page: markup is escaped, control characters and marks that change the direction of
/// writing become visible, and long text is cut.
pub(in crate::commands) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST * 2));
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{200e}'
            | '\u{200f}'
            | '\u{61c}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A table whose first row is the head.
pub(in crate::commands) fn table(rows: &[Vec<String>]) -> String {
    let mut html = "<table>".to_owned();
    for (i, row) in rows.iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        let cells: String = row
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        html.push_str(&format!("<tr>{cells}</tr>"));
    }
    html + "</table>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_inert() {
        assert_eq!(
            escape("<script>alert('x')</script>&\"\u{202e}\u{7}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}\u{fffd}"
        );
        assert_eq!(escape(&"a".repeat(1 << 20)).chars().count(), LONGEST + 1);
    }
}
