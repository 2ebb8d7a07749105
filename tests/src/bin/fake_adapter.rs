//! A child adapter that plays a script, for what real adapters cannot be made to show and for those that no registry has.
//!
//! `fake_adapter SCRIPT [LOG]`, DAP on stdio. The script has one step a line. `{"dir": "out", "m": REQUEST}` waits for a
//! request of that command (what else comes is kept for later steps); `{"dir": "in", "m": MESSAGE}` sends a message as it
//! stands, but for `request_seq`, which becomes that of the request the script means. `{"do": …}`: `stderr` (`text`),
//! `raw` (`text`), `exit` (`code`), `hang`, `signal` (ends by SIGKILL). All that was received is written to LOG.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let script = std::fs::read_to_string(arguments.next().ok_or("no script")?)?;
    let mut log = arguments.next().map(std::fs::File::create).transpose()?;
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut kept: Vec<Value> = Vec::new();
    // Recorded number of a request to the one it has now.
    let mut numbers: HashMap<i64, Value> = HashMap::new();
    let mut receive =
        |kept: &mut Vec<Value>, fits: &dyn Fn(&Value) -> bool| -> std::io::Result<Option<Value>> {
            if let Some(at) = kept.iter().position(fits) {
                return Ok(Some(kept.remove(at)));
            }
            while let Some(message) = read(&mut input)? {
                if let Some(log) = &mut log {
                    writeln!(log, "{message}")?;
                }
                if fits(&message) {
                    return Ok(Some(message));
                }
                kept.push(message);
            }
            Ok(None)
        };
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        let step: Value = serde_json::from_str(line)?;
        let message = &step["m"];
        match (step["dir"].as_str(), step["do"].as_str()) {
            (Some("out"), _) => {
                let fits =
                    |got: &Value| got["type"] == message["type"] && got["command"] == message["command"];
                let Some(got) = receive(&mut kept, &fits)? else { return Ok(()) };
                if let Some(recorded) = message["seq"].as_i64() {
                    numbers.insert(recorded, got["seq"].clone());
                }
            }
            (Some("in"), _) => {
                let mut sent = message.clone();
                if let Some(known) = sent["request_seq"].as_i64().and_then(|recorded| numbers.get(&recorded))
                {
                    sent["request_seq"] = known.clone();
                }
                send(&mut output, &sent)?;
            }
            (_, Some("stderr")) => eprintln!("{}", step["text"].as_str().unwrap_or_default()),
            (_, Some("raw")) => {
                output.write_all(step["text"].as_str().unwrap_or_default().as_bytes())?;
                output.flush()?;
            }
            (_, Some("exit")) => {
                let code = step["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(1);
                std::process::exit(code);
            }
            (_, Some("hang")) => loop {
                std::thread::park();
            },
            (_, Some("signal")) => std::process::abort(),
            _ => return Err(format!("no such step: {line}").into()),
        }
    }
    // The script is over: whoever asks to disconnect is answered, and the end of input ends us.
    while let Some(got) = receive(&mut kept, &|_| true)? {
        if got["type"] == "request" {
            let answer = json!({ "seq": 0, "type": "response", "request_seq": got["seq"], "success": got["command"] == "disconnect",
                "command": got["command"], "message": "the script is over" });
            send(&mut output, &answer)?;
        }
    }
    Ok(())
}

fn send(output: &mut impl Write, message: &Value) -> std::io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

fn read(input: &mut impl BufRead) -> std::io::Result<Option<Value>> {
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
