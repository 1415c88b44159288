//! The `kgagent` binary. Everything is in the library, so that the Python package has the same command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    kgagent::command_line(&args).into()
}
