//! Grammars for servers, compared with the languages they are generated from. With
//! `KGAGENT_MASKS=FILE` the ignored test writes masks for `benches/peers/masks.py`, which compares
//! them with llguidance's.

use std::io::Write;

use common::acceptor::Acceptor;
use common::rng::Rng;
use kg::value::DatePart;
use serde_json::{Value, json};
use toolbox::call::{CallAcceptor, Live, LiveColumn, LiveSet, LiveTable};
use toolbox::gbnf;
use toolbox::grammar::{Grammar, GrammarAcceptor};

const WORDS: [&str; 9] = [
    "e0",
    "t11",
    "t1",
    "film.directed_by",
    "say \"x\\y\"",
    "São Paulo",
    "a",
    "->",
    "true",
];

/// A random grammar; `lists` says whether it may contain lists, for which GBNF accepts more than
/// the grammar.
fn random_grammar(rng: &mut Rng, depth: usize, lists: bool) -> Grammar {
    let word = |rng: &mut Rng| Grammar::text(WORDS[rng.below(WORDS.len())]);
    if depth == 0 {
        return word(rng);
    }
    let n = 1 + rng.below(3);
    let many = |rng: &mut Rng| {
        (0..n)
            .map(|_| random_grammar(rng, depth - 1, lists))
            .collect::<Vec<_>>()
    };
    match rng.below(5) {
        0 => word(rng),
        1 => Grammar::seq(many(rng)),
        2 => Grammar::any(many(rng)),
        3 if lists => {
            let max = 1 + rng.below(3);
            Grammar::list(many(rng), ", ", rng.below(2).min(max), max)
        }
        _ => {
            let min = rng.below(2);
            Grammar::seq([
                Grammar::free(min, min + 1 + rng.below(4), ">|"),
                Grammar::text(">"),
            ])
        }
    }
}

fn live(rng: &mut Rng) -> Live {
    let names = |rng: &mut Rng, n: usize| {
        (0..rng.below(n))
            .map(|i| format!("r.{}.{i}", WORDS[3]))
            .collect::<Vec<_>>()
    };
    let mut sets: Vec<LiveSet> = (0..1 + rng.below(3))
        .map(|i| LiveSet {
            text: format!("e{i}"),
            entity: true,
            out: names(rng, 4),
            incoming: names(rng, 3),
            ..LiveSet::default()
        })
        .collect();
    let variables = rng.below(4);
    sets.extend((0..variables).map(|i| LiveSet {
        text: format!("v{i}"),
        scalar: rng.below(4) == 0,
        out: names(rng, 3),
        ..LiveSet::default()
    }));
    let extended = rng.below(2) == 0;
    let mut tables = Vec::new();
    for i in variables..variables + if extended { rng.below(3) } else { 0 } {
        let columns: Vec<LiveColumn> = (0..1 + rng.below(3))
            .map(|k| LiveColumn {
                text: format!("v{i}.k{k}"),
                numbers: rng.below(2) == 0,
                dates: (rng.below(3) == 0).then_some(DatePart::Day),
            })
            .collect();
        sets.extend(columns.iter().map(|column| LiveSet {
            text: column.text.clone(),
            out: names(rng, 3),
            ..LiveSet::default()
        }));
        tables.push(LiveTable {
            text: format!("v{i}"),
            columns,
            empty: rng.below(4) == 0,
            stands_in: false,
        });
    }
    let some = |rng: &mut Rng, text: &str, n: usize| -> Vec<String> {
        (0..if extended { rng.below(n) } else { 0 })
            .map(|i| format!("{text}{i}"))
            .collect()
    };
    Live {
        extended,
        tables,
        numbers: some(rng, "v2", 3),
        truths: some(rng, "v3", 3),
        sizes: some(rng, "", 4),
        next_var: u32::try_from(variables).unwrap(),
        last_call: rng.below(8) == 0,
        sets,
        classes: names(rng, 3),
        types: vec!["rdf:type".to_owned()],
        values: (0..rng.below(3)).map(|i| format!("x{i}")).collect(),
        amounts: some(rng, "x", 3),
        mentions: vec!["\"Heat\"".to_owned()],
    }
}

/// Random texts of a language, each with the bytes allowed after every prefix.
fn walks<A: Acceptor>(rng: &mut Rng, acceptor: &A, exact: bool, grammar: &str) -> Value {
    let walk = |rng: &mut Rng| {
        let (mut state, mut bytes, mut masks) = (acceptor.start(), Vec::new(), Vec::new());
        loop {
            let next: Vec<u8> = (0..=255)
                .filter(|&byte| acceptor.step(&state, byte).is_some())
                .collect();
            masks.push(json!({ "next": next, "end": acceptor.may_end(&state) }));
            if next.is_empty()
                || (acceptor.may_end(&state) && rng.below(3) == 0)
                || bytes.len() > 120
            {
                return json!({ "bytes": bytes, "masks": masks });
            }
            let byte = next[rng.below(next.len())];
            state = acceptor.step(&state, byte).unwrap();
            bytes.push(byte);
        }
    };
    let walks: Vec<Value> = (0..4).map(|_| walk(rng)).collect();
    json!({ "grammar": grammar, "exact": exact, "walks": walks })
}

/// Grammars with random texts of their languages.
fn cases(count: usize) -> Vec<Value> {
    let mut rng = Rng::new(11);
    (0..count)
        .map(|i| match i % 3 {
            0 => {
                let language = random_grammar(&mut rng, 3, false);
                walks(
                    &mut rng,
                    &GrammarAcceptor::new(&language),
                    true,
                    &gbnf::of_grammar(&language),
                )
            }
            1 => {
                let language = random_grammar(&mut rng, 3, true);
                walks(
                    &mut rng,
                    &GrammarAcceptor::new(&language),
                    false,
                    &gbnf::of_grammar(&language),
                )
            }
            _ => {
                let acceptor = CallAcceptor::new(live(&mut rng));
                walks(&mut rng, &acceptor, false, &gbnf::of_calls(&acceptor))
            }
        })
        .collect()
}

#[test]
fn every_rule_is_used_and_every_used_rule_exists() {
    for case in cases(90) {
        let grammar = case["grammar"].as_str().unwrap();
        let rules: Vec<&str> = grammar
            .lines()
            .map(|line| line.split_once(" ::= ").expect("a rule a line").0)
            .collect();
        assert_eq!(rules[0], "root");
        // Names of rules are outside quotes.
        let mut outside = String::new();
        let (mut quoted, mut escaped) = (false, false);
        for c in grammar.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                c if !quoted => outside.push(c),
                _ => {}
            }
        }
        assert!(!quoted, "{grammar}");
        let named: Vec<&str> = outside
            .split_whitespace()
            .filter(|word| word.starts_with('r') && word[1..].parse::<usize>().is_ok())
            .collect();
        for name in &named {
            assert!(rules.contains(name), "{name} in {grammar}");
        }
        for rule in &rules[1..] {
            assert!(named.contains(rule), "{rule} in {grammar}");
        }
    }
}

#[test]
#[ignore = "writes masks for benches/peers/masks.py"]
fn masks_for_llguidance() {
    let path = std::env::var("KGAGENT_MASKS").expect("KGAGENT_MASKS names the file to write");
    let mut file = std::fs::File::create(&path).unwrap();
    let cases = cases(300);
    for case in &cases {
        writeln!(file, "{case}").unwrap();
    }
    assert!(!cases.is_empty());
}
