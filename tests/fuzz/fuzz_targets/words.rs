//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz words`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::opened::words(bytes));
