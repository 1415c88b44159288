//! The optimizer (AdamW, or Muon for the matrices of layers) and its state as tensors.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdjustLrFn, Muon, MuonConfig, Optimizer as _};
use burn::tensor::{Device, Tensor, TensorData};
use gpu::ops::{self, AdamwStep};
use model::Weights;
use rayon::prelude::*;

use crate::TrainError;
use crate::config::{Algorithm, Method, TrainConfig};
use crate::device::Compute;
use crate::flat::{Flat, tensor_of};
use crate::grads::NamedGrads;
use crate::kernels::update::{MuonStep, adamw, muon};
use crate::llama::{Net, name_of, track_path};

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
    /// Used for the matrices of layers, without momentum, which is in `velocities`.
    muon: Option<Muon>,
    state: BTreeMap<String, Moments>,
    velocities: BTreeMap<String, Tensor<1>>,
    constants: Constants,
    /// Whether our kernels take the steps: on the CPU.
    fused: bool,
}

/// AdamW's state of a parameter.
struct Moments {
    /// Number of steps so far.
    time: usize,
    moments: [Tensor<1>; 2],
}

/// Constants of every step.
#[derive(Clone, Copy)]
struct Constants {
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    /// Decoupled weight decay of the matrices of layers.
    decay: f32,
    /// Learning rate.
    rate: f64,
    /// Factor of the gradients.
    factor: f32,
}

impl Constants {
    fn new(config: &TrainConfig) -> Self {
        Self {
            beta1: config.beta1 as f32,
            beta2: config.beta2 as f32,
            epsilon: config.epsilon as f32,
            decay: config.weight_decay as f32,
            rate: 0.0,
            factor: 1.0,
        }
    }

    /// Step `time` of AdamW, from 1, for a parameter with or without decay.
    fn adamw(&self, time: usize, decays: bool) -> AdamwStep {
        let decay = if decays { self.decay } else { 0.0 };
        AdamwStep {
            beta1: self.beta1,
            beta2: self.beta2,
            bias1: 1.0 - self.beta1.powi(time as i32),
            bias2: 1.0 - self.beta2.powi(time as i32),
            epsilon: self.epsilon,
            rate: self.rate as f32,
            kept: (1.0 - self.rate * f64::from(decay)) as f32,
            factor: self.factor,
        }
    }

    fn muon(&self) -> MuonStep {
        MuonStep {
            momentum: MUON_MOMENTUM as f32,
            rate: self.rate,
            decay: self.decay,
            factor: self.factor,
        }
    }
}

/// A parameter before its step by the kernels. The step replaces the values of `state`.
struct KernelUpdate {
    name: String,
    shape: Vec<usize>,
    old: Flat,
    grad: Flat,
    state: KernelState,
}

/// The state of a parameter.
enum KernelState {
    /// AdamW's moments and the number of steps so far.
    Moments([Flat; 2], usize),
    /// Muon's velocity.
    Velocity(Flat),
}

impl KernelUpdate {
    /// The new values. `constants` are those of this step.
    fn step(&mut self, constants: &Constants) -> Vec<f32> {
        let (old, grad) = (self.old.values(), self.grad.values());
        match &mut self.state {
            KernelState::Velocity(velocity) => {
                let shape = [self.shape[0], self.shape[1]];
                muon(old, grad, velocity.values_mut(), shape, &constants.muon())
            }
            KernelState::Moments([m, v], time) => {
                *time += 1;
                let step = constants.adamw(*time, is_matrix(&self.name, self.shape.len()));
                adamw(old, grad, m.values_mut(), v.values_mut(), &step)
            }
        }
    }
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
    fn step(self, muon: &Muon, rate: f64, factor: f64) -> (String, MuonOutput) {
        let grad = self.grad.mul_scalar(factor);
        let velocity = match self.velocity {
            Some(before) => before.mul_scalar(MUON_MOMENTUM) + grad.clone(),
            None => grad.clone(),
        };
        // Nesterov momentum.
        let update = velocity.clone().mul_scalar(MUON_MOMENTUM) + grad;
        let shape = self.old.dims();
        let (new, _) = muon.step(rate, self.old, update.reshape(shape), None);
        (self.name, MuonOutput { new, velocity })
    }
}

