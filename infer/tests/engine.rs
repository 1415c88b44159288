//! The engine against a plain loop implementation, its cache, and constrained decoding with models that know nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use candle_core::{DType, Device, Tensor};
use infer::engine::{
    Decoder, Engine, EngineError, Generated, Limits, Llama3Scaling, LlamaConfig, Sampling, Session, TokenTrie, Vocab, generate,
    generate_free, mask,
};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;
use toolbox::call::accept::Acceptor;

/// Small deterministic generator of the tests' own.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    fn normal(&mut self) -> f32 {
        let uniform = |r: &mut Self| ((r.next() >> 40) as f32 + 0.5) / (1u64 << 24) as f32;
        (-2.0 * uniform(self).ln()).sqrt() * (std::f32::consts::TAU * uniform(self)).cos()
    }
}

type Weights = HashMap<String, Tensor>;

fn config() -> LlamaConfig {
    LlamaConfig {
        vocab_size: 300,
        hidden_size: 48,
        intermediate_size: 100,
        num_hidden_layers: 3,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 10,
        max_position_embeddings: 600,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        rope_scaling: None,
        tie_word_embeddings: true,
        qkv_bias: false,
    }
}

fn random_weights(c: &LlamaConfig, seed: u64) -> Weights {
    let mut rng = Rng(seed);
    let mut all = Weights::new();
    let mut add = |name: String, shape: &[usize], base: f32| {
        let scale = if shape.len() == 2 { 1.5 / (shape[1] as f32).sqrt() } else { 0.2 };
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| base + rng.normal() * scale).collect();
        all.insert(name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap());
    };
    let (h, q, kv) = (c.hidden_size, c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
    add("model.embed_tokens.weight".into(), &[c.vocab_size, h], 0.0);
    for l in 0..c.num_hidden_layers {
        let at = |n: &str| format!("model.layers.{l}.{n}.weight");
        for (name, rows) in [("q", q), ("k", kv), ("v", kv)] {
            add(at(&format!("self_attn.{name}_proj")), &[rows, h], 0.0);
            add(format!("model.layers.{l}.self_attn.{name}_proj.bias"), &[rows], 0.0);
        }
        add(at("self_attn.o_proj"), &[h, q], 0.0);
        add(at("mlp.gate_proj"), &[c.intermediate_size, h], 0.0);
        add(at("mlp.up_proj"), &[c.intermediate_size, h], 0.0);
        add(at("mlp.down_proj"), &[h, c.intermediate_size], 0.0);
        add(at("input_layernorm"), &[h], 1.0);
        add(at("post_attention_layernorm"), &[h], 1.0);
    }
    add("model.norm.weight".into(), &[h], 1.0);
    add("lm_head.weight".into(), &[c.vocab_size, h], 0.0);
    all
}

fn engine(c: &LlamaConfig, weights: &Weights) -> Engine {
    Engine::new(c.clone(), &|name| weights.get(name).cloned().ok_or_else(|| candle_core::Error::Msg(format!("no {name}")))).unwrap()
}

