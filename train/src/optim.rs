//! The optimizer (AdamW, or Muon for the matrices of layers), its state as tensors, and the global
//! gradient norm.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, AdjustLrFn, Muon, MuonConfig,
    Optimizer as _,
};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use model::Weights;
use rayon::prelude::*;

use crate::TrainError;
use crate::config::{Algorithm, Method, TrainConfig};
use crate::device::Compute;
use crate::kernels::cross_entropy::square_sum;
use crate::llama::{Net, name_of, track_path};

/// Flat gradients by parameter name.
pub(crate) type NamedGrads = BTreeMap<String, Tensor<1>>;

/// Momentum of Muon's velocity (Jordan et al. 2024).
const MUON_MOMENTUM: f64 = 0.95;

/// Whether a parameter is a matrix of a layer. Only these have weight decay, and only these use
/// Muon.
pub(crate) fn is_matrix(name: &str, dims: usize) -> bool {
    dims == 2 && !name.contains("embed_tokens") && !name.starts_with("lm_head")
}

/// Whether a run uses Muon. Never with LoRA: its update should be orthogonal for the product of the
/// factors, not for each factor.
pub(crate) fn by_muon(config: &TrainConfig) -> bool {
    config.optimizer == Algorithm::Muon && config.method == Method::Full
}

/// The optimizer with its state.
pub(crate) struct Optimizer {
    decayed: AdamW,
    plain: AdamW,
    /// Used for the matrices of layers, without momentum, which is in `velocities`.
    muon: Option<Muon>,
    state: BTreeMap<String, AdamWState<1>>,
    velocities: BTreeMap<String, Tensor<1>>,
    /// Whether Muon's matrices are updated in parallel: on the CPU each is too small for more than
    /// one thread.
    parallel: bool,
}

/// A matrix before its Muon step.
struct MuonInput {
    name: String,
    /// `[rows, columns]`.
    old: Tensor<2>,
    grad: Tensor<1>,
    velocity: Option<Tensor<1>>,
}

/// A matrix after its Muon step.
struct MuonOutput {
    new: Tensor<2>,
    velocity: Tensor<1>,
}

impl MuonInput {
    fn step(self, muon: &Muon, rate: f64) -> (String, MuonOutput) {
        let velocity = match self.velocity {
            Some(before) => before.mul_scalar(MUON_MOMENTUM) + self.grad.clone(),
            None => self.grad.clone(),
        };
        // Nesterov momentum.
        let update = velocity.clone().mul_scalar(MUON_MOMENTUM) + self.grad;
        let shape = self.old.dims();
        let (new, _) = muon.step(rate, self.old, update.reshape(shape), None);
        (self.name, MuonOutput { new, velocity })
    }
}

impl Optimizer {
    pub(crate) fn new(config: &TrainConfig) -> Self {
        // burn's defaults (epsilon 1e-5, decay 1e-4) are unusual, so set every constant.
        let build = |decay: f64| {
            AdamWConfig::new()
                .with_beta_1(config.beta1 as f32)
                .with_beta_2(config.beta2 as f32)
                .with_epsilon(config.epsilon as f32)
                .with_weight_decay(decay as f32)
                .build()
        };
        // Scaled to the typical update of AdamW, so that both use the same learning rate (Liu et
        // al. 2025, "Muon is scalable for LLM training").
        let muon = || {
            MuonConfig::new()
                .with_momentum(MomentumConfig {
                    momentum: 0.0,
                    dampening: 0.0,
                    nesterov: false,
                })
                .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW)
                .with_weight_decay(Some(WeightDecayConfig::new(config.weight_decay as f32)))
                .build()
        };
        Self {
            decayed: build(config.weight_decay),
            plain: build(0.0),
            muon: by_muon(config).then(muon),
            state: BTreeMap::new(),
            velocities: BTreeMap::new(),
            parallel: config.compute() == Compute::Fused,
        }
    }

    /// Applies one step with the learning rate `rate` and gradients scaled by `factor`.
    pub(crate) fn step(&mut self, net: Net, mut grads: NamedGrads, rate: f64, factor: f64) -> Net {
        if factor < 1.0 {
            grads = grads
                .into_iter()
                .map(|(name, grad)| (name, grad.mul_scalar(factor)))
                .collect();
        }
        let matrices = self.step_matrices(&net, &mut grads, rate);
        let mut stepper = StepMapper {
            path: Vec::new(),
            optimizer: self,
            matrices,
            grads,
            rate,
        };
        net.map(&mut stepper)
    }

    /// Muon's part of a step: removes the gradients of its matrices and returns the new matrices by
    /// name.
    fn step_matrices(
        &mut self,
        net: &Net,
        grads: &mut NamedGrads,
        rate: f64,
    ) -> BTreeMap<String, Tensor<2>> {
        let Some(muon) = &self.muon else {
            return BTreeMap::new();
        };
        let mut finder = MatrixFinder {
            path: Vec::new(),
            grads,
            velocities: &mut self.velocities,
            found: Vec::new(),
        };
        net.visit(&mut finder);
        let found = finder.found;
        let step = |matrix: MuonInput| matrix.step(muon, rate);
        let stepped: Vec<_> = if self.parallel {
            found.into_par_iter().map(step).collect()
        } else {
            found.into_iter().map(step).collect()
        };
        let keep = |(name, stepped): (String, MuonOutput)| {
            self.velocities.insert(name.clone(), stepped.velocity);
            (name, stepped.new)
        };
        stepped.into_iter().map(keep).collect()
    }

    /// The state: moments as `NAME.m` and `NAME.v`, velocities as `NAME.velocity`.
    pub(crate) fn tensors(&self) -> Weights {
        let moments = self.state.iter().flat_map(|(name, state)| {
            [
                (format!("{name}.m"), &state.momentum.moment_1),
                (format!("{name}.v"), &state.momentum.moment_2),
            ]
        });
        let velocities = self
            .velocities
            .iter()
            .map(|(name, velocity)| (format!("{name}.velocity"), velocity));
        let mut out = Weights::default();
        for (name, tensor) in moments.chain(velocities) {
            let data = tensor.to_data().try_to_vec::<f32>().unwrap_or_default();
            out.insert(
                name,
                model::Tensor {
                    shape: vec![data.len()],
                    data,
                },
            );
        }
        out
    }

    /// Restores the state from [`Optimizer::tensors`] after `time` steps.
    pub(crate) fn load(
        &mut self,
        weights: &Weights,
        time: usize,
        device: &Device,
    ) -> Result<(), TrainError> {
        let device = device.clone().inner();
        self.state.clear();
        self.velocities.clear();
        let tensor = |t: &model::Tensor| {
            Tensor::<1>::from_data(TensorData::new(t.data.clone(), [t.data.len()]), &device)
        };
        for (key, first) in weights.iter() {
            if let Some(name) = key.strip_suffix(".velocity") {
                self.velocities.insert(name.to_owned(), tensor(first));
            }
            let Some(name) = key.strip_suffix(".m") else {
                continue;
            };
            let second = weights.get(&format!("{name}.v"), &first.shape)?;
            let momentum = AdaptiveMomentumState {
                time,
                moment_1: tensor(first),
                moment_2: tensor(second),
                max_moment_2: None,
            };
            self.state.insert(name.to_owned(), AdamWState { momentum });
        }
        Ok(())
    }
}

