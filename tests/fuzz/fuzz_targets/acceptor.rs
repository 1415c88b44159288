//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz acceptor`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::acceptor(bytes));
