//! The weights of one transformer layer, whatever holds them.

use model::ModelConfig;

/// One layer: `L` is a linear layer, `V` a vector of weights.
pub(crate) struct LayerWeights<L, V> {
    pub(crate) input_norm: V,
    /// Queries, keys and values, stacked.
    pub(crate) qkv: L,
    /// Weights of the norms of each query and key head.
    pub(crate) head_norms: Option<(V, V)>,
    pub(crate) o: L,
    pub(crate) post_norm: V,
    /// Gate and up projection, stacked.
    pub(crate) gate_up: L,
    pub(crate) down: L,
}

/// A linear layer made of stacked matrices.
pub(crate) struct StackedLinear {
    /// Name of each matrix, without `.weight`, and its rows.
    pub(crate) matrices: Vec<(String, usize)>,
    pub(crate) inputs: usize,
    pub(crate) biased: bool,
}

impl<L, V> LayerWeights<L, V> {
    /// Loads layer `index` under the names of a Hugging Face folder.
    ///
    /// # Errors
    /// As `linear` and `vector` (name, width).
    pub(crate) fn load<E>(
        c: &ModelConfig,
        index: usize,
        mut linear: impl FnMut(&StackedLinear) -> Result<L, E>,
        vector: impl Fn(&str, usize) -> Result<V, E>,
    ) -> Result<Self, E> {
        let (hidden, inter) = (c.hidden_size, c.intermediate_size);
        let (q_width, kv_width) = (
            c.num_attention_heads * c.head_dim,
            c.num_key_value_heads * c.head_dim,
        );
        let name = |name: &str| format!("model.layers.{index}.{name}");
        let mut stacked = |matrices: &[(&str, usize)], inputs: usize, biased: bool| {
            linear(&StackedLinear {
                matrices: matrices.iter().map(|&(m, rows)| (name(m), rows)).collect(),
                inputs,
                biased,
            })
        };
        let head_norm = |norm: &str| {
            c.qk_norm
                .then(|| vector(&name(norm), c.head_dim))
                .transpose()
        };
        let qkv = [
            ("self_attn.q_proj", q_width),
            ("self_attn.k_proj", kv_width),
            ("self_attn.v_proj", kv_width),
        ];
        let gate_up = [("mlp.gate_proj", inter), ("mlp.up_proj", inter)];
        Ok(Self {
            input_norm: vector(&name("input_layernorm.weight"), hidden)?,
            qkv: stacked(&qkv, hidden, c.qkv_bias)?,
            head_norms: head_norm("self_attn.q_norm.weight")?
                .zip(head_norm("self_attn.k_norm.weight")?),
            o: stacked(&[("self_attn.o_proj", hidden)], q_width, c.o_bias)?,
            post_norm: vector(&name("post_attention_layernorm.weight"), hidden)?,
            gate_up: stacked(&gate_up, hidden, c.mlp_bias)?,
            down: stacked(&[("mlp.down_proj", hidden)], inter, c.mlp_bias)?,
        })
    }

    /// All linear layers.
    pub(crate) fn linears(&self) -> [&L; 4] {
        [&self.qkv, &self.o, &self.gate_up, &self.down]
    }
}
