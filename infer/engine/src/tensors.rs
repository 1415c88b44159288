//! Tensors of a weight source, checked against the configuration.

use model::{Stored, WeightSource};

use crate::EngineError;

/// A matrix with its name, for error messages.
pub(crate) type NamedTensor<'a> = (String, Stored<'a>);

pub(crate) fn weight_error(name: &str, reason: impl std::fmt::Display) -> EngineError {
    EngineError::Weight {
        name: name.to_owned(),
        reason: reason.to_string(),
    }
}

/// Opens a tensor and checks its shape.
pub(crate) fn open<'a>(
    source: &'a dyn WeightSource,
    name: &str,
    shape: &[usize],
) -> Result<Stored<'a>, EngineError> {
    let stored = source
        .open(name)
        .map_err(|error| weight_error(name, error))?;
    if stored.shape == shape {
        return Ok(stored);
    }
    let found = &stored.shape;
    Err(weight_error(
        name,
        format!("its shape is {found:?}, the configuration asks for {shape:?}"),
    ))
}

pub(crate) fn open_named<'a>(
    source: &'a dyn WeightSource,
    name: &str,
    shape: &[usize],
) -> Result<NamedTensor<'a>, EngineError> {
    Ok((name.to_owned(), open(source, name, shape)?))
}

/// The values of a tensor as f32, checked to be finite.
pub(crate) fn values(
    source: &dyn WeightSource,
    name: &str,
    shape: &[usize],
) -> Result<Vec<f32>, EngineError> {
    let values = open(source, name, shape)?
        .values()
        .map_err(|error| weight_error(name, error))?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(weight_error(name, format!("value {at} is {}", values[at]))),
        None => Ok(values),
    }
}

/// Reads `count` rows of `width` values as stored, from row `first`, and checks that they are
/// finite. `bytes` is overwritten; returns the bytes of one row.
pub(crate) fn read_rows(
    (name, stored): &NamedTensor<'_>,
    width: usize,
    first: usize,
    count: usize,
    bytes: &mut Vec<u8>,
) -> Result<usize, EngineError> {
    let row_bytes = stored.format.row_bytes(width).ok_or_else(|| {
        weight_error(
            name,
            format!("rows of {width} values do not split into whole blocks"),
        )
    })?;
    bytes.clear();
    stored
        .rows(first, count, bytes)
        .map_err(|error| weight_error(name, error))?;
    match bytes
        .chunks_exact(row_bytes)
        .position(|row| !model::gguf::blocks::finite(stored.format, row))
    {
        Some(bad) => Err(weight_error(
            name,
            format!(
                "row {} is not finite: a value or scale is NaN or infinite",
                first + bad
            ),
        )),
        None => Ok(row_bytes),
    }
}
