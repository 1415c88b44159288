//! Cancelled sessions: they end between two blocks or tokens, and can be used again.

use std::time::{Duration, Instant};

use common::cancel::{Cancel, Cancelled};
use engine::{Batch, DecodeSession, Decoder, EngineError, TokenTrie, Vocab, generate};

use crate::support::{Rng, config, engine, random_ids, random_weights};
use crate::utf8::AnyText;

fn ids(seed: u64, n: usize) -> Vec<u32> {
    random_ids(&mut Rng(seed), n, config().vocab_size)
}

#[test]
fn a_cancelled_session_holds_what_it_held_and_works_again() {
    let (c, weights) = (config(), random_weights(&config(), 3));
    let engine = engine(&c, &weights);
    let batch = Batch::new(&engine, 2).unwrap();
    for mut session in [DecodeSession::new(&engine), DecodeSession::in_batch(&batch)] {
        session.feed(&ids(1, 5)).unwrap();
        let cancel = Cancel::default();
        session.cancelled_by(cancel.clone());
        session.feed(&ids(2, 5)).unwrap();
        let held = session.ids().to_vec();
        cancel.cancel();
        assert!(matches!(
            session.feed(&ids(3, 200)),
            Err(EngineError::Cancelled(Cancelled::Asked))
        ));
        assert_eq!(session.ids(), held);
        session.cancelled_by(Cancel::default());
        session.feed(&ids(3, 200)).unwrap();
        let mut fresh = DecodeSession::new(&engine);
        fresh.feed(&[held, ids(3, 200)].concat()).unwrap();
        assert_eq!(session.logits(), fresh.logits());
    }
}

#[test]
fn a_deadline_ends_a_prompt_between_two_blocks() {
    let (c, weights) = (config(), random_weights(&config(), 3));
    let engine = engine(&c, &weights);
    let batch = Batch::new(&engine, 2).unwrap();
    for mut session in [DecodeSession::new(&engine), DecodeSession::in_batch(&batch)] {
        let begun = Instant::now();
        session.feed(&ids(1, 600)).unwrap();
        let limit = begun.elapsed() / 10;
        session.sync(&[]).unwrap();
        session.cancelled_by(Cancel::default().within(limit));
        let cut = session.feed(&ids(1, 600));
        assert!(
            matches!(cut, Err(EngineError::Cancelled(Cancelled::Deadline { limit: told })) if told == limit)
        );
    }
}

#[test]
fn others_in_a_batch_are_not_disturbed_by_a_cancelled_session() {
    let (c, weights) = (config(), random_weights(&config(), 3));
    let engine = engine(&c, &weights);
    let batch = Batch::new(&engine, 2).unwrap();
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            let (engine, mut session) = (&engine, DecodeSession::in_batch(&batch));
            scope.spawn(move || {
                if seed == 4 {
                    session.cancelled_by(Cancel::default().within(Duration::from_micros(50)));
                    assert!(session.feed(&ids(seed, 600)).is_err());
                    return;
                }
                session.feed(&ids(seed, 300)).unwrap();
                let mut alone = DecodeSession::new(engine);
                alone.feed(&ids(seed, 300)).unwrap();
                assert_eq!(session.logits(), alone.logits());
            });
        }
    });
}

/// A decoder that always wants one more token of the longest text, and that is cancelled after
/// `left` tokens.
struct Unwanted {
    left: usize,
    logits: Vec<f32>,
}

impl Decoder for Unwanted {
    fn next(&mut self, _ids: &[u32]) -> Result<&[f32], EngineError> {
        self.left -= 1;
        Ok(&self.logits)
    }
    fn vocab_size(&self) -> usize {
        self.logits.len()
    }
    fn max_context(&self) -> usize {
        1000
    }
    fn wanted(&self) -> Result<(), Cancelled> {
        if self.left == 0 {
            Err(Cancelled::Asked)
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_cancelled_text_ends_at_the_next_token() {
    let bytes = (0..=255u8).map(|byte| (u32::from(byte), vec![byte]));
    let vocab = Vocab {
        trie: TokenTrie::new(bytes),
        end: 256,
        adds_space: false,
    };
    let mut decoder = Unwanted {
        left: 3,
        logits: vec![0.0; 257],
    };
    let made = generate(&mut decoder, &[256], &AnyText, &|_| Vec::new(), &vocab, 100);
    assert!(matches!(
        made,
        Err(EngineError::Cancelled(Cancelled::Asked))
    ));
}