impl Optimizer {
    pub(crate) fn new(config: &TrainConfig) -> Self {
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
            muon: by_muon(config).then(muon),
            state: BTreeMap::new(),
            velocities: BTreeMap::new(),
            constants: Constants::new(config),
            fused: matches!(config.compute(), Compute::Fused(_)),
        }
    }

    /// Applies one step with the learning rate `rate` and gradients scaled by `factor`.
    pub(crate) fn step(&mut self, net: Net, mut grads: NamedGrads, rate: f64, factor: f64) -> Net {
        let constants = Constants {
            rate,
            factor: factor as f32,
            ..self.constants
        };
        if self.fused {
            return self.step_kernels(net, grads, constants);
        }
        let matrices = self.step_matrices(&net, &mut grads, rate, factor);
        let mut stepper = StepMapper {
            path: Vec::new(),
            optimizer: self,
            matrices,
            grads,
            constants,
        };
        net.map(&mut stepper)
    }

    /// A step by the kernels: all parameters at once, because most are too small for more than one
    /// thread.
    fn step_kernels(&mut self, net: Net, grads: NamedGrads, constants: Constants) -> Net {
        let mut finder = UpdateFinder {
            path: Vec::new(),
            optimizer: self,
            grads,
            found: Vec::new(),
        };
        net.visit(&mut finder);
        let found = finder.found;
        let step = |mut update: KernelUpdate| {
            let new = update.step(&constants);
            (update, new)
        };
        let stepped: Vec<_> = found.into_par_iter().map(step).collect();
        let mut new_values = BTreeMap::new();
        for (update, new) in stepped {
            match update.state {
                KernelState::Velocity(velocity) => {
                    let velocity = velocity.into_tensor();
                    self.velocities.insert(update.name.clone(), velocity);
                }
                KernelState::Moments([m, v], time) => {
                    let moments = [m.into_tensor(), v.into_tensor()];
                    self.state
                        .insert(update.name.clone(), Moments { time, moments });
                }
            }
            new_values.insert(update.name, new);
        }
        net.map(&mut ValueWriter {
            path: Vec::new(),
            new_values,
        })
    }

    /// Muon's part of a step: removes the gradients of its matrices and returns the new matrices by
    /// name.
    fn step_matrices(
        &mut self,
        net: &Net,
        grads: &mut NamedGrads,
        rate: f64,
        factor: f64,
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
        let stepped: Vec<_> = found
            .into_iter()
            .map(|matrix| matrix.step(muon, rate, factor))
            .collect();
        let keep = |(name, stepped): (String, MuonOutput)| {
            self.velocities.insert(name.clone(), stepped.velocity);
            (name, stepped.new)
        };
        stepped.into_iter().map(keep).collect()
    }

    /// The state: moments as `NAME.m` and `NAME.v`, velocities as `NAME.velocity`.
    pub(crate) fn tensors(&self) -> Weights {
        let moments = self.state.iter().flat_map(|(name, state)| {
            let [m, v] = &state.moments;
            [(format!("{name}.m"), m), (format!("{name}.v"), v)]
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
            let moments = [tensor(first), tensor(second)];
            self.state
                .insert(name.to_owned(), Moments { time, moments });
        }
        Ok(())
    }
}

/// Finds all parameters with gradients and removes their states from the optimizer.
struct UpdateFinder<'a> {
    path: Vec<String>,
    optimizer: &'a mut Optimizer,
    grads: NamedGrads,
    found: Vec<KernelUpdate>,
}

impl ModuleVisitor for UpdateFinder<'_> {
    track_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = name_of(&self.path);
        let Some(grad) = self.grads.remove(&name) else {
            return;
        };
        let n = grad.dims()[0];
        let zeros = || Flat::new(tensor_of(vec![0.0; n], [n]));
        let state = if self.optimizer.muon.is_some() && is_matrix(&name, D) {
            let velocity = self.optimizer.velocities.remove(&name);
            KernelState::Velocity(velocity.map_or_else(zeros, Flat::new))
        } else {
            match self.optimizer.state.remove(&name) {
                Some(Moments { time, moments }) => {
                    KernelState::Moments(moments.map(Flat::new), time)
                }
                None => KernelState::Moments([zeros(), zeros()], 0),
            }
        };
        self.found.push(KernelUpdate {
            name,
            shape: param.dims().to_vec(),
            old: Flat::new(param.val()),
            grad: Flat::new(grad),
            state,
        });
    }
}

/// Replaces the values of parameters.
struct ValueWriter {
    path: Vec<String>,
    new_values: BTreeMap<String, Vec<f32>>,
}

impl ModuleMapper for ValueWriter {
    track_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(new) = self.new_values.remove(&name_of(&self.path)) else {
            return param;
        };
        param.map(|old| Tensor::from_inner(tensor_of(new, old.dims())).require_grad())
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
    constants: Constants,
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
            let old = old.inner().reshape([grad.dims()[0]]);
            let before = self.optimizer.state.remove(&name);
            let (time, moments) = match before {
                Some(before) => (before.time + 1, before.moments),
                None => (1, [grad.zeros_like(), grad.zeros_like()]),
            };
            let step = self.constants.adamw(time, matrix);
            let (new, moments) = ops::adamw(old, grad, moments, step);
            self.optimizer.state.insert(name, Moments { time, moments });
            Tensor::from_inner(new.reshape(shape)).require_grad()
        })
    }
}
