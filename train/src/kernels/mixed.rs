//! Products in the precision of a run.

use super::product::{Matrix, Target, multiply};
use super::tiles;
use crate::device::Precision;

/// Sides below which packing a product's factors costs more than it saves, like those of LoRA.
const NARROW: usize = 64;

/// `out = a * b`, or added to it, with sums in f32 of numbers in this precision.
///
/// # Panics
/// When the shapes do not fit together or exceed the slices.
pub(crate) fn multiply_in(
    precision: Precision,
    out: Target<'_>,
    is_added: bool,
    a: Matrix<'_>,
    b: Matrix<'_>,
) {
    let narrow = a.rows().min(a.width()).min(b.width()) < NARROW;
    if precision == Precision::F32 || narrow {
        multiply(out, if is_added { 1.0 } else { 0.0 }, a, b, 1.0);
    } else {
        tiles::multiply_all(a, b, is_added, out);
    }
}
