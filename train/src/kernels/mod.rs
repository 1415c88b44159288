//! The arithmetic of one training step on the CPU, on plain slices: what burn's stock operations would spread over many passes and
//! materialised masks. Results do not depend on the number of threads: work is cut into blocks of fixed size, every output is written by
//! one task, and sums over blocks run in their order.

pub(crate) mod attention;
pub(crate) mod cross_entropy;
pub(crate) mod lanes;
pub(crate) mod norm;
pub(crate) mod swiglu;

/// Rows one task works on. Fixed, so that block sums are the same for any number of threads.
pub(crate) const BLOCK_ROWS: usize = 64;
