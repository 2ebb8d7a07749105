//! The cost of recognising that a program waits for input: processor time of the host per second of a session
//! while a client waits for the program. Prints Markdown on stdout. Build with `--release`. Not a test:
//! machines differ.
//!
//! `SECONDS` as the argument sets how long each figure is measured.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// How long each figure is measured.
const DURATION: Duration = Duration::from_secs(10);
/// Time for a program to start and to begin what it does.
const START_TIME: Duration = Duration::from_secs(2);
/// Time between two requests of a client after a wait was recognised, as in the agents' tools.
const REPEAT_INTERVAL: Duration = Duration::from_millis(250);

/// A program, and what it does.
struct WaitCase {
    name: &'static str,
    program: &'static str,
    /// Whether a client waits for the program.
    is_watched: bool,
}

/// Starts threads that sleep.
macro_rules! threads {
    () => {
        "import threading, time\n\
         sleep = dict(target=time.sleep, args=(3600,), daemon=True)\n\
         for _ in range(49): threading.Thread(**sleep).start()\n"
    };
}

const IDLE: &str = "input()\n";
const CASES: [WaitCase; 5] = [
    WaitCase { name: "a program that waits for input, no client waits", program: IDLE, is_watched: false },
    WaitCase {
        name: "a program that waits for input; a client asks again 250 ms after each answer",
        program: IDLE,
        is_watched: true,
    },
    WaitCase {
        name: "a busy program that does not read its stdin",
        program: "while True:\n    pass\n",
        is_watched: true,
    },
    WaitCase {
        name: "a program with 50 threads that sleep, and does not read its stdin",
        program: concat!(threads!(), "time.sleep(3600)\n"),
        is_watched: true,
    },
    WaitCase {
        name: "a program with 50 threads, of which one waits for input; the client asks again",
        program: concat!(threads!(), "input()\n"),
        is_watched: true,
    },
];

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    let duration = match std::env::args().nth(1) {
        Some(seconds) => Duration::from_secs(seconds.parse().context("SECONDS is a number")?),
        None => DURATION,
    };
    println!("| program | processor time of the host per second |\n|---|---|");
    let folder = tempfile::tempdir()?;
    for case in CASES {
        let program = folder.path().join("program.py");
        std::fs::write(&program, case.program)?;
        let cost = measure(&program, case.is_watched, duration).await.context(case.name)?;
        println!("| {} | {cost:.1} ms |", case.name);
    }
    Ok(())
}

/// Milliseconds of processor time per second.
async fn measure(program: &Path, is_watched: bool, duration: Duration) -> anyhow::Result<f64> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let launch = Subject::Python.with(json!({ "program": program }));
    editor.launch_child(launch, program, &[]).await?;
    let entry = std::fs::read_to_string(editor.socket().await?.with_extension("json"))?;
    let host = serde_json::from_str::<Value>(&entry)?["pid"].as_u64().context("no pid")?;
    tokio::time::sleep(START_TIME).await;
    let (began, before) = (Instant::now(), processor_time(host)?);
    while began.elapsed() < duration {
        let left = duration.saturating_sub(began.elapsed());
        if !is_watched {
            tokio::time::sleep(left).await;
            continue;
        }
        let timeout = u64::try_from(left.as_millis())?;
        let wait = json!({ "waitFor": "never printed", "timeoutMs": timeout, "maxBytes": 0 });
        let answer = editor.ok("processReadOutput", wait).await?;
        if answer["waitingForInput"] == true {
            tokio::time::sleep(REPEAT_INTERVAL.min(duration.saturating_sub(began.elapsed()))).await;
        }
    }
    let (spent, taken) = (processor_time(host)? - before, began.elapsed());
    editor.finish().await?;
    Ok(spent.as_secs_f64() * 1e3 / taken.as_secs_f64())
}

/// Processor time that the threads of a process have used (`schedstat` of proc(5)).
fn processor_time(pid: u64) -> anyhow::Result<Duration> {
    let mut all = Duration::ZERO;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that ends meanwhile is left out.
        let times = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let ran: u64 = times.split_ascii_whitespace().next().unwrap_or("0").parse()?;
        all += Duration::from_nanos(ran);
    }
    Ok(all)
}
