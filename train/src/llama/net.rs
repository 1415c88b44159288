//! The tensors of a model. Fields have the Hugging Face names and layout, so that reading and
//! writing a folder preserves its bytes.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use model::ModelConfig;

use crate::device::Compute;
use crate::kernels::attention::RopeTable;
use crate::kernels::blocks::BlockMatrix;

/// A matrix.
#[derive(Module, Debug)]
pub(crate) enum Matrix {
    /// As numbers.
    Numbers(Param<Tensor<2>>),
    /// In the blocks of a frozen base.
    Blocks(FrozenBlocks),
}

/// A matrix of a frozen base, which is neither trained nor saved.
#[derive(Module, Debug)]
pub(crate) struct FrozenBlocks {
    #[module(skip)]
    pub(crate) blocks: Arc<BlockMatrix>,
}

impl Matrix {
    /// Rows and columns.
    pub(crate) fn dims(&self) -> [usize; 2] {
        match self {
            Self::Numbers(param) => param.val().dims(),
            Self::Blocks(frozen) => [frozen.blocks.rows(), frozen.blocks.columns()],
        }
    }

    /// The numbers, for burn's operations. Those of blocks are copied to `device`.
    pub(crate) fn numbers(&self, device: &Device) -> Tensor<2> {
        match self {
            Self::Numbers(param) => param.val(),
            Self::Blocks(FrozenBlocks { blocks }) => {
                let shape = [blocks.rows(), blocks.columns()];
                let mut numbers = vec![0.0_f32; shape[0] * shape[1]];
                blocks.unpack(0, &mut numbers);
                Tensor::from_data(TensorData::new(numbers, shape), device)
            }
        }
    }
}

/// A matrix `[out, in]`, with a bias if the family has one and LoRA factors if it is fine-tuned
/// with them.
#[derive(Module, Debug)]
pub(crate) struct Linear {
    pub(crate) weight: Matrix,
    pub(crate) bias: Option<Param<Tensor<1>>>,
    pub(crate) lora_a: Option<Param<Tensor<2>>>,
    pub(crate) lora_b: Option<Param<Tensor<2>>>,
}

/// A norm's weight.
#[derive(Module, Debug)]
pub(crate) struct Norm {
    pub(crate) weight: Param<Tensor<1>>,
}

/// The embedding, `[vocab, hidden]`.
#[derive(Module, Debug)]
pub(crate) struct Embedding {
    pub(crate) weight: Matrix,
    /// Rows of tokens that the base lacks; trained with LoRA while the rest is frozen.
    pub(crate) extra: Option<Param<Tensor<2>>>,
}

#[derive(Module, Debug)]
pub(crate) struct Attention {
    pub(crate) q_proj: Linear,
    pub(crate) k_proj: Linear,
    pub(crate) v_proj: Linear,
    pub(crate) o_proj: Linear,
    pub(crate) q_norm: Option<Norm>,
    pub(crate) k_norm: Option<Norm>,
}

/// Feed-forward part.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

/// One decoder layer.
#[derive(Module, Debug)]
pub(crate) struct Layer {
    pub(crate) input_layernorm: Norm,
    pub(crate) self_attn: Attention,
    pub(crate) post_attention_layernorm: Norm,
    pub(crate) mlp: Mlp,
}

/// Everything below the output layer.
#[derive(Module, Debug)]
pub(crate) struct Body {
    pub(crate) embed_tokens: Embedding,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: Norm,
}

/// The tensors of a model.
#[derive(Module, Debug)]
pub(crate) struct Net {
    pub(crate) model: Body,
    pub(crate) lm_head: Option<Linear>,
    /// Rows of the output layer for the tokens of [`Embedding::extra`], if it is not tied.
    pub(crate) lm_extra: Option<Param<Tensor<2>>>,
}

/// A model: tensors and constants.
#[derive(Clone, Debug)]
pub(crate) struct Llama {
    /// The tensors.
    pub(crate) net: Net,
    pub(crate) config: ModelConfig,
    pub(crate) rope: Arc<RopeTable>,
    pub(crate) compute: Compute,
    pub(crate) lora_scale: f32,
    pub(crate) lora_dropout: f32,
}

/// Concatenated sequences and their predictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) ids: Vec<u32>,
    /// Lengths of the sequences.
    pub(crate) segments: Vec<usize>,
    /// Positions in `ids` whose next token is predicted, ascending.
    pub(crate) rows: Vec<u32>,
    /// The next token of every row.
    pub(crate) targets: Arc<Vec<u32>>,
}