/// Logits of every position, written from the published formulas in f64 loops; shares nothing with the engine.
fn naive(c: &LlamaConfig, weights: &Weights, ids: &[u32]) -> Vec<Vec<f64>> {
    type M = Vec<Vec<f64>>;
    let values = |name: &str| -> Vec<f64> {
        let t = weights[name].to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        t.into_iter().map(f64::from).collect()
    };
    let matmul = |x: &M, name: &str| -> M {
        let (w, width) = (values(name), x[0].len());
        x.iter().map(|row| w.chunks(width).map(|w| row.iter().zip(w).map(|(a, b)| a * b).sum()).collect()).collect()
    };
    let norm = |x: &M, name: &str| -> M {
        let w = values(name);
        let one = |row: &Vec<f64>| {
            let mean = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
            row.iter().zip(&w).map(|(v, w)| v / (mean + c.rms_norm_eps).sqrt() * w).collect()
        };
        x.iter().map(one).collect()
    };
    let d = c.head_dim;
    let frequency = |i: usize| -> f64 {
        let f = 1.0 / c.rope_theta.powf((2 * i) as f64 / d as f64);
        let Some(s) = c.rope_scaling else { return f };
        let (length, original) = (std::f64::consts::TAU / f, s.original_max_position_embeddings as f64);
        if length > original / s.low_freq_factor {
            f / s.factor
        } else if length < original / s.high_freq_factor {
            f
        } else {
            let smooth = (original / length - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
            (1.0 - smooth) * f / s.factor + smooth * f
        }
    };
    let rope = |head: &[f64], position: usize| -> Vec<f64> {
        let half = d / 2;
        let at = |i: usize| {
            let angle = position as f64 * frequency(i % half);
            let turned = if i < half { -head[i + half] } else { head[i - half] };
            head[i] * angle.cos() + turned * angle.sin()
        };
        (0..d).map(at).collect()
    };
    let table = values("model.embed_tokens.weight");
    let mut x: M = ids.iter().map(|&id| table[id as usize * c.hidden_size..][..c.hidden_size].to_vec()).collect();
    for l in 0..c.num_hidden_layers {
        let at = |n: &str| format!("model.layers.{l}.{n}.weight");
        let h = norm(&x, &at("input_layernorm"));
        let project = |n: &str| {
            let mut y = matmul(&h, &at(&format!("self_attn.{n}_proj")));
            if c.qkv_bias {
                let b = values(&format!("model.layers.{l}.self_attn.{n}_proj.bias"));
                y.iter_mut().for_each(|row| row.iter_mut().zip(&b).for_each(|(v, b)| *v += b));
            }
            y
        };
        let (q, k, v) = (project("q"), project("k"), project("v"));
        let mut mixed: M = vec![vec![0.0; c.num_attention_heads * d]; ids.len()];
        for head in 0..c.num_attention_heads {
            let kv = head / (c.num_attention_heads / c.num_key_value_heads);
            for p in 0..ids.len() {
                let query = rope(&q[p][head * d..][..d], p);
                let score = |t: usize| query.iter().zip(rope(&k[t][kv * d..][..d], t)).map(|(a, b)| a * b).sum::<f64>() / (d as f64).sqrt();
                let scores: Vec<f64> = (0..=p).map(score).collect();
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|s| (s - max).exp()).sum();
                for (t, s) in scores.iter().enumerate() {
                    for i in 0..d {
                        mixed[p][head * d + i] += (s - max).exp() / total * v[t][kv * d + i];
                    }
                }
            }
        }
        let add = |x: &mut M, y: M| x.iter_mut().zip(y).for_each(|(x, y)| x.iter_mut().zip(y).for_each(|(x, y)| *x += y));
        add(&mut x, matmul(&mixed, &at("self_attn.o_proj")));
        let h = norm(&x, &at("post_attention_layernorm"));
        let (gate, up) = (matmul(&h, &at("mlp.gate_proj")), matmul(&h, &at("mlp.up_proj")));
        let act = |(g, u): (&Vec<f64>, &Vec<f64>)| g.iter().zip(u).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
        add(&mut x, matmul(&gate.iter().zip(&up).map(act).collect(), &at("mlp.down_proj")));
    }
    let x = norm(&x, "model.norm.weight");
    matmul(&x, if c.tie_word_embeddings { "model.embed_tokens.weight" } else { "lm_head.weight" })
}

fn worst(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

fn random_ids(rng: &mut Rng, n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|_| rng.below(vocab) as u32).collect()
}

