//! The program `tandem-mcp`. Only `main`: everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bridge::cli::main()
}