/// Finds Muon's matrices and removes their gradients and velocities.
struct MatrixFinder<'a> {
    path: Vec<String>,
    grads: &'a mut NamedGrads,
    velocities: &'a mut BTreeMap<String, Tensor<1>>,
    found: Vec<MuonInput>,
}

impl ModuleVisitor for MatrixFinder<'_> {
    track_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = name_of(&self.path);
        let shape = param.dims();
        let (true, [rows, columns]) = (is_matrix(&name, D), &shape[..]) else {
            return;
        };
        let Some(grad) = self.grads.remove(&name) else {
            return;
        };
        let velocity = self.velocities.remove(&name);
        self.found.push(MuonInput {
            name,
            old: param.val().inner().reshape([*rows, *columns]),
            grad,
            velocity,
        });
    }
}

/// Updates all parameters.
struct StepMapper<'a> {
    path: Vec<String>,
    optimizer: &'a mut Optimizer,
    matrices: BTreeMap<String, Tensor<2>>,
    grads: NamedGrads,
    rate: f64,
}

impl ModuleMapper for StepMapper<'_> {
    track_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = name_of(&self.path);
        if let Some(new) = self.matrices.remove(&name) {
            return param.map(|old| Tensor::from_inner(new.reshape(old.dims())).require_grad());
        }
        let Some(grad) = self.grads.remove(&name) else {
            return param;
        };
        let matrix = is_matrix(&name, D);
        param.map(|old| {
            let shape = old.dims();
            let n = shape.iter().product::<usize>();
            let state = self.optimizer.state.remove(&name);
            let adamw = if matrix {
                &self.optimizer.decayed
            } else {
                &self.optimizer.plain
            };
            let (new, state) = adamw.step(self.rate, old.inner().reshape([n]), grad, state);
            if let Some(state) = state {
                self.optimizer.state.insert(name, state);
            }
            Tensor::from_inner(new.reshape(shape)).require_grad()
        })
    }
}

/// Adds the gradients of all trained parameters to `into`.
pub(crate) fn collect(net: &Net, grads: &Gradients, into: &mut NamedGrads) {
    let mut collector = GradCollector {
        path: Vec::new(),
        grads,
        into,
    };
    net.visit(&mut collector);
}

struct GradCollector<'a> {
    path: Vec<String>,
    grads: &'a Gradients,
    into: &'a mut NamedGrads,
}

impl ModuleVisitor for GradCollector<'_> {
    track_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = param.val().grad(self.grads) else {
            return;
        };
        let n = grad.dims().iter().product::<usize>();
        let grad = grad.reshape([n]);
        let name = name_of(&self.path);
        let sum = match self.into.remove(&name) {
            Some(before) => before + grad,
            None => grad,
        };
        self.into.insert(name, sum);
    }
}

/// The norm of all gradients, summed in the order of names.
pub(crate) fn global_norm(grads: &NamedGrads, compute: Compute) -> f64 {
    let squares: Vec<f64> = match compute {
        Compute::Fused => grads
            .values()
            .map(|grad| square_sum(&grad.to_data().try_to_vec::<f32>().unwrap_or_default()))
            .collect(),
        // Transfer one number per gradient, all at once.
        Compute::Stock(_) if grads.is_empty() => Vec::new(),
        Compute::Stock(_) => {
            let all = Tensor::cat(
                grads
                    .values()
                    .map(|grad| grad.clone().square().sum())
                    .collect(),
                0,
            );
            all.try_into_vec_as::<f32>().map_or_else(
                |_| vec![f64::NAN],
                |sums| sums.into_iter().map(f64::from).collect(),
            )
        }
    };
    squares.into_iter().sum::<f64>().sqrt()
}