#[test]
fn logits_match_the_naive_loops() {
    let base = config();
    let scaling = Llama3Scaling { factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 64 };
    let cases = [
        ("tied", base.clone()),
        ("untied, other theta", LlamaConfig { tie_word_embeddings: false, rope_theta: 500_000.0, ..base.clone() }),
        ("llama3 scaling", LlamaConfig { rope_scaling: Some(scaling), head_dim: 32, ..base.clone() }),
        ("one kv head, width no multiple of 16", LlamaConfig { num_key_value_heads: 1, head_dim: 22, hidden_size: 51, ..base.clone() }),
        ("no groups, biases", LlamaConfig { num_key_value_heads: 6, qkv_bias: true, ..base }),
    ];
    for (name, c) in cases {
        let weights = random_weights(&c, 11);
        let ids = random_ids(&mut Rng(5), 130, c.vocab_size);
        let want = naive(&c, &weights, &ids);
        let mut session = Session::new(&engine(&c, &weights));
        // A prompt of more than one block, then one token at a time.
        session.feed(&ids[..110]).unwrap();
        let mut diff = worst(session.logits(), &want[109]);
        for p in 110..130 {
            session.feed(&ids[p..=p]).unwrap();
            diff = diff.max(worst(session.logits(), &want[p]));
        }
        assert!(diff < 1e-4, "{name}: {diff}");
        eprintln!("{name}: largest difference {diff:.1e}");
    }
}

#[test]
fn half_precision_weights_are_converted() {
    let c = config();
    let mut weights = random_weights(&c, 3);
    for (name, dtype) in [("model.layers.0.mlp.up_proj.weight", DType::BF16), ("model.embed_tokens.weight", DType::F16)] {
        let half = weights[name].to_dtype(dtype).unwrap();
        weights.insert(name.into(), half);
    }
    let ids = random_ids(&mut Rng(9), 20, c.vocab_size);
    let mut session = Session::new(&engine(&c, &weights));
    session.feed(&ids).unwrap();
    assert!(worst(session.logits(), &naive(&c, &weights, &ids)[19]) < 1e-4);
}

#[test]
fn wrong_weights_and_inputs_are_refused() {
    let c = config();
    let weights = random_weights(&c, 3);
    let build = |c: &LlamaConfig, w: &Weights| {
        Engine::new(c.clone(), &|n| w.get(n).cloned().ok_or_else(|| candle_core::Error::Msg("missing".into()))).err().map(|e| e.to_string())
    };
    let without = |name: &str, other: Option<Tensor>| {
        let mut w = weights.clone();
        w.remove(name);
        other.map(|t| w.insert(name.into(), t));
        build(&c, &w).unwrap()
    };
    assert!(without("model.norm.weight", None).contains("model.norm.weight"));
    let wrong = Tensor::zeros((2, 48), DType::F32, &Device::Cpu).unwrap();
    assert!(without("model.norm.weight", Some(wrong)).contains("[2, 48]"));
    let nan = Tensor::full(f32::NAN, 48, &Device::Cpu).unwrap();
    assert!(without("model.norm.weight", Some(nan)).contains("NaN"));
    assert!(build(&LlamaConfig { num_key_value_heads: 4, ..c.clone() }, &weights).unwrap().contains("share"));
    let mut session = Session::new(&engine(&c, &weights));
    assert!(matches!(session.feed(&[300]), Err(EngineError::Token { id: 300, vocab: 300 })));
    assert!(matches!(session.feed(&[1; 601]), Err(EngineError::Context { needed: 601, max: 600 })));
    session.feed(&[1; 600]).unwrap();
    assert!(session.feed(&[1]).is_err());
}

#[test]
fn any_way_of_feeding_gives_the_same_bits() {
    let c = config();
    let engine = engine(&c, &random_weights(&c, 21));
    let mut rng = Rng(77);
    let mut session = Session::new(&engine);
    for _ in 0..60 {
        // Sync to a text that shares a random prefix with the last one: longer, shorter, equal, or changed in the middle.
        let keep = rng.below(session.ids().len() + 1);
        let n = rng.below(140);
        let mut ids = session.ids()[..keep].to_vec();
        ids.extend(random_ids(&mut rng, n, c.vocab_size));
        ids.truncate(500);
        if ids.is_empty() {
            continue;
        }
        session.sync(&ids).unwrap();
        let mut fresh = Session::new(&engine);
        fresh.feed(&ids).unwrap();
        assert_eq!(session.logits(), fresh.logits());
        assert_eq!(session.ids(), ids);
    }
    let before = session.tokens_run();
    let ids = session.ids().to_vec();
    session.sync(&ids).unwrap();
    assert_eq!(session.tokens_run(), before, "nothing new, nothing run");
    assert!(session.sync(&[&ids[..], &[999]].concat()).is_err());
    session.sync(&ids).unwrap();
    let mut fresh = Session::new(&engine);
    fresh.feed(&ids).unwrap();
    assert_eq!(session.logits(), fresh.logits(), "a failed sync leaves a usable session");
}

