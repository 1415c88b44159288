//! Time of an observation with stem similarity (ODA: D = 3, N = 50, P = 10 %), and of GetPath between
//! the entities of a question.
//!
//! ```text
//! cargo bench -p toolbox --bench observe -- GRAPH.nt[.gz] QUESTIONS.tsv
//! ```
//!
//! Each line of QUESTIONS.tsv has a question, a tab, and the names of its entities separated by
//! spaces. The first round fills the label cache. Prints medians and the ratio of cold to warm.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use common::cancel::Cancel;
use kg::term::NodeId;
use kg::{FrozenKg, Kg, LoadOptions};
use toolbox::link::Linked;
use toolbox::observe::{ObserveOptions, PathOptions, StemSimilarity, observe, paths};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let [graph, questions] = &args[..] else {
        println!("give a graph and a file of questions; see the head of benches/observe.rs");
        return;
    };
    let kg = FrozenKg::load(&[graph.into()], &LoadOptions::default(), &|_| {}).unwrap();
    let asked: Vec<(String, Vec<NodeId>)> = std::fs::read_to_string(questions)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(question, names)| {
            let nodes: Vec<NodeId> = names
                .split(' ')
                .filter_map(|name| kg.by_name(name))
                .collect();
            (Linked::new(&kg, question, &nodes).bare(question), nodes)
        })
        .filter(|(_, nodes)| !nodes.is_empty())
        .collect();
    assert!(!asked.is_empty(), "no question's entity is in the graph");
    println!("{} triples, {} questions", kg.len(), asked.len());
    let (mut medians, none) = (Vec::new(), Cancel::default());
    for (name, both) in [("both directions", true), ("from heads only", false)] {
        let options = ObserveOptions {
            both_directions: both,
            ..ObserveOptions::default()
        };
        for round in ["cold", "warm"] {
            let mut took: Vec<Duration> = Vec::new();
            let mut seen = 0;
            for (question, nodes) in &asked {
                let begun = Instant::now();
                let tasks: Vec<&[NodeId]> = nodes.iter().map(std::slice::from_ref).collect();
                seen += observe(&kg, &tasks, question, &StemSimilarity, &options, &none)
                    .unwrap()
                    .len();
                took.push(begun.elapsed());
            }
            took.sort_unstable();
            let at = |share: usize| took[(took.len() - 1) * share / 100];
            println!(
                "observe, {name}, {round}: median {:?}, 90 % {:?}, longest {:?}, {seen} triples",
                at(50),
                at(90),
                at(100)
            );
            medians.push(at(50));
        }
    }
    println!(
        "cold : warm, both directions: {:.2}",
        medians[0].as_secs_f64() / medians[1].as_secs_f64()
    );
    let mut took: Vec<Duration> = Vec::new();
    let (mut found, mut cut) = (0, 0);
    for (_, nodes) in asked.iter().filter(|(_, nodes)| nodes.len() > 1) {
        let begun = Instant::now();
        let between = paths(&kg, nodes[0], nodes[1], &PathOptions::default());
        took.push(begun.elapsed());
        found += between.paths.len();
        cut += usize::from(between.cut);
    }
    took.sort_unstable();
    if let (Some(median), Some(longest)) = (took.get(took.len() / 2), took.last()) {
        println!(
            "GetPath, {} pairs: median {median:?}, longest {longest:?}, {found} paths, {cut} searches cut",
            took.len()
        );
    }
}
