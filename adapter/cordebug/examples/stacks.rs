//! The managed stacks of a running .NET process: `cargo run -p cordebug --example stacks PID`. It attaches,
//! prints each thread with the module and the metadata token of each method on its stack, and detaches; the
//! process continues.
//!
//! Names and lines are not here: they are in the module's metadata and symbols, which the crate
//! `clr-metadata` reads.

use std::sync::mpsc;
use std::time::Duration;

use cordebug::callback::Callback;
use cordebug::runtime;

/// Attaching reports existing modules and threads as callbacks. After this time without a callback,
/// all have been reported.
const QUIET_TIMEOUT: Duration = Duration::from_millis(500);
const MAX_FRAMES: usize = 100;

#[allow(clippy::print_stdout, reason = "the stacks are what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pid = std::env::args().nth(1).ok_or("usage: stacks PID")?.parse()?;
    let runtime = runtime::find(pid)?.into_iter().next().ok_or("no .NET runtime is in this process")?;
    let (callbacks, received) = mpsc::channel();
    let debugger = runtime::create_debugger(pid, &runtime)?;
    // The library reports a callback on one of its threads. The process stays stopped until it is answered.
    debugger.start(move |callback| drop(callbacks.send(callback)))?;
    let process = debugger.attach(pid)?;
    loop {
        match received.recv_timeout(QUIET_TIMEOUT) {
            Ok(Callback::ExitProcess) => return Err("the process has ended".into()),
            Ok(_) => process.resume()?,
            Err(_) => break,
        }
    }
    process.stop()?;
    println!(".NET {} in process {pid}", runtime.version());
    for thread in process.threads()? {
        println!("thread {}", thread.id()?);
        for frame in thread.frames(MAX_FRAMES)? {
            // Frames of the runtime itself have no function.
            if let Ok(function) = frame.function() {
                println!("  {:#010x} {}", function.token()?, function.module()?.name()?);
            }
        }
    }
    process.detach()?;
    debugger.terminate()?;
    Ok(())
}
