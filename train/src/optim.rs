//! The optimizer (AdamW, or Muon for the matrices of layers) and its state as tensors.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, AdjustLrFn, Muon, MuonConfig,
    Optimizer as _,
};
use burn::tensor::{Device, Tensor, TensorData};
use model::Weights;
use rayon::prelude::*;

use crate::TrainError;
use crate::config::{Algorithm, Method, TrainConfig};
use crate::device::Compute;
use crate::flat::{Flat, tensor_of};
use crate::grads::NamedGrads;
use crate::kernels::update::{AdamwStep, MuonStep, adamw, muon};
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
    decayed: AdamW,
    plain: AdamW,
    /// Used for the matrices of layers, without momentum, which is in `velocities`.
    muon: Option<Muon>,
    state: BTreeMap<String, AdamWState<1>>,
    velocities: BTreeMap<String, Tensor<1>>,
    /// Constants of the kernels, which take the steps on the CPU.
    kernels: Option<KernelConstants>,
}

/// Constants of the kernels for every step.
#[derive(Clone, Copy)]
struct KernelConstants {
    adamw: AdamwStep,
    muon: Option<MuonStep>,
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
    fn step(&mut self, constants: &KernelConstants) -> Vec<f32> {
        let (old, grad) = (self.old.values(), self.grad.values());
        match (&mut self.state, constants.muon) {
            (KernelState::Velocity(velocity), Some(step)) => {
                let shape = [self.shape[0], self.shape[1]];
                muon(old, grad, velocity.values_mut(), shape, &step)
            }
            (KernelState::Velocity(_), None) => old.to_vec(),
            (KernelState::Moments([m, v], time), _) => {
                *time += 1;
                let matrix = is_matrix(&self.name, self.shape.len());
                let step = AdamwStep {
                    time: *time as i32,
                    decay: if matrix { constants.adamw.decay } else { 0.0 },
                    ..constants.adamw
                };
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
            kernels: (config.compute() == Compute::Fused).then(|| KernelConstants::new(config)),
        }
    }

    /// Applies one step with the learning rate `rate` and gradients scaled by `factor`.
    pub(crate) fn step(&mut self, net: Net, mut grads: NamedGrads, rate: f64, factor: f64) -> Net {
        if let Some(constants) = self.kernels {
            return self.step_kernels(net, grads, constants.at(rate, factor));
        }
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

    /// A step by the kernels: all parameters at once, because most are too small for more than one
    /// thread.
    fn step_kernels(&mut self, net: Net, grads: NamedGrads, constants: KernelConstants) -> Net {
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
                    let momentum = AdaptiveMomentumState {
                        time,
                        moment_1: m.into_tensor(),
                        moment_2: v.into_tensor(),
                        max_moment_2: None,
                    };
                    let state = AdamWState { momentum };
                    self.state.insert(update.name.clone(), state);
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
            .map(|matrix| matrix.step(muon, rate))
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

impl KernelConstants {
    fn new(config: &TrainConfig) -> Self {
        let decay = config.weight_decay as f32;
        Self {
            adamw: AdamwStep {
                beta1: config.beta1 as f32,
                beta2: config.beta2 as f32,
                epsilon: config.epsilon as f32,
                time: 0,
                rate: 0.0,
                decay,
                factor: 1.0,
            },
            muon: by_muon(config).then_some(MuonStep {
                momentum: MUON_MOMENTUM as f32,
                rate: 0.0,
                decay,
                factor: 1.0,
            }),
        }
    }

    /// These constants with the learning rate and the gradient factor of a step.
    fn at(self, rate: f64, factor: f64) -> Self {
        let factor = factor as f32;
        Self {
            adamw: AdamwStep {
                rate,
                factor,
                ..self.adamw
            },
            muon: self.muon.map(|muon| MuonStep {
                rate,
                factor,
                ..muon
            }),
        }
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
                Some(AdamWState { momentum }) => {
                    let moments = [momentum.moment_1, momentum.moment_2];
                    KernelState::Moments(moments.map(Flat::new), momentum.time)
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
