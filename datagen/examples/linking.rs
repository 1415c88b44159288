//! How well entities are linked without gold ones: `linking SHOWN GRAPH[,GRAPH…] FORMAT=PATH…` loads graph files and prints, per source, recall
//! and precision of the linked entities, after the first SHOWN questions in which they differ from the gold ones. No model is involved;
//! `kgagent eval --entities linked` measures the same together with the answers.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use common::cancel::Cancel;
use datagen::linking::{Linking, gold_entities};
use datagen::read::{QuestionSource, ReadOptions};
use kg::term::NodeId;
use kg::{FrozenKg, Kg, LoadOptions};
use toolbox::link;
use toolbox::rank::lexical;

/// Questions of a source that are measured, evenly spread.
const MEASURED: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, shown, graphs, sources @ ..] = &args[..] else {
        return Err("usage: linking SHOWN GRAPH[,GRAPH…] FORMAT=PATH…".into());
    };
    let shown: usize = shown.parse()?;
    let files: Vec<PathBuf> = graphs.split(',').map(PathBuf::from).collect();
    let kg = FrozenKg::load(&files, &LoadOptions::default(), &|_| {})?;
    let begun = Instant::now();
    let names = kg.label_index()?.len();
    println!(
        "{} triples, {names} names indexed in {:?}",
        kg.len(),
        begun.elapsed()
    );
    for source in sources {
        measure(&kg, source, shown)?;
    }
    Ok(())
}

fn measure(kg: &FrozenKg, source: &str, mut shown: usize) -> Result<(), Box<dyn Error>> {
    let questions = source
        .parse::<QuestionSource>()?
        .read(Some(kg), &ReadOptions::default())?;
    let mut linking = Linking::default();
    for question in questions
        .iter()
        .step_by((questions.len() / MEASURED).max(1))
    {
        let Some(gold) = gold_entities(kg, question) else {
            continue;
        };
        let begun = Instant::now();
        let ranker = lexical();
        let mentions = link::detect(kg, &question.question, ranker.as_ref(), &Cancel::default())?;
        let mut linked: Vec<NodeId> = mentions.iter().map(|mention| mention.node).collect();
        linked.sort_unstable();
        linked.dedup();
        linking.add(&gold, &linked, begun.elapsed(), &[]);
        if linked != gold && shown > 0 {
            shown -= 1;
            let label = |node: NodeId| kg.label(node).unwrap_or_else(|| kg.name(node));
            let missed: Vec<String> = gold
                .iter()
                .filter(|node| !linked.contains(node))
                .map(|&node| label(node))
                .collect();
            let wrong = mentions
                .iter()
                .filter(|mention| !gold.contains(&mention.node));
            let wrong: Vec<String> = wrong
                .map(|mention| {
                    format!(
                        "{} for `{}` ({:?})",
                        label(mention.node),
                        &question.question[mention.span.0..mention.span.1],
                        mention.how
                    )
                })
                .collect();
            println!(
                "{}\n    missed: {}\n    wrong: {}",
                question.question,
                missed.join(", "),
                wrong.join(", ")
            );
        }
    }
    println!(
        "{source}: {} questions, {} gold entities, recall {:.4}, complete {:.4}, precision {:.4}, {:.2} linked and {:.3} ms a question",
        linking.questions,
        linking.gold,
        linking.recall(),
        linking.complete(),
        linking.precision(),
        linking.a_question(),
        linking.seconds * 1e3 / linking.questions.max(1) as f64
    );
    Ok(())
}
