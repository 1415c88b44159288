//! The LLaMA family in burn: grouped-query attention, rotary embedding, RMS norm, SwiGLU.
//! The module `forward` contains the computation.

mod build;
mod net;
mod tensors;

pub(crate) use build::FrozenBase;
pub(crate) use net::{Attention, Linear, Llama, Matrix, Net, Norm, Packed};
pub use tensors::fresh_weights;
pub(crate) use tensors::{name_of, track_path};
