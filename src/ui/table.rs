//! Tables and durations as text.

use std::borrow::Cow;

use super::clean::clean_value;

/// A table as text. The first row is the head, columns are as wide as their widest cell, and
/// numbers are right-aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| clean_value(cell)).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let numeric =
        |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(' ');
    let mut lines = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, width))| {
                if column > 0 && (numeric(cell) || i == 0) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            })
            .collect();
        lines.push(cells.join("  ").trim_end().to_owned());
        if i == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            lines.push(rules.join("  "));
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// A row of a table: its name and its other cells.
pub(crate) fn row(name: impl Into<String>, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(name.into()).chain(cells).collect()
}

/// A table that has only its first row: the names of the columns, which `columns` separates by `|`.
pub(crate) fn header(columns: &str) -> Vec<Vec<String>> {
    vec![columns.split('|').map(str::to_owned).collect()]
}

/// A duration: seconds, or minutes from one minute on.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min", clock(seconds as u64))
    }
}

/// Minutes and seconds, as in `2:05`.
pub(super) fn clock(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_right_aligned() {
        let rows = vec![
            vec!["what".to_owned(), "n".to_owned()],
            vec!["a".to_owned(), "100".to_owned()],
            vec!["bcdef".to_owned(), "7".to_owned()],
        ];
        assert_eq!(
            super::table(&rows),
            "what     n\n-----  ---\na      100\nbcdef    7"
        );
    }
}
