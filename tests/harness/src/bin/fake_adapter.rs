//! A child adapter that plays a script, for what real adapters cannot be made to show and for those that no
//! registry has.
//!
//! `fake_adapter SCRIPT [LOG [PORT]]`: DAP on stdio, or on a port (or the path of a socket) it listens on,
//! where each `initialize` of the script is a separate connection, and `"on": N` sends on the Nth instead of
//! the last. The script has one step a line. `{"dir": "out", "m": REQUEST}` waits for a request of that
//! command (what else comes is kept for later steps); `{"dir": "in", "m": MESSAGE}` sends a message
//! unchanged, except for `request_seq`, which becomes that of the request the script means. `{"do": …}`:
//! `stderr` (`text`), `raw` (`text`), `exit` (`code`), `hang`, `signal` (ends by SIGABRT); `storm` (`count`
//! events of this `event`, each with its `body`), `bytes` (sends them), `words` (`count` lines on stderr);
//! `serve`: from now on it answers everything as an adapter of a program that stops again after each step,
//! but for `neverAnswered`, until `disconnect`. All that was received is written to LOG.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

type ScriptResult<T> = Result<T, Box<dyn std::error::Error>>;

/// The source of connections.
enum ConnectionSource {
    Port(TcpListener),
    Path(UnixListener),
}

/// The connection the script is about now.
struct Adapter {
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    /// Connections the script has left; closing them would say something.
    before: Vec<Box<dyn Write>>,
    listener: Option<ConnectionSource>,
    log: Option<File>,
    /// Messages for later steps.
    kept: Vec<Value>,
    /// Recorded number of a request to the one it has now.
    numbers: HashMap<i64, Value>,
}

fn main() -> ScriptResult<()> {
    let mut arguments = std::env::args().skip(1);
    let script = std::fs::read_to_string(arguments.next().ok_or("no script")?)?;
    let log = arguments.next().map(File::create).transpose()?;
    let listener = match arguments.next() {
        Some(place) => Some(match place.parse::<u16>() {
            Ok(port) => ConnectionSource::Port(TcpListener::bind(("127.0.0.1", port))?),
            Err(_) => ConnectionSource::Path(UnixListener::bind(place)?),
        }),
        None => None,
    };
    let mut adapter = Adapter {
        input: Box::new(BufReader::new(std::io::stdin())),
        output: Box::new(std::io::stdout()),
        before: Vec::new(),
        listener,
        log,
        kept: Vec::new(),
        numbers: HashMap::new(),
    };
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        if !adapter.play(&serde_json::from_str(line)?)? {
            return Ok(());
        }
    }
    // The script is over: `disconnect` is answered, and the end of input ends us.
    while let Some(got) = adapter.receive(|_| true)? {
        if got["type"] == "request" {
            let fine = got["command"] == "disconnect";
            adapter
                .send(&json!({ "seq": 0, "type": "response", "request_seq": got["seq"], "success": fine,
                "command": got["command"], "message": "the script is over" }))?;
        }
    }
    Ok(())
}

impl Adapter {
    /// Plays one step; `false` when the other side has gone.
    fn play(&mut self, step: &Value) -> ScriptResult<bool> {
        let message = &step["m"];
        match (step["dir"].as_str(), step["do"].as_str()) {
            (Some("out"), _) => {
                if message["command"] == "initialize" {
                    self.accept()?;
                }
                let (kind, command) = (message["type"].clone(), message["command"].clone());
                let Some(got) = self.receive(|got| got["type"] == kind && got["command"] == command)? else {
                    return Ok(false);
                };
                if let Some(recorded) = message["seq"].as_i64() {
                    self.numbers.insert(recorded, got["seq"].clone());
                }
            }
            (Some("in"), _) => {
                let mut sent = message.clone();
                let known = sent["request_seq"].as_i64().and_then(|recorded| self.numbers.get(&recorded));
                if let Some(known) = known {
                    sent["request_seq"] = known.clone();
                }
                match step["on"].as_u64().and_then(|on| self.before.get_mut(usize::try_from(on).ok()?)) {
                    // The first of them is stdout, before anybody connected.
                    Some(earlier) => send(earlier, &sent)?,
                    None => self.send(&sent)?,
                }
            }
            (_, Some("stderr")) => eprintln!("{}", step["text"].as_str().unwrap_or_default()),
            (_, Some("raw")) => {
                self.output.write_all(step["text"].as_str().unwrap_or_default().as_bytes())?;
                self.output.flush()?;
            }
            (_, Some("exit")) => {
                let code = step["code"].as_i64().and_then(|code| i32::try_from(code).ok());
                std::process::exit(code.unwrap_or(1));
            }
            (_, Some("bytes")) => {
                let numbers = step["bytes"].as_array().ok_or("no bytes")?.iter();
                let bytes: Vec<u8> = numbers.map(|it| it.as_u64().unwrap_or(0) as u8).collect();
                self.output.write_all(&bytes)?;
                self.output.flush()?;
            }
            (_, Some("storm")) => self.storm(step)?,
            (_, Some("words")) => {
                let line = "w".repeat(100);
                (0..step["count"].as_u64().unwrap_or(1)).for_each(|number| eprintln!("{number} {line}"));
            }
            (_, Some("serve")) => {
                self.serve()?;
                return Ok(false);
            }
            (_, Some("hang")) => loop {
                std::thread::park();
            },
            (_, Some("signal")) => std::process::abort(),
            _ => return Err(format!("no such step: {step}").into()),
        }
        Ok(true)
    }

