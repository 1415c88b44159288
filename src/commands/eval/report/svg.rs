//! Bar charts as SVG.

use super::html::escape;

/// One bar: its height and its interval, if it has one.
pub(super) type Bar = (f64, Option<[f64; 2]>);

/// One colour per series, distinguishable with colour blindness.
pub(super) const COLOURS: [&str; 7] = [
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888",
];

const HEIGHT: f64 = 160.0;
const BAR: f64 = 22.0;
const GAP: f64 = 18.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 26.0;
const FOOT: f64 = 34.0;
/// Width of a letter of the names.
const LETTER: f64 = 6.2;

/// A chart of groups of bars, with one bar per series in each group.
pub(super) fn bars(title: &str, series: &[&str], groups: &[(String, Vec<Bar>)]) -> String {
    let highest = groups.iter().flat_map(|(_, bars)| {
        bars.iter()
            .map(|(value, interval)| interval.map_or(*value, |[_, high]| high.max(*value)))
    });
    let highest = highest.fold(0.0, f64::max);
    let top = if highest <= 0.0 {
        1.0
    } else {
        rounded_up(highest)
    };
    let y = |value: f64| TOP + HEIGHT * (1.0 - value / top);
    let group_width = BAR * series.len().max(1) as f64 + GAP;
    // Names that do not fit under their group are rotated.
    let longest = groups
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0) as f64
        * LETTER;
    let slant = longest > group_width;
    let foot = if slant { FOOT + longest * 0.6 } else { FOOT };
    let width = LEFT + GAP + group_width * groups.len() as f64 + if slant { GAP } else { 0.0 };
    let width = width.max(title.chars().count() as f64 * 8.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {:.0}\" width=\"{width:.0}\" role=\"img\" aria-label=\"{}\"><text x=\"0\" y=\"14\" class=\"t\">{}</text>",
        TOP + HEIGHT + foot,
        escape(title),
        escape(title)
    );
    for line in 0..=4 {
        let value = top * f64::from(line) / 4.0;
        let at = y(value);
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{width:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"g\"/><text x=\"{:.0}\" y=\"{:.1}\" class=\"a\" text-anchor=\"end\">{}</text>",
            LEFT - 5.0,
            at + 4.0,
            number(value)
        ));
    }
    for (i, (name, values)) in groups.iter().enumerate() {
        let from = LEFT + GAP + group_width * i as f64;
        for (j, (value, interval)) in values.iter().enumerate() {
            let x = from + BAR * j as f64;
            let colour = COLOURS[j % COLOURS.len()];
            let what = format!(
                "{name}, {}: {}",
                series.get(j).copied().unwrap_or_default(),
                number(*value)
            );
            svg.push_str(&format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}</title></rect>",
                y(*value),
                BAR - 3.0,
                (y(0.0) - y(*value)).max(0.5),
                escape(&what)
            ));
            if let Some([low, high]) = interval {
                let middle = x + (BAR - 3.0) / 2.0;
                svg.push_str(&format!(
                    "<line x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" class=\"e\"/>",
                    y(*low),
                    y(*high)
                ));
            }
        }
        let (x, y) = (from + (group_width - GAP) / 2.0, TOP + HEIGHT + 16.0);
        let place = if slant {
            format!("text-anchor=\"end\" transform=\"rotate(-38 {x:.1} {y:.1})\"")
        } else {
            "text-anchor=\"middle\"".to_owned()
        };
        svg.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"a\" {place}>{}</text>",
            escape(name)
        ));
    }
    svg + "</svg>"
}

/// The smallest of 1, 2, 5 and 10 times a power of ten that is at least `value`; 1 stays 1, so that
/// shares fill their chart.
fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|step| step * power >= value - 1e-9)
        .unwrap_or(10.0);
    step * power
}

/// A number with about three significant digits.
pub(super) fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        let text = format!("{value:.3}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_a_bar_for_each_value() {
        let groups = vec![
            ("<1>".to_owned(), vec![(0.5, Some([0.4, 0.6])), (1.0, None)]),
            ("2".to_owned(), vec![(0.0, None), (0.2, None)]),
        ];
        let chart = bars("F1", &["a", "b"], &groups);
        assert_eq!(
            (
                chart.matches("<rect").count(),
                chart.matches("class=\"e\"").count()
            ),
            (4, 1)
        );
        assert!(chart.contains("&lt;1&gt;") && !chart.contains("<1>") && !chart.contains("rotate"));
        assert!(
            bars(
                "F1",
                &["a"],
                &[("a name that is too long".to_owned(), vec![(1.0, None)])]
            )
            .contains("rotate")
        );
    }
}