#[test]
fn threads_do_not_change_the_bits() {
    // Wide enough that products and attention are split.
    let c = LlamaConfig {
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers: 2,
        num_attention_heads: 9,
        num_key_value_heads: 3,
        head_dim: 64,
        vocab_size: 9000,
        ..config()
    };
    let engine = engine(&c, &random_weights(&c, 1));
    let ids = random_ids(&mut Rng(2), 300, c.vocab_size);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut session = Session::new(&engine);
            session.feed(&ids[..299]).unwrap();
            session.feed(&ids[299..]).unwrap();
            session.logits().to_vec()
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(16));
}

// ---- Constrained decoding ----

/// A small call language: `name(arg[, arg])` with names, and arguments that are a word of a set, a nested call or a quoted string.
struct Grammar {
    names: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    depth: u8,
    strings: bool,
}

#[derive(Clone, PartialEq)]
enum At {
    /// Bytes of a name written; the names that still match are found again.
    Name(Vec<u8>),
    /// After `(` or `, `: the bytes of an argument.
    Word(Vec<u8>),
    Text(mask_state::InChar),
    /// After an argument; whether another may follow.
    After,
    Space,
    Done,
}

mod mask_state {
    pub(crate) use infer::engine::mask::InChar;
}

#[derive(Clone)]
struct Place {
    at: At,
    /// Arguments left for every open call.
    open: Vec<u8>,
}

impl Grammar {
    fn random(rng: &mut Rng) -> Self {
        let alphabet: Vec<char> = "abcdefgé._- 012→".chars().collect();
        let mut word = |max: usize| {
            let n = 1 + rng.below(max);
            (0..n).map(|_| alphabet[rng.below(alphabet.len())]).collect::<String>()
        };
        let names = (0..5).map(|i| format!("{}{i}", word(9)).replace(['(', ')'], "").into_bytes()).collect();
        // Ends in a letter no word holds, so that no word is a prefix of a name.
        let words = (0..12).map(|_| format!("{}z", word(14)).into_bytes()).collect();
        Self { names, words, depth: rng.below(3) as u8, strings: rng.below(2) == 0 }
    }

    fn extends(set: &[Vec<u8>], prefix: &[u8]) -> bool {
        set.iter().any(|w| w.starts_with(prefix))
    }
}

impl Acceptor for Grammar {
    type State = Place;

    fn start(&self) -> Place {
        Place { at: At::Name(Vec::new()), open: Vec::new() }
    }

    fn step(&self, place: &Place, byte: u8) -> Option<Place> {
        let mut open = place.open.clone();
        let at = match &place.at {
            At::Name(name) if byte == b'(' && self.names.contains(name) => {
                open.push(2);
                At::Word(Vec::new())
            }
            At::Name(name) => {
                let name = [&name[..], &[byte]].concat();
                Self::extends(&self.names, &name).then_some(At::Name(name))?
            }
            At::Word(word) if (byte == b')' || byte == b',') && self.words.contains(word) => {
                return self.step(&Place { at: At::After, open }, byte);
            }
            At::Word(word) if word.is_empty() && byte == b'"' && self.strings => At::Text(mask::AnyText.start()),
            At::Word(word) if word.is_empty() && byte == b'!' && (open.len() as u8) <= self.depth => At::Name(Vec::new()),
            At::Word(word) => {
                let word = [&word[..], &[byte]].concat();
                Self::extends(&self.words, &word).then_some(At::Word(word))?
            }
            At::Text(state) if byte == b'"' && mask::AnyText.may_end(state) => At::After,
            At::Text(state) if byte >= b' ' => At::Text(mask::AnyText.step(state, byte)?),
            At::After if byte == b')' => {
                open.pop()?;
                if open.is_empty() { At::Done } else { At::After }
            }
            At::After if byte == b',' && open.last() > Some(&1) => {
                *open.last_mut()? -= 1;
                At::Space
            }
            At::Space if byte == b' ' => At::Word(Vec::new()),
            _ => return None,
        };
        Some(Place { at, open })
    }

