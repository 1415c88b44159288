//! The gradients are those of the loss.

use common::rng::Rng;
use model::encoder::{Activation, Pooling};
use model::{EncoderConfig, PairTokens};

use crate::ranker::net::{Gradients, Memory, Net};
use crate::ranker::start::fresh;

/// A tiny net with weights that are not small.
pub(super) fn tiny(activation: Activation) -> Net {
    let config = EncoderConfig {
        vocab_size: 23,
        hidden_size: 12,
        intermediate_size: 20,
        layers: 2,
        heads: 3,
        positions: 16,
        first_position: 0,
        token_types: 2,
        layer_norm_eps: 1e-12,
        activation,
        pooling: Pooling::Mean,
        max_tokens: 16,
        prefix: String::new(),
    };
    let mut net = fresh(&config, 5);
    let mut rng = Rng::new(9);
    for x in net.words.iter_mut().chain(&mut net.dense) {
        *x += 0.3 * rng.normal();
    }
    net
}

fn pairs() -> Vec<PairTokens> {
    let mut rng = Rng::new(2);
    [(7, 3), (5, 2), (12, 6), (3, 2)]
        .map(|(count, first)| PairTokens {
            ids: (0..count).map(|_| rng.below(23) as u32).collect(),
            first,
        })
        .to_vec()
}

#[test]
fn gradients_match_finite_differences() {
    for activation in [Activation::Gelu, Activation::GeluTanh] {
        check(activation);
    }
}

fn check(activation: Activation) {
    let mut net = tiny(activation);
    let pairs = pairs();
    let pairs: Vec<&PairTokens> = pairs.iter().collect();
    let slopes = [0.7, -1.1, 0.4, 0.9];
    let value = |net: &Net| -> f64 {
        let logits = net.forward(&pairs, &mut Memory::default(), false);
        let products = logits.iter().zip(slopes);
        products.map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
    };
    let (mut memory, mut found) = (Memory::default(), Gradients::default());
    // A pass before leaves its values in the memory.
    for _ in 0..2 {
        net.forward(&pairs, &mut memory, true);
        net.backward(&pairs, &slopes, &mut memory, &mut found);
    }
    let width = net.shape.config.hidden_size;
    let difference = |net: &mut Net, at: fn(&mut Net) -> &mut Vec<f32>, i: usize| {
        let old = at(net)[i];
        at(net)[i] = old + 4e-3;
        let up = value(net);
        at(net)[i] = old - 4e-3;
        let down = value(net);
        at(net)[i] = old;
        (up - down) / 8e-3
    };
    let mut checked = 0;
    let mut compare = |name: &str, expected: f64, found: f32| {
        let error = (expected - f64::from(found)).abs();
        assert!(
            error < 2e-3 + 0.01 * expected.abs(),
            "{name}: {found}, not {expected}"
        );
        checked += 1;
    };
    for slot in net.shape.slots.clone() {
        for i in slot.at.clone().step_by(7) {
            let expected = difference(&mut net, |net| &mut net.dense, i);
            compare(&slot.name, expected, found.dense[i]);
        }
    }
    for id in 0..23_u32 {
        let slot = found.ids.binary_search(&id);
        for d in [0, 5, 11] {
            let at = id as usize * width + d;
            let expected = difference(&mut net, |net| &mut net.words, at);
            let ours = slot.map_or(0.0, |slot| found.rows[slot * width + d]);
            compare("words", expected, ours);
        }
    }
    assert!(checked > 250, "{checked}");
}
