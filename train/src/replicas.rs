//! Data-parallel training. Every device holds the model and computes the gradients of its part of a
//! step. The first device adds them in the order of devices and takes the optimizer step. The
//! others copy its weights.
//!
//! This module moves and adds tensors instead of using burn's collective operations: the CPU
//! backend does not implement them, and on GPUs NCCL chooses the order of additions, so that runs
//! would not be reproducible.

use std::sync::Arc;
use std::thread;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::TrainError;
use crate::config::TrainConfig;
use crate::grads::{self, NamedGrads};
use crate::llama::{Llama, Packed, name_of, track_path};

/// The model on one device of a run.
pub(crate) struct Replica {
    pub(crate) model: Llama,
    pub(crate) device: Device,
    /// Its share of the threads. Few threads reduce the cost of handing over work; a single thread
    /// avoids it.
    pool: Arc<ThreadPool>,
}

/// `model`, which is on the first device, and its copies on the others. On the CPU the copies share
/// memory but have separate autodiff graphs.
///
/// # Errors
/// When threads cannot be started.
pub(crate) fn replicate(model: Llama, devices: &[Device]) -> Result<Vec<Replica>, TrainError> {
    let copy = |device: &Device| Llama {
        net: model.net.clone().fork(device),
        ..model.clone()
    };
    let others: Vec<Llama> = devices.iter().skip(1).map(copy).collect();
    let models = std::iter::once(model).chain(others);
    let pools = pools(devices.len())?;
    let replica = |((model, device), pool): ((Llama, &Device), &Arc<ThreadPool>)| Replica {
        model,
        device: device.clone(),
        pool: Arc::clone(pool),
    };
    Ok(models
        .zip(devices)
        .zip(pools.iter().cycle())
        .map(replica)
        .collect())
}

/// Thread pools that divide all threads among the devices. If there are fewer threads than devices,
/// devices share pools.
pub(crate) fn pools(devices: usize) -> Result<Vec<Arc<ThreadPool>>, TrainError> {
    let threads = rayon::current_num_threads();
    let count = devices.clamp(1, threads);
    let pool = |i: usize| {
        ThreadPoolBuilder::new()
            .num_threads(threads / count + usize::from(i < threads % count))
            .build()
    };
    (0..count).map(|i| Ok(Arc::new(pool(i)?))).collect()
}

impl Replica {
    /// Copies the trained weights of `model`.
    pub(crate) fn copy_weights(&mut self, model: &Llama) {
        let mut trained = TrainedWeights::default();
        model.net.visit(&mut trained);
        let mut copier = WeightCopier {
            path: Vec::new(),
            trained: trained.weights,
            device: self.device.clone().inner(),
        };
        self.model.net = self.model.net.clone().map(&mut copier);
    }

    /// Losses and gradients of the forward passes of this device; `before` is the number of the
    /// step's passes on earlier devices.
    fn gradients(
        &self,
        batches: &[Packed],
        before: usize,
        step: &StepContext<'_>,
    ) -> (Vec<Tensor<1>>, NamedGrads) {
        let Self {
            model,
            device,
            pool,
        } = self;
        let gradients = if step.config.gradient_checkpointing {
            Llama::gradients_by_layer
        } else {
            Llama::gradients
        };
        pool.install(|| {
            let mut grads = NamedGrads::new();
            let one = |(micro, batch): (usize, &Packed)| {
                let seed = step.config.seed ^ ((step.step as u64) << 16 | (before + micro) as u64);
                gradients(model, batch, step.scale, seed, device, &mut grads)
            };
            let losses = batches.iter().enumerate().map(one).collect();
            (losses, grads)
        })
    }
}

/// Constants of the forward passes of one step.
pub(crate) struct StepContext<'a> {
    pub(crate) config: &'a TrainConfig,
    pub(crate) step: usize,
    /// Factor of the summed cross-entropy.
    pub(crate) scale: f32,
}

/// The losses of a step's forward passes in order, and the sum of their gradients on the first
/// device. Replica `i` computes part `i`; if there are fewer parts, the last devices wait.
pub(crate) fn gradients(
    replicas: &[Replica],
    parts: &[Vec<Packed>],
    step: &StepContext<'_>,
) -> (Vec<Tensor<1>>, NamedGrads) {
    let mut before = 0;
    let mut work = Vec::new();
    for (replica, part) in replicas.iter().zip(parts) {
        work.push((replica, part, before));
        before += part.len();
    }
    // Every replica has its own pool: a waiting thread takes other work of its pool. If that were
    // another replica's, it could deadlock on a lock of the autodiff graph.
    let done: Vec<(Vec<Tensor<1>>, NamedGrads)> = thread::scope(|scope| {
        let mut work = work.into_iter();
        let first = work.next();
        let others: Vec<_> = work
            .map(|(replica, part, before)| {
                scope.spawn(move || replica.gradients(part, before, step))
            })
            .collect();
        let first = first.map(|(replica, part, before)| replica.gradients(part, before, step));
        let others = others.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        first.into_iter().chain(others).collect()
    });
    let mut done = done.into_iter();
    let (mut losses, mut sum) = done.next().unwrap_or_default();
    let first = replicas[0].device.clone().inner();
    for (more, grads) in done {
        losses.extend(more);
        let here = |(name, grad): (String, Tensor<1>)| (name, grad.to_device(&first));
        let grads = grads.into_iter().map(here).collect();
        grads::add_gradients(&mut sum, grads, replicas[0].model.compute);
    }
    (losses, sum)
}

/// Flat trained weights by name.
#[derive(Default)]
struct TrainedWeights {
    path: Vec<String>,
    weights: NamedGrads,
}

impl ModuleVisitor for TrainedWeights {
    track_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        if tensor.is_require_grad() {
            let n = tensor.dims().iter().product::<usize>();
            self.weights
                .insert(name_of(&self.path), tensor.inner().reshape([n]));
        }
    }
}

/// Replaces the trained weights of a model.
struct WeightCopier {
    path: Vec<String>,
    trained: NamedGrads,
    device: Device,
}

impl ModuleMapper for WeightCopier {
    track_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(new) = self.trained.remove(&name_of(&self.path)) else {
            return param;
        };
        param.map(|old| {
            Tensor::from_inner(new.to_device(&self.device).reshape(old.dims())).require_grad()
        })
    }
}
