//! Tensors by their names: reading and writing those of a model, and initial weights.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use common::rng::Rng;
use model::adapter::merge;
use model::{ModelConfig, Weights};

use super::net::Llama;
use crate::TrainError;

impl Llama {
    /// All tensors by their Hugging Face names, LoRA factors as `….lora_a` and `….lora_b`.
    pub(crate) fn tensors(&self) -> Weights {
        let mut reader = TensorReader::default();
        self.net.visit(&mut reader);
        reader.weights
    }

    /// All tensors, with the rows of added tokens appended to the embedding and the output layer.
    /// `base` contains the original tensors of a frozen base, if the model holds them in fewer
    /// bits.
    ///
    /// # Errors
    /// When rows of added tokens have another width than the embedding.
    pub(crate) fn whole_tensors(&self, base: Option<&Weights>) -> Result<Weights, TrainError> {
        let mut all = self.tensors();
        for (name, tensor) in base.into_iter().flat_map(Weights::iter) {
            if let Some(mut held) = all.take(name) {
                // Rows of added tokens follow those of the base.
                held.data = tensor
                    .data
                    .get(..held.data.len())
                    .unwrap_or(&held.data)
                    .to_vec();
                all.insert(name, held);
            }
        }
        for (extra, name) in [
            ("model.embed_tokens.extra", "model.embed_tokens.weight"),
            ("lm_extra", "lm_head.weight"),
        ] {
            let Some(rows) = all.take(extra) else {
                continue;
            };
            if let Some(mut tensor) = all.take(name) {
                tensor.data.extend(rows.data);
                all.insert(
                    name,
                    model::Tensor::new(
                        name,
                        vec![tensor.shape[0] + rows.shape[0], tensor.shape[1]],
                        tensor.data,
                    )?,
                );
            }
        }
        Ok(all)
    }

    /// The tensors of the model, with LoRA corrections added. `base` as in
    /// [`Llama::whole_tensors`].
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong shape.
    pub(crate) fn merged(&self, base: Option<&Weights>) -> Result<Weights, TrainError> {
        let all = self.whole_tensors(base)?;
        let mut merged = Weights::default();
        for (name, shape) in self.config.tensors() {
            merged.insert(name.clone(), all.get(&name, &shape)?.clone());
        }
        merge(&mut merged, &all, self.lora_scale)?;
        Ok(merged)
    }

    /// Replaces every tensor with the one of the same name.
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong shape.
    pub(crate) fn load(&mut self, weights: &Weights) -> Result<(), TrainError> {
        let mut writer = TensorWriter {
            path: Vec::new(),
            weights,
            error: None,
        };
        self.net = self.net.clone().map(&mut writer);
        writer.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// In a visitor or mapper of a net: tracks the path of modules in `self.path`.
macro_rules! track_path {
    () => {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
    };
}
pub(crate) use track_path;

/// The name of a parameter from its path of modules.
pub(crate) fn name_of(path: &[String]) -> String {
    path.join(".")
}

#[derive(Default)]
struct TensorReader {
    path: Vec<String>,
    weights: Weights,
}

impl ModuleVisitor for TensorReader {
    track_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let data = tensor.try_into_vec_as::<f32>().unwrap_or_default();
        self.weights
            .insert(name_of(&self.path), model::Tensor { shape, data });
    }
}

struct TensorWriter<'a> {
    path: Vec<String>,
    weights: &'a Weights,
    error: Option<model::ModelError>,
}

impl ModuleMapper for TensorWriter<'_> {
    track_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = name_of(&self.path);
        param.map(|old| match self.weights.get(&name, &old.dims()) {
            Ok(tensor) => {
                let tracked = old.is_require_grad();
                let data = TensorData::new(tensor.data.clone(), tensor.shape.clone());
                let new = Tensor::from_data(data, (&old.device(), old.dtype()));
                new.set_require_grad(tracked)
            }
            Err(error) => {
                self.error.get_or_insert(error);
                old
            }
        })
    }
}

/// Initial weights: matrices are normal with the configured deviation, divided by the root of twice
/// the depth for projections into the residual stream; norms are one and biases zero.
///
/// # Errors
/// Never: shapes and data are generated together.
pub fn fresh_weights(config: &ModelConfig, seed: u64) -> Result<Weights, TrainError> {
    let mut weights = Weights::default();
    let mut rng = Rng::new(seed);
    for (name, shape) in config.tensors() {
        let n: usize = shape.iter().product();
        let residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
        let deviation = config.initializer_range
            / if residual {
                (2.0 * config.num_hidden_layers as f64).sqrt()
            } else {
                1.0
            };
        let data = if name.ends_with(".bias") {
            vec![0.0; n]
        } else if shape.len() == 1 {
            vec![1.0; n]
        } else {
            (0..n).map(|_| rng.normal() * deviation as f32).collect()
        };
        weights.insert(name.clone(), model::Tensor::new(&name, shape, data)?);
    }
    Ok(weights)
}
