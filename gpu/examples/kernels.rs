//! `kernels [all]` times burn's ways to multiply matrices on the first NVIDIA GPU, at the shapes of a
//! LLaMA of 1.1 billion parameters: of one and of eight rows, with `all` also of 2,048 rows. Needs the
//! feature `cuda`. `gpu::ops::project` takes the fastest.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::time::Instant;

use burn::backend::Backend;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{Distribution, FloatDType};
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeDevice};
use cubecl::cuda::CudaDevice;
use cubecl::ir::ElemType;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy;
use cubek::matmul::multi_level::components::tile::TileMatmulKind;
use cubek::matmul::multi_level::routines::batch::double_buffering::DoubleBufferingArgs;
use cubek::matmul::multi_level::routines::batch::ordered_double_buffering::OrderedSelectionArgs;
use cubek::matmul::multi_level::routines::batch::simple::SimpleArgs;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::std::InputBinding;

fn elem(dtype: burn::tensor::DType) -> ElemType {
    burn::backend::cubecl::dtype_to_storage_type(dtype)
}

fn sync(device: &CubeDevice) {
    CubeBackend::sync(device).unwrap();
}

/// Seconds of one run: the first, and the mean of later ones.
fn time(device: &CubeDevice, mut run: impl FnMut()) -> (f64, f64) {
    sync(device);
    let begun = Instant::now();
    run();
    sync(device);
    let first = begun.elapsed().as_secs_f64();
    run();
    sync(device);
    let begun = Instant::now();
    for _ in 0..10 {
        run();
    }
    sync(device);
    (first, begun.elapsed().as_secs_f64() / 10.0)
}

fn random(shape: &[usize], device: &CubeDevice, dtype: FloatDType) -> CubeTensor {
    CubeBackend::float_random(
        shape.to_vec().into(),
        Distribution::Uniform(-1.0, 1.0),
        device,
        dtype,
    )
}

fn strategies() -> Vec<(String, Strategy)> {
    use TileMatmulKind::{Cmma, Mma};
    let mut all = Vec::new();
    for multi_rows in [false, true] {
        for tile_matmul in [Cmma, Mma] {
            let args = SimpleArgs {
                tile_matmul,
                multi_rows,
            };
            let cmma = tile_matmul == Cmma;
            let of = |a, b| if cmma { a } else { b };
            all.push(of(
                Strategy::SimpleCyclicCmma(BlueprintStrategy::Inferred(args.clone())),
                Strategy::SimpleCyclicMma(BlueprintStrategy::Inferred(args.clone())),
            ));
            all.push(of(
                Strategy::SimpleTmaCmma(BlueprintStrategy::Inferred(args.clone())),
                Strategy::SimpleTmaMma(BlueprintStrategy::Inferred(args)),
            ));
            let args = DoubleBufferingArgs {
                specialized: multi_rows,
                tile_matmul,
            };
            all.push(of(
                Strategy::DoubleCyclicCmma(BlueprintStrategy::Inferred(args.clone())),
                Strategy::DoubleCyclicMma(BlueprintStrategy::Inferred(args.clone())),
            ));
            all.push(of(
                Strategy::DoubleTmaCmma(BlueprintStrategy::Inferred(args.clone())),
                Strategy::DoubleTmaMma(BlueprintStrategy::Inferred(args)),
            ));
            let args = OrderedSelectionArgs {
                partition_k: Some(2),
                row_count: Some(if multi_rows { 8 } else { 4 }),
                rows_per_plane: Some(2),
                tile_matmul,
            };
            all.push(of(
                Strategy::OrderedDoubleCmma(BlueprintStrategy::Inferred(args.clone())),
                Strategy::OrderedDoubleMma(BlueprintStrategy::Inferred(args)),
            ));
        }
    }
    let plain = || BlueprintStrategy::Inferred(().into());
    all.push(Strategy::SpecializedCyclicCmma(
        BlueprintStrategy::Inferred(().into()),
    ));
    all.push(Strategy::SpecializedCyclicMma(BlueprintStrategy::Inferred(
        ().into(),
    )));
    all.push(Strategy::SpecializedTmaCmma(plain()));
    all.push(Strategy::SpecializedTmaMma(plain()));
    all.into_iter()
        .enumerate()
        .map(|(i, strategy)| (format!("{i:2} {strategy}"), strategy))
        .collect()
}

