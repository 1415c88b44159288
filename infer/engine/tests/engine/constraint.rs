//! Constrained decoding with random models.

use std::collections::BTreeMap;

use common::acceptor::Acceptor;
use engine::{DecodeSession, Decoder, EngineError, Generated, TokenTrie, Vocab, generate, mask};
use model::ModelConfig;

use crate::grammar::{Grammar, PIECES, Tokens};
use crate::support::{Rng, config, engine, random_ids, random_weights};

#[test]
fn masks_equal_brute_force() {
    let mut rng = Rng(4242);
    let mut allowed = Vec::new();
    for round in 0..40 {
        let grammar = Grammar::random(&mut rng);
        let pieces: Vec<String> = PIECES
            .iter()
            .map(|s| (*s).to_owned())
            .chain(texts(&grammar))
            .collect();
        let from: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let tokens = Tokens::new(&mut rng, 700, &from, false);
        let mut state = grammar.start();
        for _ in 0..40 {
            let pending: Vec<u8> = if rng.below(3) == 0 {
                from[rng.below(from.len())]
                    .bytes()
                    .take(1 + rng.below(4))
                    .collect()
            } else {
                Vec::new()
            };
            mask::allowed(&tokens.vocab.trie, &grammar, &state, &pending, &mut allowed);
            let follows = |bytes: &[u8]| {
                let shared = bytes.len().min(pending.len());
                bytes[..shared] == pending[..shared]
                    && bytes[shared..]
                        .iter()
                        .try_fold(state.clone(), |s, &b| grammar.step(&s, b))
                        .is_some()
            };
            let want: Vec<u32> = tokens
                .bytes
                .iter()
                .filter(|(_, b)| follows(b))
                .map(|(i, _)| *i)
                .collect();
            assert_eq!(allowed, want, "round {round}");
            // A random next byte.
            let next: Vec<u8> = (0..=255)
                .filter(|&b| grammar.step(&state, b).is_some())
                .collect();
            state = if next.is_empty() {
                grammar.start()
            } else {
                grammar.step(&state, next[rng.below(next.len())]).unwrap()
            };
        }
    }
}

fn texts(grammar: &Grammar) -> Vec<String> {
    grammar
        .names
        .iter()
        .chain(&grammar.words)
        .map(|w| String::from_utf8(w.clone()).unwrap())
        .collect()
}

fn check(grammar: &Grammar, tokens: &Tokens, budget: usize, made: &Generated) {
    assert!(grammar.accepts(&made.text), "{:?}", made.text);
    assert!(made.ids.len() <= budget, "{} > {budget}", made.ids.len());
    assert_eq!(
        made.ids,
        tokens.encode(&made.text),
        "the tokenizer's own encoding"
    );
    assert_eq!(made.decided, made.decisions.len());
    assert!(made.logprob.is_finite() && made.logprob <= 1e-3);
    for d in &made.decisions {
        assert!(
            d.allowed > 1 && (0.0..=1.0).contains(&d.allowed_mass),
            "{d:?}"
        );
    }
}

#[test]
fn ten_thousand_texts_of_random_weights_are_in_the_language_and_the_budget() {
    let c = ModelConfig {
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 16,
        vocab_size: 640,
        ..config()
    };
    let mut rng = Rng(99);
    let (mut done, mut refused, mut cut, mut forced, mut decided) = (0, 0, 0, 0, 0);
    while done < 10_000 {
        let engine = engine(&c, &random_weights(&c, 1 + done as u64));
        let grammar = Grammar::random(&mut rng);
        let pieces: Vec<String> = PIECES
            .iter()
            .map(|s| (*s).to_owned())
            .chain(texts(&grammar))
            .collect();
        let from: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let tokens = Tokens::new(&mut rng, 600, &from, done % 3 == 0);
        let mut session = DecodeSession::new(&engine);
        for i in 0..250 {
            let budget = if i % 5 == 0 { 2 + rng.below(12) } else { 60 };
            let noise = if i % 2 == 0 {
                0.0
            } else {
                1.0 + rng.below(4) as f32
            };
            let mut decoder = Noisy::new(&mut session, noise, rng.next());
            let n = 1 + rng.below(20);
            let prompt = random_ids(&mut rng, n, c.vocab_size);
            let encode = |text: &str| tokens.encode(text);
            match generate(
                &mut decoder,
                &prompt,
                &grammar,
                &encode,
                &tokens.vocab,
                budget,
            ) {
                Ok(made) => {
                    check(&grammar, &tokens, budget, &made);
                    cut += usize::from(made.cut);
                    forced += made.forced;
                    decided += made.decided;
                }
                Err(EngineError::Budget { needed, budget }) => {
                    assert!(needed > budget && budget < 14, "{needed} {budget}");
                    refused += 1;
                }
                Err(e) => panic!("{e}"),
            }
            done += 1;
        }
    }
    eprintln!(
        "{done} texts, {refused} too short a budget, {cut} cut, {decided} decided, {forced} forced"
    );
    assert!(cut > 100 && refused < done / 5 && forced > 1000);
}

