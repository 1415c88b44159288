//! Time of `get_relation` on a set of 10,000 entities.
//!
//! ```text
//! cargo bench -p toolbox --bench get_relation -- GRAPH.nt[.gz]
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::Instant;

use kg::term::NodeId;
use kg::{FrozenKg, Kg, LoadOptions};
use toolbox::call::{Arg, parse_program};
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::Linked;

/// Size of the set.
const SET: usize = 10_000;

fn main() {
    let graph = std::env::args().skip(1).find(|arg| arg != "--bench");
    let Some(graph) = graph else {
        println!("give a graph; see the head of benches/get_relation.rs");
        return;
    };
    let kg = FrozenKg::load(&[graph.into()], &LoadOptions::default(), &|_| {}).unwrap();
    let entities: Vec<NodeId> = kg.entities().collect();
    let step = (entities.len() / SET).max(1);
    let names: Vec<String> = entities
        .iter()
        .step_by(step)
        .take(SET)
        .map(|&node| kg.name(node))
        .collect();
    // Large sets only occur as variables.
    let mut calls = parse_program("v0 = union(a, a); get_relation(v0)").unwrap();
    calls[0].args[0] = Arg::List(names.iter().cloned().map(Arg::Name).collect());
    calls[0].args[1] = Arg::Name(names[0].clone());
    let best = (0..5).map(|_| {
        let mut session = Session::new(
            &kg,
            "which film did they direct?",
            Linked::default(),
            &[],
            ExecOptions::default(),
        )
        .unwrap();
        session.run(&calls[0]).unwrap();
        let start = Instant::now();
        session.run(&calls[1]).unwrap();
        start.elapsed().as_secs_f64() * 1e3
    });
    println!(
        "get_relation on {} entities: {:.1} ms, best of 5",
        names.len(),
        best.fold(f64::MAX, f64::min)
    );
}
