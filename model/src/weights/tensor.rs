//! A tensor in memory.

use crate::ModelError;

/// A tensor in memory, as f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Lengths of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub data: Vec<f32>,
}

impl Tensor {
    /// A tensor from its parts. `name` is for the error.
    ///
    /// # Errors
    /// When the number of elements does not match the shape.
    pub fn new(name: &str, shape: Vec<usize>, data: Vec<f32>) -> Result<Self, ModelError> {
        if shape.iter().product::<usize>() != data.len() {
            let message = format!("has shape {shape:?} and {} elements", data.len());
            return Err(ModelError::tensor(name, message));
        }
        Ok(Self { shape, data })
    }
}
