//! Products of matrices.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::ops::FloatTensorOps;
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy;
use cubek::matmul::multi_level::routines::gemm::GemmStrategy;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::std::InputBinding;

use super::matrix_sides;

/// The most rows for which a product reads its matrix once for each.
const FEW: usize = 8;

/// The least side of a wide product. Its kernel takes 2.5 s to compile, and other numbers of rows may
/// need another one. Small models do not save that much time.
const WIDE: usize = 1024;

/// The least side of a wide product in attention, whose other sides are [`WIDE`].
const HEAD: usize = 64;

/// `x y`, for each matrix of both. burn finds the fastest kernel only if it tries all (`autotune`), which takes minutes. For up
/// to [`FEW`] rows, this takes a kernel that reads the matrix once: a quarter to a twelfth of the time
/// of burn's default. For wide products it takes one that reads tiles with the tensor memory
/// accelerator: little more than half of the time (H100; docs/lab/results.md, *GPU training*).
pub(crate) fn product(x: CubeTensor, y: CubeTensor) -> CubeTensor {
    let ([rows, inner], [_, columns]) = (matrix_sides(&x), matrix_sides(&y));
    let mut wide = [rows, inner, columns];
    wide.sort_unstable();
    let least = if x.meta.num_dims() > 2 { HEAD } else { WIDE };
    // The accelerator needs rows at multiples of 16 bytes.
    let even = |x: &CubeTensor| {
        x.meta
            .strides()
            .iter()
            .all(|stride| *stride == 1 || stride % 8 == 0)
    };
    let strategy = if rows <= FEW {
        Strategy::Gemm(BlueprintStrategy::Inferred(GemmStrategy::default()))
    } else if wide[0] >= least && wide[1] >= WIDE && even(&x) && even(&y) {
        Strategy::SpecializedTmaMma(BlueprintStrategy::Inferred(().into()))
    } else {
        return CubeBackend::float_matmul(x, y);
    };
    let mut shape = x.meta.shape().clone();
    let last = shape.num_dims() - 1;
    shape[last] = columns;
    let out = empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), shape, x.dtype);
    let kind = dtype_to_storage_type(x.dtype);
    let mut kinds = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: kind,
        rhs: kind,
        out: kind,
    });
    let done = launch_ref(
        &strategy.into(),
        &x.client.clone(),
        InputBinding::new(x.clone().binding(), kind),
        InputBinding::new(y.clone().binding(), kind),
        out.clone().binding(),
        &mut kinds,
    );
    match done {
        Ok(()) => out,
        // GPUs before Hopper have no such accelerator.
        Err(_) => CubeBackend::float_matmul(x, y),
    }
}
