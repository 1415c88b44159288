//! Kernels for NVIDIA GPUs: the products of a layer and what it does between them. burn needs several
//! kernels for each operation, here it is one. They compute in f32, and read and write the format of
//! their tensors.

mod device;
mod product;

use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

pub(crate) use product::product;

use crate::adamw::AdamwStep;

/// Threads of a plane, which share a row.
const PLANE: u32 = 32;
/// Planes of a block.
const PLANES: u32 = 8;
/// The most blocks that share a sum.
const MOST_BLOCKS: usize = 1024;

/// Blocks of [`PLANES`] rows.
fn by_rows(rows: usize) -> (CubeCount, CubeDim) {
    (
        CubeCount::new_1d((rows as u32).div_ceil(PLANES)),
        CubeDim::new_2d(PLANE, PLANES),
    )
}

/// Blocks of values.
fn by_values(count: usize) -> (CubeCount, CubeDim) {
    let block = PLANE * PLANES;
    (
        CubeCount::new_1d(count.div_ceil(block as usize) as u32),
        CubeDim::new_1d(block),
    )
}

/// A tensor like `x` for a result.
fn like(x: &CubeTensor) -> CubeTensor {
    empty_device_contiguous_dtype(
        x.client.clone(),
        x.device.clone(),
        x.meta.shape().clone(),
        x.dtype,
    )
}

/// [`ModelOps::causal_softmax`](crate::ops::ModelOps::causal_softmax).
pub(crate) fn causal_softmax(scores: CubeTensor, scale: f32, group: usize) -> CubeTensor {
    let scores = into_contiguous(scores);
    let ([each, len], rows) = matrix(&scores);
    let (out, (count, dim)) = (like(&scores), by_rows(rows));
    device::softmax_kernel::launch(
        &scores.client.clone(),
        count,
        dim,
        scores.clone().into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        len,
        each,
        group,
        scale,
        dtype_to_storage_type(scores.dtype),
    );
    out
}

/// The gradient of [`causal_softmax`] from its result.
pub(crate) fn causal_softmax_gradient(
    shares: CubeTensor,
    scale: f32,
    grad: CubeTensor,
) -> CubeTensor {
    let (shares, grad) = (into_contiguous(shares), into_contiguous(grad));
    let ([_, len], rows) = matrix(&shares);
    let (out, (count, dim)) = (like(&shares), by_rows(rows));
    device::softmax_gradient_kernel::launch(
        &shares.client.clone(),
        count,
        dim,
        shares.clone().into_tensor_arg(),
        grad.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        len,
        scale,
        dtype_to_storage_type(shares.dtype),
    );
    out
}

/// RMS norm of `[rows, width]` by `weight` (f32, `[1, width]`), as `kind`.
pub(crate) fn rms_norm(x: CubeTensor, weight: CubeTensor, eps: f32, kind: DType) -> CubeTensor {
    let (x, weight) = (into_contiguous(x), into_contiguous(weight));
    let [rows, width] = sides(&x);
    let (client, shape) = (x.client.clone(), x.meta.shape().clone());
    let out = empty_device_contiguous_dtype(client.clone(), x.device.clone(), shape, kind);
    let (count, dim) = by_rows(rows);
    let kinds = [dtype_to_storage_type(x.dtype), dtype_to_storage_type(kind)];
    device::norm_kernel::launch(
        &client,
        count,
        dim,
        x.into_tensor_arg(),
        weight.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        eps,
        kinds,
    );
    out
}

/// The gradient of the input of [`rms_norm`].
pub(crate) fn rms_norm_gradient(
    x: CubeTensor,
    weight: CubeTensor,
    eps: f32,
    grad: CubeTensor,
) -> CubeTensor {
    let (x, weight, grad) = (
        into_contiguous(x),
        into_contiguous(weight),
        into_contiguous(grad),
    );
    let ([rows, width], out) = (sides(&x), like(&x));
    let (count, dim) = by_rows(rows);
    let kinds = [
        dtype_to_storage_type(x.dtype),
        dtype_to_storage_type(grad.dtype),
    ];
    device::norm_gradient_kernel::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_tensor_arg(),
        weight.into_tensor_arg(),
        grad.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        eps,
        kinds,
    );
    out
}

/// `silu(gate) * up` of `[rows, 2 * inner]`.
pub(crate) fn gated(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(x);
    let [rows, width] = sides(&x);
    let (client, device, inner) = (x.client.clone(), x.device.clone(), width / 2);
    let out = empty_device_contiguous_dtype(client, device, [rows, inner].into(), x.dtype);
    let (count, dim) = by_values(rows * inner);
    let kind = dtype_to_storage_type(x.dtype);
    device::gated_kernel::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows * inner,
        inner,
        kind,
    );
    out
}

/// The gradient of [`gated`].
pub(crate) fn gated_gradient(x: CubeTensor, grad: CubeTensor) -> CubeTensor {
    let (x, grad) = (into_contiguous(x), into_contiguous(grad));
    let ([rows, width], out) = (sides(&x), like(&x));
    let (count, dim) = by_values(rows * width / 2);
    let kind = dtype_to_storage_type(x.dtype);
    device::gated_gradient_kernel::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_tensor_arg(),
        grad.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows * width / 2,
        width / 2,
        kind,
    );
    out
}