/// A decoder whose logits carry noise, so that greedy decoding samples.
struct Noisy<'a> {
    session: &'a mut DecodeSession,
    scale: f32,
    rng: Rng,
    logits: Vec<f32>,
}

impl<'a> Noisy<'a> {
    fn new(session: &'a mut DecodeSession, scale: f32, seed: u64) -> Self {
        Self {
            session,
            scale,
            rng: Rng(seed | 1),
            logits: Vec::new(),
        }
    }
}

impl Decoder for Noisy<'_> {
    fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError> {
        self.logits = self.session.next(ids)?.to_vec();
        if self.scale > 0.0 {
            for logit in &mut self.logits {
                *logit += self.scale * self.rng.normal();
            }
        }
        Ok(&self.logits)
    }

    fn vocab_size(&self) -> usize {
        self.session.vocab_size()
    }

    fn max_context(&self) -> usize {
        self.session.max_context()
    }
}

/// A decoder with the logits of a function.
struct Fake<F: FnMut(usize, &mut [f32])>(Vec<f32>, F, usize);

impl<F: FnMut(usize, &mut [f32])> Decoder for Fake<F> {
    fn next(&mut self, _: &[u32]) -> Result<&[f32], EngineError> {
        (self.1)(self.2, &mut self.0);
        self.2 += 1;
        Ok(&self.0)
    }

    fn vocab_size(&self) -> usize {
        self.0.len()
    }

    fn max_context(&self) -> usize {
        4096
    }
}

#[test]
fn adversarial_logits_change_nothing() {
    let mut rng = Rng(31);
    for kind in 0..7 {
        for round in 0..60 {
            let grammar = Grammar::random(&mut rng);
            let tokens = Tokens::new(&mut rng, 500, &PIECES, false);
            let mut noise = Rng(round + 1);
            let fill = |step: usize, logits: &mut [f32]| {
                for (i, v) in logits.iter_mut().enumerate() {
                    *v = match kind {
                        0 => f32::NAN,
                        1 => f32::NEG_INFINITY,
                        2 => f32::INFINITY,
                        3 => 0.0,
                        4 => [f32::NAN, f32::INFINITY, f32::MIN, f32::MAX, -0.0][(i + step) % 5],
                        // Everything for the end token, or for the content of strings, which is
                        // the worst for the budget.
                        5 if i + 1 == 503 => 1e30,
                        6 if i < 256 => noise.normal() * 1e20,
                        _ => noise.normal(),
                    };
                }
            };
            let mut fake = Fake(vec![0.0; 510], fill, 0);
            let budget = 40 + rng.below(30);
            let encode = |text: &str| tokens.encode(text);
            let made = generate(&mut fake, &[1], &grammar, &encode, &tokens.vocab, budget);
            match made {
                Ok(made) => check(&grammar, &tokens, budget, &made),
                Err(e) => assert!(matches!(e, EngineError::Budget { .. }), "{e}"),
            }
        }
    }
}

/// Exactly these texts.
struct OneOf(&'static [&'static str]);

impl Acceptor for OneOf {
    type State = Vec<u8>;

    fn start(&self) -> Vec<u8> {
        Vec::new()
    }

    fn step(&self, state: &Vec<u8>, byte: u8) -> Option<Vec<u8>> {
        let next = [&state[..], &[byte]].concat();
        self.0
            .iter()
            .any(|t| t.as_bytes().starts_with(&next))
            .then_some(next)
    }

    fn may_end(&self, state: &Vec<u8>) -> bool {
        self.0.iter().any(|t| t.as_bytes() == state)
    }
}

