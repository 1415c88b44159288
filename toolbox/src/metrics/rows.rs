//! Scores that read whole rows: their order, Spider's execution accuracy, and the measure of the
//! TEXT2SPARQL challenge.

use std::collections::BTreeSet;

use super::answers::Answers;
use super::reading::Equated;

/// Columns of which Spider's execution accuracy tries every order. The script tries any number;
/// with more columns this one compares them in the order in which they stand.
const COLUMNS: usize = 7;

/// Whether the predicted rows stand in the order of the gold query: rows with equal keys may change
/// places. Rows that are not the gold rows are in no such order. Without gold ranks any order is
/// right.
pub(super) fn in_order(rows: &Equated, ranks: &[usize]) -> bool {
    if ranks.is_empty() {
        return true;
    }
    if rows.predicted.len() != rows.gold.len() || ranks.len() != rows.gold.len() {
        return false;
    }
    let mut at = 0;
    for equal in ranks.chunk_by(|a, b| a == b) {
        let until = at + equal.len();
        if !same_bag(&rows.predicted[at..until], &rows.gold[at..until]) {
            return false;
        }
        at = until;
    }
    true
}

/// Spider's execution accuracy (test-suite-sql-eval, `result_eq`): the same rows as often, up to the
/// order of the columns, and in the order of the gold rows if the gold query orders them.
pub(super) fn spider_execution(predicted: &Answers, gold: &Answers) -> bool {
    let (ours, theirs) = (&predicted.rows, &gold.rows);
    let (Some(first), Some(other)) = (ours.first(), theirs.first()) else {
        return ours.is_empty() && theirs.is_empty();
    };
    let width = first.len();
    if ours.len() != theirs.len() || other.len() != width {
        return false;
    }
    let mut order = Vec::new();
    if width > COLUMNS {
        order.extend(0..width);
        return equal_rows(ours, theirs, &order, !gold.ranks.is_empty());
    }
    let column = |rows: &[Vec<String>], at: usize| -> Vec<String> {
        let mut cells: Vec<String> = (rows.iter())
            .filter_map(|row| row.get(at).cloned())
            .collect();
        cells.sort_unstable();
        cells
    };
    let of_gold: Vec<Vec<String>> = (0..width).map(|at| column(theirs, at)).collect();
    let of_ours: Vec<Vec<String>> = (0..width).map(|at| column(ours, at)).collect();
    let fits = |gold: usize, mine: usize| of_gold[gold] == of_ours[mine];
    some_order(width, &fits, &mut order, &|order| {
        equal_rows(ours, theirs, order, !gold.ranks.is_empty())
    })
}

/// Whether some order of columns passes a test. `order` has the column chosen for each place so far.
fn some_order(
    width: usize,
    fits: &dyn Fn(usize, usize) -> bool,
    order: &mut Vec<usize>,
    passes: &dyn Fn(&[usize]) -> bool,
) -> bool {
    if order.len() == width {
        return passes(order);
    }
    for column in 0..width {
        if order.contains(&column) || !fits(order.len(), column) {
            continue;
        }
        order.push(column);
        if some_order(width, fits, order, passes) {
            return true;
        }
        order.pop();
    }
    false
}

/// Whether the rows, with their columns in this order, are the gold rows.
fn equal_rows(ours: &[Vec<String>], gold: &[Vec<String>], order: &[usize], ordered: bool) -> bool {
    let turned = ours.iter().map(|row| {
        let cells = order.iter().filter_map(|&at| row.get(at).cloned());
        cells.collect::<Vec<String>>()
    });
    let turned: Vec<Vec<String>> = turned.collect();
    if ordered {
        turned == gold
    } else {
        same_bag(&turned, gold)
    }
}

fn same_bag(a: &[Vec<String>], b: &[Vec<String>]) -> bool {
    let sorted = |rows: &[Vec<String>]| {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows
    };
    a.len() == b.len() && sorted(a) == sorted(b)
}

