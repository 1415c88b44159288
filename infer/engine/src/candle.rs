//! Weights that come as candle's tensors.
use candle_core::{DType, Device, Tensor};
use model::gguf::{Format, blocks};
use model::{ModelError, Stored, WeightSource};

/// Named tensors of any float type from a function; half precision stays half precision.
pub struct Tensors<F>(pub F);

impl<F: Fn(&str) -> candle_core::Result<Tensor>> WeightSource for Tensors<F> {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let fail = |message: String| ModelError::Tensor {
            name: name.to_owned(),
            message,
        };
        let tensor = self.0(name)
            .and_then(|tensor| tensor.to_device(&Device::Cpu))
            .map_err(|error| fail(error.to_string()))?;
        let format = match tensor.dtype() {
            DType::F16 => Format::F16,
            DType::BF16 => Format::Bf16,
            dtype if dtype.is_float() => Format::F32,
            dtype => return Err(fail(format!("{dtype:?} is no float type"))),
        };
        let shape = tensor.dims().to_vec();
        let numbers = || tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>();
        let values = numbers().map_err(|error| fail(error.to_string()))?;
        let width = shape.last().copied().unwrap_or(1);
        let name = name.to_owned();
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| {
            let short = || ModelError::Tensor {
                name: name.clone(),
                message: format!("has no rows {first} to {}", first + count),
            };
            blocks::quantise(
                format,
                values
                    .get(first * width..(first + count) * width)
                    .ok_or_else(short)?,
                out,
            );
            Ok(())
        };
        Ok(Stored::new(format, shape, Box::new(read)))
    }
}
