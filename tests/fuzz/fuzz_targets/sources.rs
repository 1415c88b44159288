//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz sources`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::sources::load(bytes));
