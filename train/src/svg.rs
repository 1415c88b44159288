//! The loss curve as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 45.0;
/// Points drawn: more cannot be told apart at this width.
const POINTS: usize = 600;

/// Draw `(step, loss)` points (averaged where there are many) and `(step, loss)` of validations, loss on a logarithmic axis.
#[must_use]
pub(crate) fn loss_curve(train: &[(usize, f64)], valid: &[(usize, f64)]) -> String {
    let per = train.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[(usize, f64)]| {
        let n = chunk.len() as f64;
        (chunk.iter().map(|p| p.0 as f64).sum::<f64>() / n, (chunk.iter().map(|p| p.1).sum::<f64>() / n).max(1e-6))
    };
    let train: Vec<(f64, f64)> = train.chunks(per).map(mean).collect();
    let valid: Vec<(f64, f64)> = valid.iter().map(|(step, loss)| (*step as f64, loss.max(1e-6))).collect();
    let all = || train.iter().chain(&valid);
    let last = all().map(|p| p.0).fold(1.0, f64::max);
    let low = all().map(|p| p.1).fold(f64::INFINITY, f64::min).min(1e6).log10().floor();
    let high = all().map(|p| p.1).fold(1e-6, f64::max).log10().ceil().max(low + 1.0);
    let x = |step: f64| LEFT + step / last * (WIDTH - LEFT - RIGHT);
    let y = |loss: f64| HEIGHT - BOTTOM - (loss.log10() - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"18\">loss by step (logarithmic)</text>\n"
    );
    let mut power = low;
    while power <= high {
        let at = y(10_f64.powf(power));
        let label = 10_f64.powf(power);
        let _ = writeln!(out, "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>", WIDTH - RIGHT);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, at + 4.0);
        power += 1.0;
    }
    for i in 0..=4 {
        let step = last * f64::from(i) / 4.0;
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{step:.0}</text>", x(step), HEIGHT - BOTTOM + 20.0);
    }
    let points: Vec<String> = train.iter().map(|(step, loss)| format!("{:.1},{:.1}", x(*step), y(*loss))).collect();
    let _ = writeln!(out, "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\" points=\"{}\"/>", points.join(" "));
    for (step, loss) in &valid {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#c0392b\"><title>validation {loss:.4}</title></circle>",
            x(*step),
            y(*loss)
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_figure_is_finite_even_without_points() {
        for svg in [super::loss_curve(&[], &[]), super::loss_curve(&[(1, 5.0), (2, 0.0)], &[(2, 1.0)])] {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
