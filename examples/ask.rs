//! Loads files into a graph folder and asks: `cargo run --example ask -- "capital of peru?" graph data/graph.ttl data/ontology.ttl`
#![allow(clippy::print_stdout, reason = "an example prints")]

use kgagent::{Asker, Error, Graph};

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let question = args.next().unwrap_or_else(|| "capital of peru?".to_owned());
    let folder = args.next().unwrap_or_else(|| "graph".to_owned());
    let graph = Graph::load(folder.as_ref(), &args.map(Into::into).collect::<Vec<_>>())?;
    let answer = Asker::new(&graph).ask(&question)?;
    println!("{answer}\n\n{}", answer.program().join("\n"));
    for [subject, relation, object] in answer.evidence() {
        println!("{subject} · {relation} · {object}");
    }
    Ok(())
}
