//! Data-parallel training: every device holds the model and computes the gradients of its part of a step; they are added on the first device in
//! the order of the devices, which takes the one optimizer step, and the others get its weights.
//!
//! burn's own collective operation is not used: on the CPU backend it is not implemented, and on GPUs NCCL chooses the order of the additions,
//! so that a run would not be the same twice. Here tensors are moved and added.

use std::sync::Arc;
use std::thread;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::TrainError;
use crate::config::TrainConfig;
use crate::llama::{Llama, Packed, keep_path, name_of};
use crate::optim::NamedGrads;

/// A model on one of a run's devices.
pub(crate) struct Replica {
    pub(crate) model: Llama,
    pub(crate) device: Device,
    /// Its share of the threads. Work that is begun and done on the same few threads need not be handed over at every operation, and on a single one not at all.
    pool: Arc<ThreadPool>,
}

/// `model`, which is on the first of these devices, and its copies on the others. On the CPU the numbers stay where they are; only their place
/// in automatic differentiation is another.
///
/// # Errors
/// When there are no threads to be had.
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

/// The threads there are, divided among so many devices; where there are fewer threads, devices take turns.
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
    /// Take the trained weights of `model`; frozen ones are as they were.
    pub(crate) fn follow(&mut self, model: &Llama) {
        let mut trained = Trained::default();
        model.net.visit(&mut trained);
        let mut follow = Follow {
            path: Vec::new(),
            trained: trained.weights,
            device: self.device.clone().inner(),
        };
        self.model.net = self.model.net.clone().map(&mut follow);
    }

    /// The losses of these forward passes, of which `before` of the step come before, and their gradients.
    fn part(
        &self,
        batches: &[Packed],
        before: usize,
        pass: &Pass<'_>,
    ) -> (Vec<Tensor<1>>, NamedGrads) {
        let Self {
            model,
            device,
            pool,
        } = self;
        let gradients = if pass.config.gradient_checkpointing {
            Llama::gradients_by_layer
        } else {
            Llama::gradients
        };
        pool.install(|| {
            let mut grads = NamedGrads::new();
            let one = |(micro, batch): (usize, &Packed)| {
                let seed = pass.config.seed ^ ((pass.step as u64) << 16 | (before + micro) as u64);
                gradients(model, batch, pass.scale, seed, device, &mut grads)
            };
            let losses = batches.iter().enumerate().map(one).collect();
            (losses, grads)
        })
    }
}

/// What the forward passes of one step have in common.
pub(crate) struct Pass<'a> {
    pub(crate) config: &'a TrainConfig,
    /// Steps done before.
    pub(crate) step: usize,
    /// Of the summed cross-entropy.
    pub(crate) scale: f32,
}

/// The losses of a step's forward passes in their order, and the sum of their gradients on the first device. Part `i` is computed by replica
/// `i`; where there are fewer parts, the last devices wait.
pub(crate) fn gradients(
    replicas: &[Replica],
    parts: &[Vec<Packed>],
    pass: &Pass<'_>,
) -> (Vec<Tensor<1>>, NamedGrads) {
    let mut before = 0;
    let mut work = Vec::new();
    for (replica, part) in replicas.iter().zip(parts) {
        work.push((replica, part, before));
        before += part.len();
    }
    // Each in its own pool: a thread that waits begins other work of its pool, which must not be another replica's while it holds a lock of the autodiff graph.
    let done: Vec<(Vec<Tensor<1>>, NamedGrads)> = thread::scope(|scope| {
        let mut work = work.into_iter();
        let first = work.next();
        let others: Vec<_> = work
            .map(|(replica, part, before)| scope.spawn(move || replica.part(part, before, pass)))
            .collect();
        let first = first.map(|(replica, part, before)| replica.part(part, before, pass));
        let others = others.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        first.into_iter().chain(others).collect()
    });
    let mut done = done.into_iter();
    let (mut losses, mut sum) = done.next().unwrap_or_default();
    for (more, grads) in done {
        losses.extend(more);
        for (name, grad) in grads {
            let grad = match sum.remove(&name) {
                Some(before) => {
                    let grad = grad.to_device(&before.device());
                    before + grad
                }
                None => grad.to_device(&replicas[0].device.clone().inner()),
            };
            sum.insert(name, grad);
        }
    }
    (losses, sum)
}

/// The trained weights of a model by name, flat.
#[derive(Default)]
struct Trained {
    path: Vec<String>,
    weights: NamedGrads,
}

impl ModuleVisitor for Trained {
    keep_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        if tensor.is_require_grad() {
            let n = tensor.dims().iter().product::<usize>();
            self.weights
                .insert(name_of(&self.path), tensor.inner().reshape([n]));
        }
    }
}

struct Follow {
    path: Vec<String>,
    trained: NamedGrads,
    device: Device,
}

impl ModuleMapper for Follow {
    keep_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(new) = self.trained.remove(&name_of(&self.path)) else {
            return param;
        };
        param.map(|old| {
            Tensor::from_inner(new.to_device(&self.device).reshape(old.dims())).require_grad()
        })
    }
}
