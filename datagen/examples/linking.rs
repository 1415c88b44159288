//! Scratch: linking recall of a source on a graph file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use datagen::linking::{Linking, gold_entities};
use datagen::read::{ReadOptions, Source};
use std::time::Instant;
use toolbox::kg::{Kg, LoadOptions, MemoryKg};
use toolbox::rank::lexical;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[1].parse().unwrap();
    let files: Vec<std::path::PathBuf> = args[2].split(',').map(Into::into).collect();
    let t = Instant::now();
    let kg = MemoryKg::load(&files, &LoadOptions::default(), &|_| {}).unwrap();
    let loaded = t.elapsed();
    let t = Instant::now();
    let index = kg.label_index().unwrap();
    println!("load {loaded:?} index {:?} {index:?} triples {}", t.elapsed(), kg.len());
    for source in &args[3..] {
        let source: Source = source.parse().unwrap();
        let questions = source.read(Some(&kg), &ReadOptions::default()).unwrap();
        let mut linking = Linking::default();
        let mut shown = 0;
        let step = (questions.len() / 500).max(1);
        for question in questions.iter().step_by(step) {
            let Some(gold) = gold_entities(&kg, question) else { continue };
            let t = Instant::now();
            let mentions = toolbox::link::detect(&kg, &question.question, lexical().as_ref()).unwrap();
            let mut linked: Vec<_> = mentions.iter().map(|m| m.node).collect();
            linked.sort();
            linked.dedup();
            linking.add(&gold, &linked, t.elapsed(), &[]);
            let miss: Vec<_> = gold
                .iter()
                .filter(|g| !linked.contains(g))
                .map(|&g| format!("{} [{}]", kg.name(g), kg.label(g).unwrap_or_default()))
                .collect();
            let extra: Vec<_> = mentions
                .iter()
                .filter(|m| !gold.contains(&m.node))
                .map(|m| {
                    format!(
                        "{} [{}] {:?} «{}»",
                        kg.name(m.node),
                        kg.label(m.node).unwrap_or_default(),
                        m.how,
                        &question.question[m.span.0..m.span.1]
                    )
                })
                .collect();
            if (!miss.is_empty() || !extra.is_empty()) && shown < n {
                shown += 1;
                println!("Q {}\n   miss {miss:?}\n   extra {extra:?}", question.question);
            }
        }
        println!(
            "{:?}: n {} gold {} recall {:.4} complete {:.4} precision {:.4} per question {:.2} ms {:.3}",
            source.path,
            linking.questions,
            linking.gold,
            linking.recall(),
            linking.complete(),
            linking.precision(),
            linking.a_question(),
            linking.seconds * 1e3 / linking.questions as f64
        );
    }
}
