//! Graphs for tests, written in Turtle.

use std::io::Write;

use kg::{FrozenKg, LoadOptions};

/// Loads a graph from Turtle.
pub(crate) fn graph_of(turtle: &str) -> FrozenKg {
    let mut file = tempfile::Builder::new().suffix(".ttl").tempfile().unwrap();
    file.write_all(turtle.as_bytes()).unwrap();
    FrozenKg::load(
        &[file.path().to_path_buf()],
        &LoadOptions::default(),
        &|_| {},
    )
    .unwrap()
}