/// Ways for a product with a single row.
fn vectors() -> Vec<(String, Strategy)> {
    [
        Strategy::SimpleCyclicCmma(BlueprintStrategy::default()),
        Strategy::SimpleVecMat(BlueprintStrategy::Inferred(().into())),
        Strategy::DoubleVecMat(BlueprintStrategy::Inferred(().into())),
        Strategy::Gemm(BlueprintStrategy::default()),
        Strategy::GemvUnitPerpendicular(BlueprintStrategy::default()),
        Strategy::SimpleUnit(BlueprintStrategy::default()),
    ]
    .into_iter()
    .map(|strategy| (strategy.to_string(), strategy))
    .collect()
}

/// Multiplies `[m, k]` and `[k, n]`, each stored transposed if asked for.
fn product(
    device: &CubeDevice,
    (m, n, k): (usize, usize, usize),
    transposed: (bool, bool),
    strategies: Vec<(String, Strategy)>,
) {
    let side = |rows: usize, columns: usize, transposed: bool| {
        if transposed {
            CubeBackend::float_swap_dims(random(&[columns, rows], device, FloatDType::BF16), 0, 1)
        } else {
            random(&[rows, columns], device, FloatDType::BF16)
        }
    };
    let (lhs, rhs) = (side(m, k, transposed.0), side(k, n, transposed.1));
    let kind = elem(lhs.dtype);
    let right = CubeBackend::float_matmul(lhs.clone(), rhs.clone());
    for (name, strategy) in strategies {
        let out = random(&[m, n], device, FloatDType::BF16);
        let mut failed = None;
        let run = || {
            let mut dtypes = MatmulElems::from_globals(&MatmulGlobalElems {
                lhs: kind,
                rhs: kind,
                out: kind,
            });
            if let Err(error) = launch_ref(
                &strategy.clone().into(),
                &out.client,
                InputBinding::new(lhs.clone().binding(), kind),
                InputBinding::new(rhs.clone().binding(), kind),
                out.clone().binding(),
                &mut dtypes,
            ) {
                failed = Some(format!("{error:?}"));
            }
        };
        let (first, mean) = time(device, run);
        if let Some(error) = failed {
            let error: String = error.chars().take(60).collect();
            println!("  {name}: {error}");
            continue;
        }
        let difference = CubeBackend::float_max(CubeBackend::float_abs(CubeBackend::float_sub(
            out,
            right.clone(),
        )));
        let difference = cubecl::future::block_on(CubeBackend::float_into_data(difference));
        let difference = difference.unwrap().iter::<f32>().next().unwrap();
        let tera = 2e-12 * (m * n * k) as f64 / mean;
        println!(
            "  {name}: {:.3} ms, {tera:.0} TFLOP/s, first {first:.2} s, difference {difference:.3}",
            1e3 * mean
        );
    }
}

fn main() {
    let device = cubecl::Device::Cuda(CudaDevice::new(0));
    if std::env::args().nth(1).as_deref() == Some("all") {
        wide(&device, 2048);
    }
    for rows in [1, 8] {
        println!("products of {rows} rows");
        product(&device, (rows, 5632, 2048), (false, true), vectors());
        product(&device, (rows, 2048, 5632), (false, true), vectors());
        product(&device, (rows, 32_000, 2048), (false, true), vectors());
    }
}

fn wide(device: &CubeDevice, tokens: usize) {
    for (name, shape, transposed) in [
        ("forward", (tokens, 5632, 2048), (false, true)),
        ("to the input", (tokens, 2048, 5632), (false, false)),
        ("to the weights", (5632, 2048, tokens), (true, false)),
        ("output layer", (tokens, 32_000, 2048), (false, true)),
    ] {
        println!("product {name} {shape:?}");
        product(device, shape, transposed, strategies());
    }
}