#[test]
fn forced_bytes_are_appended_at_once_and_decisions_follow_the_canonical_prefix() {
    let words = [
        "get", "_", "relation", "(", "(e", "e", "0", "1", ")", "g", "r", "(01",
    ];
    let bytes: BTreeMap<u32, Vec<u8>> = words
        .iter()
        .enumerate()
        .map(|(i, w)| (i as u32, w.as_bytes().to_vec()))
        .collect();
    let by_bytes = bytes.iter().map(|(i, b)| (b.clone(), *i)).collect();
    let trie = TokenTrie::new(bytes.iter().map(|(i, b)| (*i, b.clone())));
    let tokens = Tokens {
        bytes,
        by_bytes,
        vocab: Vocab {
            trie,
            end: 20,
            adds_space: false,
        },
    };
    struct Seen(Vec<f32>, Vec<Vec<u32>>);
    impl Decoder for Seen {
        fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError> {
            self.1.push(ids.to_vec());
            Ok(&self.0)
        }
        fn vocab_size(&self) -> usize {
            self.0.len()
        }
        fn max_context(&self) -> usize {
            100
        }
    }
    let mut logits = vec![0.0; 21];
    logits[7] = 1.0;
    let mut seen = Seen(logits, Vec::new());
    let encode = |text: &str| tokens.encode(text);
    // The model chooses the digit. `(e` is one token, so the parenthesis alone is never fed.
    let made = generate(
        &mut seen,
        &[9, 9],
        &OneOf(&["get_relation(e0)", "get_relation(e1)"]),
        &encode,
        &tokens.vocab,
        20,
    )
    .unwrap();
    assert_eq!((made.text.as_str(), made.decided), ("get_relation(e1)", 1));
    assert_eq!(seen.1, vec![vec![9, 9, 0, 1, 2, 4]]);
    // If the model chooses the byte after the parenthesis, the parenthesis stays pending, because
    // it may become `(e`.
    seen.1.clear();
    generate(
        &mut seen,
        &[9],
        &OneOf(&["get(e)", "get(0)"]),
        &encode,
        &tokens.vocab,
        20,
    )
    .unwrap();
    assert_eq!(seen.1[0], vec![9, 0]);
    // So it does if two more bytes can make another token of it, and one cannot.
    seen.1.clear();
    generate(
        &mut seen,
        &[9],
        &OneOf(&["get(01)", "get(1)"]),
        &encode,
        &tokens.vocab,
        20,
    )
    .unwrap();
    assert_eq!(seen.1[0], vec![9, 0]);
    // A single text takes no decision.
    seen.1.clear();
    let made = generate(
        &mut seen,
        &[9],
        &OneOf(&["get"]),
        &encode,
        &tokens.vocab,
        20,
    )
    .unwrap();
    assert_eq!(
        (
            made.text.as_str(),
            made.decided,
            made.forced,
            made.logprob,
            seen.1.len()
        ),
        ("get", 0, 1, 0.0, 0)
    );
}

#[test]
fn nothing_allowed_is_an_error_and_so_is_too_small_a_budget() {
    let tokens = Tokens::new(&mut Rng(8), 300, &PIECES, false);
    let mut trie: Vec<(u32, Vec<u8>)> = tokens.bytes.iter().map(|(i, b)| (*i, b.clone())).collect();
    trie.retain(|(_, b)| !b.contains(&b'q'));
    let vocab = Vocab {
        trie: TokenTrie::new(trie.into_iter()),
        end: 400,
        adds_space: false,
    };
    let mut fake = Fake(vec![0.0; 401], |_, _| {}, 0);
    let encode = |text: &str| tokens.encode(text);
    let mut run =
        |acceptor: OneOf, budget| generate(&mut fake, &[1], &acceptor, &encode, &vocab, budget);
    assert!(matches!(
        run(OneOf(&["aq", "aqa"]), 9),
        Err(EngineError::Stuck { .. })
    ));
    assert!(matches!(run(OneOf(&[]), 9), Err(EngineError::Stuck { .. })));
    assert!(matches!(
        run(OneOf(&["xyxyxy", "xyxyxyxy"]), 5),
        Err(EngineError::Budget {
            needed: 6,
            budget: 5
        })
    ));
    let made = run(OneOf(&["xy", "xyxyxy"]), 5).unwrap();
    assert_eq!((made.text.as_str(), made.ids.len()), ("xy", 2));
    assert!(matches!(
        generate(
            &mut Fake(vec![0.0; 5], |_, _| {}, 0),
            &[1],
            &OneOf(&["a"]),
            &encode,
            &vocab,
            5
        ),
        Err(EngineError::Token { id: 400, vocab: 5 })
    ));
}

#[test]
fn a_used_session_writes_the_same_text_as_a_fresh_one() {
    let c = ModelConfig {
        vocab_size: 640,
        ..config()
    };
    let engine = engine(&c, &random_weights(&c, 6));
    let mut rng = Rng(17);
    let grammar = Grammar::random(&mut rng);
    let tokens = Tokens::new(&mut rng, 600, &PIECES, false);
    let encode = |text: &str| tokens.encode(text);
    let write = |session: &mut DecodeSession, seed| {
        generate(
            &mut Noisy::new(session, 2.0, seed + 1),
            &[1, 2, 3],
            &grammar,
            &encode,
            &tokens.vocab,
            60,
        )
        .unwrap()
    };
    let mut used = DecodeSession::new(&engine);
    used.feed(&[5; 40]).unwrap();
    let all: Vec<Generated> = (0..30)
        .map(|seed| write(&mut DecodeSession::new(&engine), seed))
        .collect();
    for (seed, one) in all.iter().enumerate() {
        assert_eq!(one, &write(&mut used, seed as u64), "seed {seed}");
    }
    assert!(all.iter().any(|g| g.text != all[0].text));
}
