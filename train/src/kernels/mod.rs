//! Fused kernels for training on the CPU, on plain slices. burn's operations would need many passes
//! over memory and materialised masks. Results do not depend on the number of threads: work is
//! split into blocks of fixed size, one task writes each output, and blocks are summed in order.

pub(crate) mod attention;
pub(crate) mod blocks;
pub(crate) mod buffer;
pub(crate) mod cross_entropy;
pub(crate) mod gelu;
pub(crate) mod lanes;
pub(crate) mod layer_norm;
pub(crate) mod mixed;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod rows;
pub(crate) mod swiglu;
pub(crate) mod tiles;
pub(crate) mod two_way;
pub(crate) mod update;

/// Rows per task. Fixed, so that block sums do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: usize = 64;