/// The F1 of the TEXT2SPARQL challenge's client (`set_F` of trec_eval): the different values of all
/// columns together. Of truth values the client only sees whether one was predicted, and an answer
/// `false` is never right.
pub(super) fn text2sparql_f1(predicted: &Answers, gold: &Answers) -> f64 {
    if let Some(truth) = gold.truth {
        let right = truth && predicted.truth.is_some();
        return f64::from(u8::from(right));
    }
    if predicted.truth.is_some() {
        return 0.0;
    }
    let values = |answers: &Answers| -> BTreeSet<String> {
        let cells = answers.rows.iter().flatten();
        cells.filter(|cell| !cell.is_empty()).cloned().collect()
    };
    let (ours, theirs) = (values(predicted), values(gold));
    if ours.is_empty() || theirs.is_empty() {
        return f64::from(u8::from(ours.is_empty() && theirs.is_empty()));
    }
    let common = ours.intersection(&theirs).count() as f64;
    2.0 * common / (ours.len() + theirs.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::super::{Answers, Reading, score};

    fn answers(rows: &[&[&str]], ranks: &[usize]) -> Answers {
        let rows: Vec<Vec<String>> = (rows.iter())
            .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
            .collect();
        let read = |row: &Vec<String>| row.iter().map(|cell| Reading::of_text(cell)).collect();
        let labels = rows.iter().map(|row| row.join(" | ")).collect();
        let readings = rows.iter().map(read).collect();
        Answers {
            rows,
            ranks: ranks.to_vec(),
            ..Answers::of_readings(readings, labels)
        }
    }

    #[test]
    fn rows_with_equal_keys_may_change_places() {
        let gold = answers(&[&["a", "1"], &["b", "2"], &["c", "2"]], &[0, 1, 1]);
        for (rows, right) in [
            ([["a", "1"], ["c", "2"], ["b", "2"]], 1.0),
            ([["b", "2"], ["a", "1"], ["c", "2"]], 0.0),
        ] {
            let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
            let scores = score(&answers(&rows, &[]), &gold);
            assert_eq!([scores.exact, scores.exact_order], [1.0, right], "{rows:?}");
        }
        let unordered = answers(&[&["a", "1"], &["b", "2"]], &[]);
        let other = answers(&[&["b", "2"], &["a", "1"]], &[]);
        assert_eq!(score(&other, &unordered).exact_order, 1.0);
        let wrong = answers(&[&["a", "1"], &["b", "3"]], &[]);
        assert_eq!(score(&wrong, &unordered).exact_order, 0.0);
    }

    #[test]
    fn spider_compares_rows_up_to_the_order_of_columns() {
        let gold = answers(&[&["a", "1"], &["b", "2"], &["b", "2"]], &[]);
        for (rows, right) in [
            (vec![["1", "a"], ["2", "b"], ["2", "b"]], 1.0),
            (vec![["2", "b"], ["1", "a"], ["2", "b"]], 1.0),
            (vec![["1", "b"], ["2", "a"], ["2", "b"]], 0.0),
            (vec![["a", "1"], ["b", "2"]], 0.0),
        ] {
            let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
            assert_eq!(
                score(&answers(&rows, &[]), &gold).spider_execution,
                right,
                "{rows:?}"
            );
        }
        let ordered = Answers {
            ranks: vec![0, 1, 1],
            ..gold
        };
        let other = answers(&[&["2", "b"], &["1", "a"], &["2", "b"]], &[]);
        assert_eq!(score(&other, &ordered).spider_execution, 0.0);
    }

    /// The cases were run with the client's own library (pytrec_eval).
    #[test]
    fn the_challenge_compares_the_values_of_all_columns() {
        let f1 = |a: &Answers, b: &Answers| score(a, b).text2sparql_f1;
        let gold = answers(&[&["x", "1"], &["y", "1"]], &[]);
        assert_eq!(f1(&answers(&[&["1", "y"], &["x", "1"]], &[]), &gold), 1.0);
        let half = answers(&[&["x"], &["z"]], &[]);
        assert_eq!(f1(&half, &answers(&[&["x"], &["y"]], &[])), 0.5);
        let truth = |truth: bool| Answers {
            truth: Some(truth),
            ..answers(&[&[if truth { "true" } else { "false" }]], &[])
        };
        assert_eq!(f1(&truth(true), &truth(true)), 1.0);
        assert_eq!(f1(&truth(false), &truth(true)), 1.0);
        assert_eq!(f1(&truth(false), &truth(false)), 0.0);
        assert_eq!(f1(&answers(&[&["x"]], &[]), &truth(true)), 0.0);
    }
}
