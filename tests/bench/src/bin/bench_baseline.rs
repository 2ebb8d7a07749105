//! The cost of the runtime's debugging library alone: a step, and a stop at a breakpoint, without inspection.
//! It has no session, no protocol and no stack; `bench` prints its figures next to its own.
//!
//! `bench_baseline PID SOURCE LINE` attaches to a program that passes the line again and again, and prints
//! two medians in microseconds, `step stop`: from creating a stepper to its callback, and from resuming the
//! program to the next breakpoint.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clr_metadata::image::PeImage;
use clr_metadata::pdb::Pdb;
use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::runtime;
use cordebug::thread::Thread;

/// Number of measurements of each kind.
const ROUNDS: usize = 200;
/// Time limit for a callback of the runtime.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

/// The debugged process, and the callbacks of the runtime.
struct DebuggedProgram {
    process: Process,
    callbacks: Receiver<Callback>,
}

impl DebuggedProgram {
    /// Resumes the program until `accept` accepts a callback, and returns its result.
    fn until<T>(&self, accept: impl Fn(Callback) -> Option<T>) -> anyhow::Result<T> {
        loop {
            let callback = self
                .callbacks
                .recv_timeout(CALLBACK_TIMEOUT)
                .context("the program does not pass the line")?;
            if matches!(callback, Callback::ExitProcess) {
                bail!("the program has ended");
            }
            if let Some(found) = accept(callback) {
                return Ok(found);
            }
            self.process.resume()?;
        }
    }

    fn step(&self, thread: &Thread, pdb: &Pdb, size: u32) -> anyhow::Result<Duration> {
        let frames = thread.frames(1)?;
        let frame = frames.first().context("no frame")?;
        let (method, il) = (frame.function()?.token()?, frame.il_offset()?);
        let statement = pdb.statement(method, il, size);
        let start = Instant::now();
        thread.create_stepper(true)?.step_ranges(false, &[statement])?;
        self.process.resume()?;
        self.until(|callback| matches!(callback, Callback::StepComplete { .. }).then_some(()))?;
        Ok(start.elapsed())
    }

    fn stop(&self) -> anyhow::Result<Duration> {
        let start = Instant::now();
        self.process.resume()?;
        self.until(|callback| matches!(callback, Callback::Breakpoint { .. }).then_some(()))?;
        Ok(start.elapsed())
    }
}

fn median(mut values: Vec<Duration>) -> u128 {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default().as_micros()
}

#[allow(clippy::print_stdout, reason = "the figures are what the program is for")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pid, source, line] = arguments.as_slice() else { bail!("usage: bench_baseline PID SOURCE LINE") };
    let (pid, line): (u32, u32) = (pid.parse()?, line.parse()?);
    let found = runtime::find(pid)?;
    let found = found.first().with_context(|| format!("process {pid} has no runtime"))?;
    let debugger = runtime::create_debugger(pid, found)?;
    let (sender, callbacks) = channel();
    // A callback is ignored if the receiver is gone.
    debugger.start(move |callback| sender.send(callback).unwrap_or_default())?;
    let session = DebuggedProgram { process: debugger.attach(pid)?, callbacks };
    let (module, pdb) = session.until(|callback| {
        let Callback::LoadModule { module } = callback else { return None };
        let image = PeImage::open(Path::new(&module.name().ok()?)).ok()?;
        let pdb = Pdb::open_for(&image, &[]).ok()?;
        let is_its = pdb.documents().any(|(_, path)| path == source);
        is_its.then_some((module, pdb))
    })?;
    module.set_user_code(true)?;
    let document = pdb.find_document(source).context("no such source")?;
    let place = pdb.locations(document, line, None).first().copied().context("no code on that line")?;
    let function = module.function(place.method)?;
    let size = function.il_size()?;
    let breakpoint = function.set_breakpoint(place.point.il)?;
    session.stop()?;
    let stops = (0..ROUNDS).map(|_| session.stop()).collect::<anyhow::Result<Vec<_>>>()?;
    session.process.resume()?;
    let thread = session.until(|callback| match callback {
        Callback::Breakpoint { thread, .. } => Some(thread),
        _ => None,
    })?;
    breakpoint.remove()?;
    let steps = (0..ROUNDS).map(|_| session.step(&thread, &pdb, size)).collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(session.process.detach().is_ok(), "cannot detach from the program");
    println!("{} {}", median(steps), median(stops));
    Ok(())
}
