//! Curves as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 45.0;
/// Points drawn: more cannot be told apart at this width.
const POINTS: usize = 600;

/// The vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// From zero.
    Linear,
    /// Powers of ten.
    Logarithmic,
}

/// Draw `(step, value)` points (averaged where there are many) as a line, and `dots` as circles.
#[must_use]
pub(crate) fn curve(
    title: &str,
    axis: Axis,
    line: &[(usize, f64)],
    dots: &[(usize, f64)],
) -> String {
    let per = line.len().div_ceil(POINTS).max(1);
    let least = if axis == Axis::Logarithmic { 1e-9 } else { 0.0 };
    let mean = |chunk: &[(usize, f64)]| {
        let n = chunk.len() as f64;
        (
            chunk.iter().map(|p| p.0 as f64).sum::<f64>() / n,
            (chunk.iter().map(|p| p.1).sum::<f64>() / n).max(least),
        )
    };
    let line: Vec<(f64, f64)> = line
        .chunks(per)
        .map(mean)
        .filter(|p| p.1.is_finite())
        .collect();
    let dots: Vec<(f64, f64)> = dots
        .iter()
        .map(|(step, value)| (*step as f64, value.max(least)))
        .filter(|p| p.1.is_finite())
        .collect();
    let all = || line.iter().chain(&dots);
    let last = all().map(|p| p.0).fold(1.0, f64::max);
    let top = all().map(|p| p.1).fold(least, f64::max);
    // Where the axis begins and ends, what a value is on it, and the lines across.
    let (low, high, step) = match axis {
        Axis::Logarithmic => {
            let low = all()
                .map(|p| p.1)
                .fold(f64::INFINITY, f64::min)
                .min(1e6)
                .log10()
                .floor();
            (low, top.max(1e-9).log10().ceil().max(low + 1.0), 1.0)
        }
        Axis::Linear => {
            let step = nice(top.max(1e-12) / 5.0);
            (0.0, step * (top.max(1e-12) / step).ceil(), step)
        }
    };
    let place = |value: f64| {
        if axis == Axis::Logarithmic {
            value.log10()
        } else {
            value
        }
    };
    let x = |step: f64| LEFT + step / last * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"18\">{title}</text>\n"
    );
    for i in 0..=((high - low) / step).round() as usize {
        let value = low + step * i as f64;
        let label = if axis == Axis::Logarithmic {
            number(10_f64.powf(value))
        } else {
            number(value)
        };
        let at = y(value);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
            WIDTH - RIGHT
        );
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for i in 0..=4 {
        let step = last * f64::from(i) / 4.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{step:.0}</text>",
            x(step),
            HEIGHT - BOTTOM + 20.0
        );
    }
    let points: Vec<String> = line
        .iter()
        .map(|(step, value)| format!("{:.1},{:.1}", x(*step), y(place(*value))))
        .collect();
    let _ = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\" points=\"{}\"/>",
        points.join(" ")
    );
    for (step, value) in &dots {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#c0392b\"><title>held out: {value:.4}</title></circle>",
            x(*step),
            y(place(*value))
        );
    }
    out.push_str("</svg>\n");
    out
}

/// One, two or five times a power of ten, at least `x`.
fn nice(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|n| *n >= x * 0.999)
        .unwrap_or(10.0 * power)
}

/// A label: plain where that is short.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x) {
        format!("{}", (x * 1e6).round() / 1e6)
    } else {
        format!("{x:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_finite_even_without_points() {
        for axis in [Axis::Linear, Axis::Logarithmic] {
            for svg in [
                curve("a", axis, &[], &[]),
                curve("a", axis, &[(1, 5.0), (2, 0.0)], &[(2, 1.0)]),
                curve("a", axis, &[(1, f64::NAN), (2, 1e-7)], &[]),
            ] {
                assert!(
                    svg.starts_with("<svg")
                        && svg.ends_with("</svg>\n")
                        && !svg.contains("NaN")
                        && !svg.contains("inf"),
                    "{svg}"
                );
            }
        }
    }

    #[test]
    fn labels_are_round() {
        assert_eq!([0.03, 0.2, 7.0, 412.0].map(nice), [0.05, 0.2, 10.0, 500.0]);
        assert_eq!(
            [0.0, 0.1 + 0.2, 1500.0, 2e-5].map(number),
            ["0", "0.3", "1500", "2e-5"]
        );
    }
}