    fn may_end(&self, place: &Place) -> bool {
        place.at == At::Done
    }
}

fn accepted<A: Acceptor>(acceptor: &A, text: &str) -> bool {
    let end = text.bytes().try_fold(acceptor.start(), |s, b| acceptor.step(&s, b));
    end.is_some_and(|s| acceptor.may_end(&s))
}

/// A vocabulary of all bytes and random pieces, some of them cutting characters, and its greedy longest-match tokenizer.
struct Tokens {
    bytes: BTreeMap<u32, Vec<u8>>,
    by_bytes: HashMap<Vec<u8>, u32>,
    vocab: Vocab,
}

impl Tokens {
    fn new(rng: &mut Rng, size: usize, from: &[&str], adds_space: bool) -> Self {
        let mut bytes: BTreeMap<u32, Vec<u8>> = (0..=255u8).map(|b| (u32::from(b), vec![b])).collect();
        let mut by_bytes: HashMap<Vec<u8>, u32> = bytes.iter().map(|(i, b)| (b.clone(), *i)).collect();
        let mut tries = 0;
        while bytes.len() < size && tries < 50 * size {
            tries += 1;
            let source = from[rng.below(from.len())].as_bytes();
            let at = rng.below(source.len());
            let piece = source[at..(at + 2 + rng.below(6)).min(source.len())].to_vec();
            if let std::collections::hash_map::Entry::Vacant(free) = by_bytes.entry(piece.clone()) {
                // A gap in the ids, as added tokens leave.
                let id = bytes.len() as u32 + 3;
                free.insert(id);
                bytes.insert(id, piece);
            }
        }
        let end = bytes.keys().max().unwrap() + 1;
        let trie = TokenTrie::new(bytes.iter().map(|(i, b)| (*i, b.clone())));
        Self { bytes, by_bytes, vocab: Vocab { trie, end, adds_space } }
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let text = if self.vocab.adds_space { format!(" {text}") } else { text.to_owned() };
        let mut rest = text.as_bytes();
        let mut ids = Vec::new();
        while !rest.is_empty() {
            let n = (1..=8.min(rest.len())).rev().find(|&n| self.by_bytes.contains_key(&rest[..n])).unwrap();
            ids.push(self.by_bytes[&rest[..n]]);
            rest = &rest[n..];
        }
        ids
    }
}

const PIECES: [&str; 4] = ["abc.de-f", "é._é→→ 012", "z), (\"z\", !", "gabcdefz, abz)"];

#[test]
fn masks_equal_brute_force() {
    let mut rng = Rng(4242);
    let mut allowed = Vec::new();
    for round in 0..40 {
        let grammar = Grammar::random(&mut rng);
        let pieces: Vec<String> = PIECES.iter().map(|s| (*s).to_owned()).chain(texts(&grammar)).collect();
        let from: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let tokens = Tokens::new(&mut rng, 700, &from, false);
        let mut state = grammar.start();
        for _ in 0..40 {
            let pending: Vec<u8> =
                if rng.below(3) == 0 { from[rng.below(from.len())].bytes().take(1 + rng.below(4)).collect() } else { Vec::new() };
            mask::allowed(&tokens.vocab.trie, &grammar, &state, &pending, &mut allowed);
            let follows = |bytes: &[u8]| {
                let shared = bytes.len().min(pending.len());
                bytes[..shared] == pending[..shared]
                    && bytes[shared..].iter().try_fold(state.clone(), |s, &b| grammar.step(&s, b)).is_some()
            };
            let want: Vec<u32> = tokens.bytes.iter().filter(|(_, b)| follows(b)).map(|(i, _)| *i).collect();
            assert_eq!(allowed, want, "round {round}");
            // A random way on.
            let next: Vec<u8> = (0..=255).filter(|&b| grammar.step(&state, b).is_some()).collect();
            state = if next.is_empty() { grammar.start() } else { grammar.step(&state, next[rng.below(next.len())]).unwrap() };
        }
    }
}