/// Rotates the first `turned` values of the rows of `[rows, width]`, in heads of twice the width of
/// `cos` and `sin` (f32, `[rows, half]`).
pub(crate) fn rotate(
    x: CubeTensor,
    cos: CubeTensor,
    sin: CubeTensor,
    turned: usize,
    sign: f32,
) -> CubeTensor {
    let (x, cos, sin) = (
        into_contiguous(x),
        into_contiguous(cos),
        into_contiguous(sin),
    );
    let ([rows, width], [_, half], out) = (sides(&x), sides(&cos), like(&x));
    let (count, dim) = by_values(rows * width);
    let kind = dtype_to_storage_type(x.dtype);
    device::rotate_kernel::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_tensor_arg(),
        cos.into_tensor_arg(),
        sin.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows * width,
        width,
        turned,
        half,
        sign,
        kind,
    );
    out
}

/// Surprise of `targets` (`[rows, 1]`) under the softmax of each row of `logits`, `[rows, 1]`.
pub(crate) fn surprise(logits: CubeTensor, targets: CubeTensor) -> CubeTensor {
    let (logits, targets) = (into_contiguous(logits), into_contiguous(targets));
    let [rows, width] = sides(&logits);
    let (client, device) = (logits.client.clone(), logits.device.clone());
    let shape = [rows, 1].into();
    let out = empty_device_contiguous_dtype(client.clone(), device, shape, DType::F32);
    let (count, dim) = by_rows(rows);
    let kinds = [
        dtype_to_storage_type(logits.dtype),
        dtype_to_storage_type(targets.dtype),
    ];
    device::surprise_kernel::launch(
        &client,
        count,
        dim,
        logits.into_tensor_arg(),
        targets.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        kinds,
    );
    out
}

/// The gradient of `scale` times the sum of [`surprise`].
pub(crate) fn surprise_gradient(logits: CubeTensor, targets: CubeTensor, scale: f32) -> CubeTensor {
    let (logits, targets) = (into_contiguous(logits), into_contiguous(targets));
    let ([rows, width], out) = (sides(&logits), like(&logits));
    let (count, dim) = by_rows(rows);
    let kinds = [
        dtype_to_storage_type(logits.dtype),
        dtype_to_storage_type(targets.dtype),
    ];
    device::surprise_gradient_kernel::launch(
        &logits.client.clone(),
        count,
        dim,
        logits.into_tensor_arg(),
        targets.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        rows,
        width,
        scale,
        kinds,
    );
    out
}

/// Parts of the sum of the squares of `x` (f32), `[parts]`.
pub(crate) fn square_sums(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(x);
    let (client, device, count) = (x.client.clone(), x.device.clone(), x.meta.num_elements());
    let blocks = count
        .div_ceil((PLANE * PLANES) as usize)
        .clamp(1, MOST_BLOCKS);
    let (_, dim) = by_rows(PLANES as usize);
    let parts = [blocks * PLANES as usize].into();
    let out = empty_device_contiguous_dtype(client.clone(), device, parts, DType::F32);
    device::square_sums_kernel::launch(
        &client,
        CubeCount::new_1d(blocks as u32),
        dim,
        x.into_tensor_arg(),
        out.clone().into_tensor_arg(),
        count,
        blocks * (PLANE * PLANES) as usize,
    );
    out
}

/// [`ModelOps::adamw`](crate::ops::ModelOps::adamw).
pub(crate) fn adamw(
    old: CubeTensor,
    grad: CubeTensor,
    [first, second]: [CubeTensor; 2],
    step: AdamwStep,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let [old, grad, first, second] = [old, grad, first, second].map(into_contiguous);
    let [new, new_first, new_second] = [like(&old), like(&old), like(&old)];
    let count = old.meta.num_elements();
    let (blocks, dim) = by_values(count);
    device::adamw_kernel::launch(
        &old.client.clone(),
        blocks,
        dim,
        old.into_tensor_arg(),
        grad.into_tensor_arg(),
        first.into_tensor_arg(),
        second.into_tensor_arg(),
        new.clone().into_tensor_arg(),
        new_first.clone().into_tensor_arg(),
        new_second.clone().into_tensor_arg(),
        count,
        step.beta1,
        step.beta2,
        step.bias1,
        step.bias2,
        step.epsilon,
        step.rate,
        step.kept,
        step.factor,
    );
    (new, new_first, new_second)
}

/// The sides of the last two dimensions, and the rows of all matrices.
fn matrix(x: &CubeTensor) -> ([usize; 2], usize) {
    let shape = x.meta.shape();
    let [each, len] = [shape[shape.num_dims() - 2], shape[shape.num_dims() - 1]];
    ([each, len], x.meta.num_elements() / len)
}

/// The last two sides.
fn matrix_sides(x: &CubeTensor) -> [usize; 2] {
    matrix(x).0
}

/// Rows and width.
fn sides(x: &CubeTensor) -> [usize; 2] {
    [x.meta.shape()[0], x.meta.shape()[1]]
}
