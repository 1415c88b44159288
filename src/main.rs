//! The `kgagent` binary.
fn main() {}
