//! The program `tandem-dap`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    adapter::cli::main()
}