fn texts(grammar: &Grammar) -> Vec<String> {
    grammar.names.iter().chain(&grammar.words).map(|w| String::from_utf8(w.clone()).unwrap()).collect()
}

fn check(grammar: &Grammar, tokens: &Tokens, budget: usize, made: &Generated) {
    assert!(accepted(grammar, &made.text), "{:?}", made.text);
    assert!(made.ids.len() <= budget, "{} > {budget}", made.ids.len());
    assert_eq!(made.ids, tokens.encode(&made.text), "the tokenizer's own encoding");
    assert_eq!(made.decided, made.decisions.len());
    assert!(made.logprob.is_finite() && made.logprob <= 1e-3);
    for d in &made.decisions {
        assert!(d.allowed > 1 && (0.0..=1.0).contains(&d.allowed_mass), "{d:?}");
    }
}

#[test]
fn ten_thousand_texts_of_random_weights_are_all_in_the_language_and_the_budget() {
    let c = LlamaConfig {
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
        let pieces: Vec<String> = PIECES.iter().map(|s| (*s).to_owned()).chain(texts(&grammar)).collect();
        let from: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let tokens = Tokens::new(&mut rng, 600, &from, done % 3 == 0);
        let mut session = Session::new(&engine);
        for i in 0..250 {
            let budget = if i % 5 == 0 { 2 + rng.below(12) } else { 60 };
            let sampling =
                if i % 2 == 0 { Sampling::Greedy } else { Sampling::Temperature { t: 1.0 + rng.below(4) as f32, seed: rng.next() } };
            let n = 1 + rng.below(20);
            let prompt = random_ids(&mut rng, n, c.vocab_size);
            let encode = |text: &str| tokens.encode(text);
            match generate(&mut session, &prompt, &grammar, &encode, &tokens.vocab, Limits { max_new_tokens: budget }, sampling) {
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
    eprintln!("{done} texts, {refused} too short a budget, {cut} cut, {decided} decided, {forced} forced");
    assert!(cut > 100 && refused < done / 5 && forced > 1000);
}

/// Gives whatever logits it is told.
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
                        // Everything for the end, or for what a string holds: the worst for the budget.
                        5 if i + 1 == 503 => 1e30,
                        6 if i < 256 => noise.normal() * 1e20,
                        _ => noise.normal(),
                    };
                }
            };
            let mut fake = Fake(vec![0.0; 510], fill, 0);
            let budget = 40 + rng.below(30);
            let sampling = if round % 2 == 0 { Sampling::Greedy } else { Sampling::Temperature { t: 0.8, seed: round } };
            let encode = |text: &str| tokens.encode(text);
            let made = generate(&mut fake, &[1], &grammar, &encode, &tokens.vocab, Limits { max_new_tokens: budget }, sampling);
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
        self.0.iter().any(|t| t.as_bytes().starts_with(&next)).then_some(next)
    }

    fn may_end(&self, state: &Vec<u8>) -> bool {
        self.0.iter().any(|t| t.as_bytes() == state)
    }
}