    /// Many events at once, written in large pieces.
    fn storm(&mut self, step: &Value) -> ScriptResult<()> {
        let mut piece = Vec::new();
        for number in 0..step["count"].as_u64().unwrap_or(1) {
            let mut body = step["body"].clone();
            body["number"] = json!(number);
            let event = json!({ "seq": 0, "type": "event", "event": step["event"], "body": body });
            send(&mut piece, &event)?;
            if piece.len() > 64 * 1024 {
                self.output.write_all(&piece)?;
                piece.clear();
            }
        }
        self.output.write_all(&piece)?;
        Ok(self.output.flush()?)
    }

    fn serve(&mut self) -> ScriptResult<()> {
        while let Some(got) = self.receive(|_| true)? {
            let command = got["command"].as_str().unwrap_or_default().to_owned();
            if got["type"] != "request" || command == "neverAnswered" {
                continue;
            }
            let answer = json!({ "seq": 0, "type": "response", "request_seq": got["seq"], "success": true,
                "command": command, "body": served(&command, &got["arguments"]) });
            self.send(&answer)?;
            let reason = match command.as_str() {
                "disconnect" => return Ok(()),
                "next" | "stepIn" | "stepOut" => "step",
                "continue" => "breakpoint",
                "pause" => "pause",
                _ => continue,
            };
            let body = json!({ "reason": reason, "threadId": 1, "allThreadsStopped": true });
            self.send(&json!({ "seq": 0, "type": "event", "event": "stopped", "body": body }))?;
        }
        Ok(())
    }

    fn accept(&mut self) -> ScriptResult<()> {
        let (input, output): (Box<dyn BufRead>, Box<dyn Write>) = match &self.listener {
            None => return Ok(()),
            Some(ConnectionSource::Port(listener)) => {
                let (socket, _) = listener.accept()?;
                (Box::new(BufReader::new(socket.try_clone()?)), Box::new(socket))
            }
            Some(ConnectionSource::Path(listener)) => {
                let (socket, _) = listener.accept()?;
                (Box::new(BufReader::new(socket.try_clone()?)), Box::new(socket))
            }
        };
        self.input = input;
        self.before.push(std::mem::replace(&mut self.output, output));
        Ok(())
    }

    fn send(&mut self, message: &Value) -> ScriptResult<()> {
        send(&mut self.output, message)
    }

    /// The next message that fits; the others stay for later steps.
    fn receive(&mut self, fits: impl Fn(&Value) -> bool) -> ScriptResult<Option<Value>> {
        if let Some(at) = self.kept.iter().position(&fits) {
            return Ok(Some(self.kept.remove(at)));
        }
        while let Some(message) = read(&mut self.input)? {
            if let Some(log) = &mut self.log {
                // In one write: a test may read the log while the last message is written.
                log.write_all(format!("{message}\n").as_bytes())?;
            }
            if fits(&message) {
                return Ok(Some(message));
            }
            self.kept.push(message);
        }
        Ok(None)
    }
}

/// The answers of a program that is always stopped at the same location.
fn served(command: &str, arguments: &Value) -> Value {
    match command {
        "threads" => json!({ "threads": [{ "id": 1, "name": "main" }] }),
        "stackTrace" => {
            json!({ "totalFrames": 1, "stackFrames": [{ "id": 1000, "name": "main", "line": 1, "column": 1,
            "source": { "path": "/a.src" } }] })
        }
        "scopes" => {
            json!({ "scopes": [{ "name": "Locals", "variablesReference": 1001, "expensive": false }] })
        }
        "variables" => json!({ "variables": [{ "name": "x", "value": "1", "variablesReference": 0 },
            { "name": "y", "value": "{…}", "variablesReference": 1002 }] }),
        "evaluate" => json!({ "result": arguments["expression"], "variablesReference": 0 }),
        "continue" => json!({ "allThreadsContinued": true }),
        "setBreakpoints" | "setFunctionBreakpoints" => {
            let breakpoints = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
            let set = breakpoints.iter().enumerate();
            let set: Vec<Value> =
                set.map(|(at, it)| json!({ "id": at + 1, "verified": true, "line": it["line"] })).collect();
            json!({ "breakpoints": set })
        }
        _ => json!({}),
    }
}

fn send(output: &mut impl Write, message: &Value) -> ScriptResult<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(output.flush()?)
}

fn read(input: &mut impl BufRead) -> ScriptResult<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().split_once(':') {
            Some((_, value)) => length = value.trim().parse().unwrap_or(0),
            None => break,
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
