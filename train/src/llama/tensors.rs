//! Tensors by their names: reading and writing those of a model, and initial weights.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use common::rng::Rng;
use model::adapter::correct;
use model::digest::sha256_hex;
use model::{ModelConfig, ModelError, Tensor as Stored, WeightSource, Weights};

use super::net::{Llama, Matrix};
use crate::TrainError;

impl Llama {
    /// All tensors by their Hugging Face names, LoRA factors as `….lora_a` and `….lora_b`, without
    /// matrices in blocks.
    pub(crate) fn tensors(&self) -> Weights {
        let mut reader = TensorReader::default();
        self.net.visit(&mut reader);
        reader.weights
    }

    /// The tensor `name` of the finished model: with the rows of added tokens, and with LoRA's
    /// correction if `corrected`. `held` are this model's [`Llama::tensors`]; `base` has the
    /// original tensors of a frozen base, if the model holds them in fewer bits.
    ///
    /// # Errors
    /// When a tensor is missing, cannot be read or has the wrong shape.
    pub(crate) fn finished(
        &self,
        name: &str,
        held: &Weights,
        base: Option<&dyn WeightSource>,
        corrected: bool,
    ) -> Result<Stored, ModelError> {
        let missing = || ModelError::tensor(name, "is missing");
        let extra = match name {
            "model.embed_tokens.weight" => held.find("model.embed_tokens.extra"),
            "lm_head.weight" => held.find("lm_extra"),
            _ => None,
        };
        let mut tensor = match base {
            Some(source) => {
                let stored = source.open(name)?;
                let (mut shape, mut data) = (stored.shape.clone(), stored.values()?);
                if let Some(extra) = extra {
                    shape[0] = self.config.vocab_size - extra.shape[0];
                    data.truncate(shape.iter().product());
                }
                Stored::new(name, shape, data)?
            }
            None => held.find(name).cloned().ok_or_else(missing)?,
        };
        if let Some(extra) = extra {
            tensor.shape[0] += extra.shape[0];
            tensor.data.extend(&extra.data);
        }
        let stem = name.strip_suffix("weight").unwrap_or(name);
        let factor = |part: &str| held.find(&format!("{stem}{part}"));
        if let (Some(a), Some(b), true) = (factor("lora_a"), factor("lora_b"), corrected) {
            correct(&mut tensor, name, a, b, self.lora_scale)?;
        }
        Ok(tensor)
    }

    /// A digest of the matrices in blocks; `None` if no matrix is stored in blocks. Checkpoints
    /// hold only the digest.
    pub(crate) fn block_digest(&self) -> Option<String> {
        let net = &self.net;
        let layers = net.model.layers.iter().flat_map(|layer| {
            let (attn, mlp) = (&layer.self_attn, &layer.mlp);
            let attn = [&attn.q_proj, &attn.k_proj, &attn.v_proj, &attn.o_proj];
            attn.into_iter()
                .chain([&mlp.gate_proj, &mlp.up_proj, &mlp.down_proj])
        });
        let linears = layers.chain(&net.lm_head).map(|linear| &linear.weight);
        let all = linears.chain([&net.model.embed_tokens.weight]);
        let parts: Vec<&[u8]> = all
            .filter_map(|matrix| match matrix {
                Matrix::Numbers(_) => None,
                Matrix::Blocks(frozen) => Some(frozen.blocks.bytes()),
            })
            .collect();
        (!parts.is_empty()).then(|| sha256_hex(parts))
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

/// In a visitor or mapper of a net: tracks the path of modules in `self.path`. The variant of an
/// enum is not part of a name.
macro_rules! track_path {
    () => {
        fn enter_module(&mut self, name: &str, container: &str) {
            if !container.starts_with("Enum:") {
                self.path.push(name.to_owned());
            }
        }
        fn exit_module(&mut self, _: &str, container: &str) {
            if !container.starts_with("Enum:") {
                self.path.pop();
            }
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
    error: Option<ModelError>,
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
