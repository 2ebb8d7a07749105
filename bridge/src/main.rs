//! The program `tandem-mcp`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bridge::cli::main()
}
