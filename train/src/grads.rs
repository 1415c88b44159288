//! Gradients by the names of their parameters: collecting, adding, the global norm.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};
use gpu::ops;
use rayon::prelude::*;

use crate::device::Compute;
use crate::flat::Flat;
use crate::kernels::cross_entropy::square_sum;
use crate::kernels::rows;
use crate::llama::{Net, name_of, track_path};

/// Flat gradients by parameter name.
pub(crate) type NamedGrads = BTreeMap<String, Tensor<1>>;

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

/// Adds `more` to `sum`, name by name.
pub(crate) fn add_gradients(sum: &mut NamedGrads, more: NamedGrads, compute: Compute) {
    let pairs: Vec<_> = more
        .into_iter()
        .map(|(name, grad)| {
            let before = sum.remove(&name);
            (name, before, grad)
        })
        .collect();
    let add = |(name, before, grad): (String, Option<Tensor<1>>, Tensor<1>)| {
        let grad = match (before, compute) {
            (None, _) => grad,
            (Some(before), Compute::Stock(_)) => before + grad,
            (Some(before), Compute::Fused(_)) => {
                let mut before = Flat::new(before);
                rows::add(before.values_mut(), Flat::new(grad).values());
                before.into_tensor()
            }
        };
        (name, grad)
    };
    sum.extend(match compute {
        Compute::Fused(_) => pairs.into_par_iter().map(add).collect::<Vec<_>>(),
        Compute::Stock(_) => pairs.into_iter().map(add).collect(),
    });
}

/// The norm of all gradients, summed in the order of names.
pub(crate) fn global_norm(grads: &NamedGrads, compute: Compute) -> f64 {
    let squares: Vec<f64> = match compute {
        Compute::Fused(_) => grads
            .values()
            .map(|grad| square_sum(Flat::new(grad.clone()).values()))
            .collect(),
        // Transfer one number per gradient, all at once.
        Compute::Stock(_) if grads.is_empty() => Vec::new(),
        Compute::Stock(_) => {
            let all = Tensor::cat(
                grads
                    .values()
                    .map(|grad| ops::square_sum(grad.clone()))
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
