//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz conversion`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kgagent_fuzz::conversion(bytes));
