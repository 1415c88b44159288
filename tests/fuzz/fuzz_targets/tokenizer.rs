//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz tokenizer`
//!
//! The library of tokenizers panics at some files, and `model` turns this into an error. So a panic may
//! unwind here; one that nobody catches still ends the target.
#![no_main]

libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| kgagent_fuzz::opened::tokenizer(bytes)
);
