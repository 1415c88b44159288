//! Where the parameters of a ranker are: all but the word embedding in one slice, tensor by tensor.

use std::ops::Range;

use model::EncoderConfig;

/// A tensor in the slice of dense parameters.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Its name in the weight file.
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) at: Range<usize>,
    /// Whether weight decay applies: to matrices, not to biases and norms.
    pub(crate) decays: bool,
    /// Whether it belongs to the head, which has a learning rate of its own.
    pub(crate) head: bool,
}

/// Weights and biases of a linear layer, or of a norm.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    pub(crate) weight: Range<usize>,
    pub(crate) bias: Range<usize>,
}

/// The parameters of a layer.
#[derive(Clone, Debug)]
pub(crate) struct LayerSlots {
    /// Queries, keys and values, stacked.
    pub(crate) qkv: Affine,
    pub(crate) mix: Affine,
    pub(crate) mix_norm: Affine,
    pub(crate) up: Affine,
    pub(crate) down: Affine,
    pub(crate) down_norm: Affine,
}

/// The shape of a ranker.
#[derive(Clone, Debug)]
pub(crate) struct RankerShape {
    pub(crate) config: EncoderConfig,
    pub(crate) slots: Vec<Slot>,
    pub(crate) positions: Range<usize>,
    pub(crate) types: Range<usize>,
    pub(crate) norm: Affine,
    pub(crate) layers: Vec<LayerSlots>,
    pub(crate) head: Affine,
}

/// The name of the word embedding, the only tensor that is not dense.
pub(crate) const WORDS: &str = "embeddings.word_embeddings.weight";

struct Builder {
    slots: Vec<Slot>,
    end: usize,
}

impl Builder {
    fn add(&mut self, name: &str, shape: &[usize], decays: bool) -> Range<usize> {
        let at = self.end..self.end + shape.iter().product::<usize>();
        self.end = at.end;
        self.slots.push(Slot {
            name: name.to_owned(),
            shape: shape.to_vec(),
            at: at.clone(),
            decays,
            head: name.starts_with("classifier"),
        });
        at
    }

    /// Linear layers of `outputs` outputs each, stacked.
    fn linear(&mut self, names: &[String], outputs: usize, inputs: usize) -> Affine {
        let mut stack = |end: &str, shape: &[usize], decays: bool| {
            let start = self.end;
            for name in names {
                self.add(&format!("{name}.{end}"), shape, decays);
            }
            start..self.end
        };
        Affine {
            weight: stack("weight", &[outputs, inputs], true),
            bias: stack("bias", &[outputs], false),
        }
    }

    fn norm(&mut self, name: &str, width: usize) -> Affine {
        Affine {
            weight: self.add(&format!("{name}.LayerNorm.weight"), &[width], false),
            bias: self.add(&format!("{name}.LayerNorm.bias"), &[width], false),
        }
    }
}

impl RankerShape {
    pub(crate) fn new(config: &EncoderConfig) -> Self {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut b = Builder {
            slots: Vec::new(),
            end: 0,
        };
        let table = |name: &str| format!("embeddings.{name}_embeddings.weight");
        let positions = b.add(&table("position"), &[config.positions, hidden], true);
        let types = b.add(&table("token_type"), &[config.token_types, hidden], true);
        let norm = b.norm("embeddings", hidden);
        let mut layers = Vec::new();
        for layer in 0..config.layers {
            let at = |name: &str| format!("encoder.layer.{layer}.{name}");
            let parts = ["query", "key", "value"].map(|part| at(&format!("attention.self.{part}")));
            layers.push(LayerSlots {
                qkv: b.linear(&parts, hidden, hidden),
                mix: b.linear(&[at("attention.output.dense")], hidden, hidden),
                mix_norm: b.norm(&at("attention.output"), hidden),
                up: b.linear(&[at("intermediate.dense")], inner, hidden),
                down: b.linear(&[at("output.dense")], hidden, inner),
                down_norm: b.norm(&at("output"), hidden),
            });
        }
        let head = b.linear(&["classifier".to_owned()], 1, hidden);
        Self {
            config: EncoderConfig {
                prefix: String::new(),
                ..config.clone()
            },
            slots: b.slots,
            positions,
            types,
            norm,
            layers,
            head,
        }
    }

    /// Number of dense parameters.
    pub(crate) fn dense(&self) -> usize {
        self.head.bias.end
    }

    /// Number of parameters of the word embedding.
    pub(crate) fn words(&self) -> usize {
        self.config.vocab_size * self.config.hidden_size
    }
}
