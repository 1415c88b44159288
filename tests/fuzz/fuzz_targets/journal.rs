//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz journal`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::opened::journal(bytes));
