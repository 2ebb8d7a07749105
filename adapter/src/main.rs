//! The program `tandem-dap`. Only `main`: everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    adapter::cli::main()
}
