//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz tokenizer`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::opened::tokenizer(bytes));
