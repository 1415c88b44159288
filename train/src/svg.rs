//! Curves as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 45.0;
/// Limit of points: more are not distinguishable at this width.
const POINTS: usize = 600;

/// The vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// From zero.
    Linear,
    /// Powers of ten.
    Logarithmic,
}

/// The range of the vertical axis and the distance of its grid lines, in axis units (values or
/// their logarithms).
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    fn new(axis: Axis, values: impl Iterator<Item = f64> + Clone) -> Self {
        let top = values.clone().fold(least(axis), f64::max);
        let (low, high, step) = match axis {
            Axis::Logarithmic => {
                let bottom = values.fold(f64::INFINITY, f64::min).min(1e6);
                let low = bottom.log10().floor();
                (low, top.max(1e-9).log10().ceil().max(low + 1.0), 1.0)
            }
            Axis::Linear => {
                let step = round_up(top.max(1e-12) / 5.0);
                (0.0, step * (top.max(1e-12) / step).ceil(), step)
            }
        };
        Self {
            axis,
            low,
            high,
            step,
        }
    }

    /// Vertical coordinate of a position on the axis.
    fn y(&self, at: f64) -> f64 {
        HEIGHT - BOTTOM - (at - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)
    }

    /// Vertical coordinate of a value.
    fn y_of(&self, value: f64) -> f64 {
        self.y(match self.axis {
            Axis::Logarithmic => value.log10(),
            Axis::Linear => value,
        })
    }

    /// Coordinates and labels of the grid lines.
    fn grid(&self) -> impl Iterator<Item = (f64, String)> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count).map(|i| {
            let at = self.low + self.step * i as f64;
            let value = match self.axis {
                Axis::Logarithmic => 10_f64.powf(at),
                Axis::Linear => at,
            };
            (self.y(at), label(value))
        })
    }
}

/// Lower limit of the values on an axis.
fn least(axis: Axis) -> f64 {
    match axis {
        Axis::Logarithmic => 1e-9,
        Axis::Linear => 0.0,
    }
}

/// Draws `(step, value)` points as a line, averaged if there are many, and `dots` as circles.
#[must_use]
pub(crate) fn curve(
    title: &str,
    axis: Axis,
    line: &[(usize, f64)],
    dots: &[(usize, f64)],
) -> String {
    let mean = |chunk: &[(usize, f64)]| {
        let n = chunk.len() as f64;
        let step = chunk.iter().map(|p| p.0 as f64).sum::<f64>() / n;
        let value = chunk.iter().map(|p| p.1).sum::<f64>() / n;
        (step, value.max(least(axis)))
    };
    let finite = |p: &(f64, f64)| p.1.is_finite();
    let chunk = line.len().div_ceil(POINTS).max(1);
    let line: Vec<(f64, f64)> = line.chunks(chunk).map(mean).filter(finite).collect();
    let dots: Vec<(f64, f64)> = dots.chunks(1).map(mean).filter(finite).collect();
    let all = line.iter().chain(&dots);
    let scale = Scale::new(axis, all.clone().map(|p| p.1));
    let last = all.map(|p| p.0).fold(1.0, f64::max);
    let x = |step: f64| LEFT + step / last * (WIDTH - LEFT - RIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"18\">{title}</text>\n"
    );
    for (y, label) in scale.grid() {
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
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
        .map(|(step, value)| format!("{:.1},{:.1}", x(*step), scale.y_of(*value)))
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
            scale.y_of(*value)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// `x` rounded up to one, two or five times a power of ten.
fn round_up(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|n| *n >= x * 0.999)
        .unwrap_or(10.0 * power)
}

/// A label: scientific only for very small or large numbers.
fn label(x: f64) -> String {
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
    fn every_number_is_finite_even_without_points() {
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
    fn grid_lines_and_labels_are_round() {
        assert_eq!(
            [0.03, 0.2, 7.0, 412.0].map(round_up),
            [0.05, 0.2, 10.0, 500.0]
        );
        assert_eq!(
            [0.0, 0.1 + 0.2, 1500.0, 2e-5].map(label),
            ["0", "0.3", "1500", "2e-5"]
        );
    }
}