#[test]
fn forced_bytes_are_taken_at_once_and_the_choice_sees_the_canonical_prefix() {
    let words = ["get", "_", "relation", "(", "(e", "e", "0", "1", ")", "g", "r"];
    let bytes: BTreeMap<u32, Vec<u8>> = words.iter().enumerate().map(|(i, w)| (i as u32, w.as_bytes().to_vec())).collect();
    let by_bytes = bytes.iter().map(|(i, b)| (b.clone(), *i)).collect();
    let trie = TokenTrie::new(bytes.iter().map(|(i, b)| (*i, b.clone())));
    let tokens = Tokens { bytes, by_bytes, vocab: Vocab { trie, end: 20, adds_space: false } };
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
    let limits = Limits { max_new_tokens: 20 };
    // The choice is the digit. `(e` is one token, so the parenthesis alone is never fed.
    let made =
        generate(&mut seen, &[9, 9], &OneOf(&["get_relation(e0)", "get_relation(e1)"]), &encode, &tokens.vocab, limits, Sampling::Greedy)
            .unwrap();
    assert_eq!((made.text.as_str(), made.decided), ("get_relation(e1)", 1));
    assert_eq!(seen.1, vec![vec![9, 9, 0, 1, 2, 4]]);
    // Where the choice is the byte after the parenthesis, the parenthesis is left open, for it may become `(e`.
    seen.1.clear();
    generate(&mut seen, &[9], &OneOf(&["get(e)", "get(0)"]), &encode, &tokens.vocab, limits, Sampling::Greedy).unwrap();
    assert_eq!(seen.1[0], vec![9, 0]);
    // One text only: no decision at all.
    seen.1.clear();
    let made = generate(&mut seen, &[9], &OneOf(&["get"]), &encode, &tokens.vocab, limits, Sampling::Greedy).unwrap();
    assert_eq!((made.text.as_str(), made.decided, made.forced, made.logprob, seen.1.len()), ("get", 0, 1, 0.0, 0));
}

#[test]
fn nothing_allowed_is_an_error_and_so_is_too_small_a_budget() {
    let tokens = Tokens::new(&mut Rng(8), 300, &PIECES, false);
    let mut trie: Vec<(u32, Vec<u8>)> = tokens.bytes.iter().map(|(i, b)| (*i, b.clone())).collect();
    trie.retain(|(_, b)| !b.contains(&b'q'));
    let vocab = Vocab { trie: TokenTrie::new(trie.into_iter()), end: 400, adds_space: false };
    let mut fake = Fake(vec![0.0; 401], |_, _| {}, 0);
    let encode = |text: &str| tokens.encode(text);
    let mut run = |acceptor: OneOf, budget| {
        generate(&mut fake, &[1], &acceptor, &encode, &vocab, Limits { max_new_tokens: budget }, Sampling::Greedy)
    };
    assert!(matches!(run(OneOf(&["aq", "aqa"]), 9), Err(EngineError::Stuck { .. })));
    assert!(matches!(run(OneOf(&[]), 9), Err(EngineError::Stuck { .. })));
    assert!(matches!(run(OneOf(&["xyxyxy", "xyxyxyxy"]), 5), Err(EngineError::Budget { needed: 6, budget: 5 })));
    let made = run(OneOf(&["xy", "xyxyxy"]), 5).unwrap();
    assert_eq!((made.text.as_str(), made.ids.len()), ("xy", 2));
    assert!(matches!(
        generate(
            &mut Fake(vec![0.0; 5], |_, _| {}, 0),
            &[1],
            &OneOf(&["a"]),
            &encode,
            &vocab,
            Limits { max_new_tokens: 5 },
            Sampling::Greedy
        ),
        Err(EngineError::Token { id: 400, vocab: 5 })
    ));
}

