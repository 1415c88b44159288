//! AdamW over named parameters, the global gradient norm, and the optimizer's state as tensors.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, Optimizer as _};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use model::Weights;

use crate::TrainError;
use crate::config::TrainConfig;
use crate::kernels::cross_entropy::square_sum;
use crate::llama::{Net, name_of};
use crate::ops::Compute;

/// Gradients by parameter name, flat.
pub(crate) type NamedGrads = BTreeMap<String, Tensor<1>>;

/// AdamW with its state.
pub(crate) struct Optimizer {
    decayed: AdamW,
    plain: AdamW,
    state: BTreeMap<String, AdamWState<1>>,
}

impl Optimizer {
    pub(crate) fn new(config: &TrainConfig) -> Self {
        // burn's own defaults (epsilon 1e-5, decay 1e-4) are not the usual ones: every constant is set.
        let build = |decay: f64| {
            AdamWConfig::new()
                .with_beta_1(config.beta1 as f32)
                .with_beta_2(config.beta2 as f32)
                .with_epsilon(config.epsilon as f32)
                .with_weight_decay(decay as f32)
                .build()
        };
        Self { decayed: build(config.weight_decay), plain: build(0.0), state: BTreeMap::new() }
    }

    /// One step with `rate`, gradients scaled by `factor`.
    pub(crate) fn step(&mut self, net: Net, grads: NamedGrads, rate: f64, factor: f64) -> Net {
        let mut stepper = Stepper { path: Vec::new(), optimizer: self, grads, rate, factor };
        net.map(&mut stepper)
    }

    /// First and second moments as `NAME.m` and `NAME.v`, and the step count as `step`.
    pub(crate) fn tensors(&self) -> Weights {
        let mut out = Weights::default();
        for (name, state) in &self.state {
            for (suffix, tensor) in [("m", &state.momentum.moment_1), ("v", &state.momentum.moment_2)] {
                let data = tensor.to_data().try_to_vec::<f32>().unwrap_or_default();
                out.insert(format!("{name}.{suffix}"), model::Tensor { shape: vec![data.len()], data });
            }
        }
        out
    }

    /// The inverse of [`Optimizer::tensors`] after `time` steps.
    pub(crate) fn load(&mut self, weights: &Weights, time: usize, device: &Device) -> Result<(), TrainError> {
        let device = device.clone().inner();
        self.state.clear();
        let tensor = |t: &model::Tensor| Tensor::<1>::from_data(TensorData::new(t.data.clone(), [t.data.len()]), &device);
        for (key, first) in weights.iter() {
            let Some(name) = key.strip_suffix(".m") else { continue };
            let second = weights.get(&format!("{name}.v"), &first.shape)?;
            let momentum = AdaptiveMomentumState { time, moment_1: tensor(first), moment_2: tensor(second), max_moment_2: None };
            self.state.insert(name.to_owned(), AdamWState { momentum });
        }
        Ok(())
    }
}

struct Stepper<'a> {
    path: Vec<String>,
    optimizer: &'a mut Optimizer,
    grads: NamedGrads,
    rate: f64,
    factor: f64,
}

impl ModuleMapper for Stepper<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = name_of(&self.path);
        let Some(mut grad) = self.grads.remove(&name) else { return param };
        if self.factor < 1.0 {
            grad = grad.mul_scalar(self.factor);
        }
        let matrix = D == 2 && !name.contains("embed_tokens") && !name.starts_with("lm_head");
        param.map(|old| {
            let shape = old.dims();
            let n = shape.iter().product::<usize>();
            let state = self.optimizer.state.remove(&name);
            let adamw = if matrix { &self.optimizer.decayed } else { &self.optimizer.plain };
            let (new, state) = adamw.step(self.rate, old.inner().reshape([n]), grad, state);
            if let Some(state) = state {
                self.optimizer.state.insert(name, state);
            }
            Tensor::from_inner(new.reshape(shape)).require_grad()
        })
    }
}

/// Gradients of every trained parameter, added to those in `into`.
pub(crate) fn collect(net: &Net, grads: &Gradients, into: &mut NamedGrads) {
    let mut collector = Collector { path: Vec::new(), grads, into };
    net.visit(&mut collector);
}

struct Collector<'a> {
    path: Vec<String>,
    grads: &'a Gradients,
    into: &'a mut NamedGrads,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = param.val().grad(self.grads) else { return };
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

/// Square root of the sum of all squared gradients, summed in the order of the names.
pub(crate) fn global_norm(grads: &NamedGrads, compute: Compute) -> f64 {
    let squares: Vec<f64> = match compute {
        Compute::Fused => grads.values().map(|grad| square_sum(&grad.to_data().try_to_vec::<f32>().unwrap_or_default())).collect(),
        // One number a gradient leaves the device, and all of them at once.
        Compute::Stock(_) if grads.is_empty() => Vec::new(),
        Compute::Stock(_) => {
            let all = Tensor::cat(grads.values().map(|grad| grad.clone().square().sum()).collect(), 0);
            all.try_into_vec_as::<f32>().map_or_else(|_| vec![f64::NAN], |sums| sums.into_iter().map(f64::from).collect())
        }
    };
    squares.into_iter().sum::<f64>().sqrt()
}