#[test]
fn free_text_ends_at_the_end_token_or_the_budget() {
    let tokens = Tokens::new(&mut Rng(8), 300, &PIECES, false);
    let end = tokens.vocab.end as usize;
    let fill = |step: usize, logits: &mut [f32]| {
        logits.fill(0.0);
        logits[if step < 3 { b'a' as usize + step } else { end }] = 9.0;
    };
    let mut fake = Fake(vec![0.0; end + 1], fill, 0);
    let made = generate_free(&mut fake, &[1], &tokens.vocab, Limits { max_new_tokens: 10 }, Sampling::Greedy).unwrap();
    assert_eq!((made.text.as_str(), made.decided, made.cut), ("abc", 4, false));
    let mut fake = Fake(vec![0.0; end + 1], fill, 0);
    let made = generate_free(&mut fake, &[1], &tokens.vocab, Limits { max_new_tokens: 2 }, Sampling::Greedy).unwrap();
    assert_eq!((made.text.as_str(), made.cut), ("ab", true));
}

#[test]
fn the_same_seed_writes_the_same_text() {
    let c = LlamaConfig { vocab_size: 640, ..config() };
    let engine = engine(&c, &random_weights(&c, 6));
    let mut rng = Rng(17);
    let grammar = Grammar::random(&mut rng);
    let tokens = Tokens::new(&mut rng, 600, &PIECES, false);
    let encode = |text: &str| tokens.encode(text);
    let write = |session: &mut Session, seed| {
        let sampling = Sampling::Temperature { t: 2.0, seed };
        generate(session, &[1, 2, 3], &grammar, &encode, &tokens.vocab, Limits { max_new_tokens: 60 }, sampling).unwrap()
    };
    let mut used = Session::new(&engine);
    used.feed(&[5; 40]).unwrap();
    let all: Vec<Generated> = (0..30).map(|seed| write(&mut Session::new(&engine), seed)).collect();
    for (seed, one) in all.iter().enumerate() {
        assert_eq!(one, &write(&mut used, seed as u64), "a session that has seen other texts gives the same bits");
    }
    assert!(all.iter().any(|g| g.text != all[0].text));
}

/// Speed, on demand: `cargo test -p infer --test engine -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement, not a check"]
fn speed() {
    let tiny = LlamaConfig {
        vocab_size: 4096,
        hidden_size: 128,
        intermediate_size: 384,
        num_hidden_layers: 4,
        num_attention_heads: 8,
        num_key_value_heads: 2,
        head_dim: 16,
        max_position_embeddings: 2048,
        ..config()
    };
    let smol = LlamaConfig {
        vocab_size: 49_152,
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers: 30,
        num_attention_heads: 9,
        num_key_value_heads: 3,
        head_dim: 64,
        max_position_embeddings: 2048,
        ..config()
    };
    let start = Instant::now();
    for (name, c, rounds) in [("tiny", tiny, 8), ("SmolLM2-135M", smol, 3)] {
        let engine = engine(&c, &random_weights(&c, 1));
        let ids = random_ids(&mut Rng(2), 256 + 64, c.vocab_size);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut prefill, mut decode, mut short) = (f64::MAX, f64::MAX, f64::MAX);
            // On one thread its own processor time counts, so that a busy machine does not.
            let clock = || match std::fs::read_to_string("/proc/thread-self/schedstat") {
                Ok(times) if threads == 1 => times.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9,
                _ => start.elapsed().as_secs_f64(),
            };
            let time = |best: &mut f64, work: &mut dyn FnMut()| {
                let from = clock();
                work();
                *best = best.min(clock() - from);
            };
            for _ in 0..rounds {
                pool.install(|| {
                    let mut session = Session::new(&engine);
                    time(&mut prefill, &mut || session.feed(&ids[..256]).unwrap());
                    time(&mut decode, &mut || ids[256..].iter().for_each(|&id| session.feed(&[id]).unwrap()));
                    time(&mut short, &mut || session.sync(&[&ids[..256], &ids[..12]].concat()).unwrap());
                });
            }
            eprintln!(
                "{name}, {threads} threads: prefill {:.0} tok/s, decode {:.0} tok/s ({:.1} µs a token), 12 new tokens {:.2} ms",
                256.0 / prefill,
                64.0 / decode,
                decode / 64.0 * 1e6,
                short * 1e3
            );
        }
    }
}
