//! Names that are not ASCII or not Unicode, from a program in each language: of a file, of a folder, of a
//! thread, of the content of a variable, as far as the language lets a program make them. Every request about
//! them is answered, and the session goes on to the program's end.
//!
//! Not here: how they are escaped (`hosts/unreadable_messages.rs`).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::launch_of;

const C: &str = r#"#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
typedef void (*call)(void);
#include "bad§/odd.h"

static void handle(void) {
    struct { const char *bad; char letters[4]; } odd = { "v§\xed\xa0\xbd", "\xff\xfe" };
    printf("%d\n", odd.letters[0]); /* BP odd */
}

static void *work(void *nothing) {
    pthread_setname_np(pthread_self(), "odd §");
    inside(handle);
    return nothing;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_join(worker, NULL);
    return 0;
}
"#;
const C_INSIDE: &str = "static void inside(call handle) {\n    handle();\n}\n";

/// Go takes no file, package or directive whose name is not UTF-8.
const GO: &str = r#"package main

import "fmt"

func main() {
	odd := []string{"bad\xff", "v\xed\xa0\xbd"}
	fmt.Println(len(odd)) // BP odd
}
"#;

const RUBY: &str = r#"def handle
  odd = { "bad\xFF" => "v\xED\xA0\xBD", "\xFF".b => 1 }
  puts odd.size # BP odd
end
load File.join(__dir__.b, "bad\xFF".b, "odd.rb")
worker = Thread.new { inside { handle } }
worker.name = "odd \xFF".b
worker.join
"#;
const RUBY_INSIDE: &str = "def inside\n  yield\nend\n";

/// Node reads no file whose name is not Unicode; a script may be called so.
const JS: &str = r#"function handle() {
  const odd = { "bad\udcff": "v\ud83d" };
  console.log(Object.keys(odd).length); // BP odd
}
const filename = __dirname + "/bad\ud83d/odd.js";
require("vm").runInThisContext("(function inside(call) {\n  call();\n})", { filename })(handle);
"#;

const BASH: &str = "#!/bin/bash\nhandle() {\n  local odd=$'v\\xff\\xed\\xa0\\xbd'\n  \
                    declare -A more=([$'bad\\xff']=1)\n  echo ${#more[@]} # BP odd\n}\n\
                    source \"$(dirname \"$0\")/bad§/odd.sh\"\ninside handle\n";
const BASH_INSIDE: &str = "inside() {\n  $1\n}\n";

const PERL: &str = r#"use strict;
no warnings;
use FindBin;
sub handle {
    my %odd = ("bad§" => "v\xed\xa0\xbd", "\x{d83d}" => "\x{dcff}");
    my $count = keys %odd; # BP odd
    print "$count\n";
}
do "$FindBin::Bin/bad§/odd.pl" or die;
inside(\&handle);
"#;
const PERL_INSIDE: &str = "sub inside {\n    $_[0]->();\n}\n1;\n";

/// The text with a byte that is not UTF-8 for each `§`.
fn bytes(text: &str) -> Vec<u8> {
    let parts: Vec<&[u8]> = text.split('§').map(str::as_bytes).collect();
    parts.join(&0xff)
}

/// Writes the program; returns its source.
fn program(subject: Subject, folder: &Path) -> anyhow::Result<PathBuf> {
    let (name, text, inside) = match subject {
        Subject::Python | Subject::PythonAdapter => return Ok(child::source("odd_names.py")),
        Subject::Lldb | Subject::Gdb => ("main.c", C, Some(("odd.h", C_INSIDE))),
        Subject::Delve => {
            std::fs::write(folder.join("go.mod"), "module odd\n\ngo 1.20\n")?;
            ("main.go", GO, None)
        }
        Subject::Rdbg | Subject::Rdbg192 => ("größe.rb", RUBY, Some(("odd.rb", RUBY_INSIDE))),
        Subject::Js => ("größe.js", JS, None),
        Subject::Bash => ("größe.sh", BASH, Some(("odd.sh", BASH_INSIDE))),
        Subject::Perl => ("größe.pl", PERL, Some(("odd.pl", PERL_INSIDE))),
    };
    std::fs::write(folder.join(name), bytes(text))?;
    if let Some((name, text)) = inside {
        let bad = folder.join(OsStr::from_bytes(b"bad\xff"));
        std::fs::create_dir(&bad)?;
        std::fs::write(bad.join(name), text)?;
    }
    Ok(folder.join(name))
}

/// All rows below a reference, at every depth.
async fn rows(editor: &mut DapClient, reference: &Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let mut all = body["variables"].as_array().context("no variables")?.clone();
    for row in all.clone() {
        if row["name"].as_str().is_some_and(|name| name.contains("odd") || name == "more") {
            let inner = &row["variablesReference"];
            if *inner != 0 {
                let body = editor.ok("variables", json!({ "variablesReference": inner })).await?;
                all.extend(body["variables"].as_array().context("no variables")?.clone());
            }
        }
    }
    Ok(all)
}

/// The displayed folder, thread and values, where the language has them. lldb-dap replaces
/// characters that are not Unicode.
fn names(subject: Subject) -> Vec<(&'static str, &'static str)> {
    match subject {
        Subject::Python | Subject::PythonAdapter => vec![
            ("the folder", r"bad\\udcff/odd.py"),
            ("the thread", r"odd \\ud800"),
            ("a value", r"v\\ud83d"),
        ],
        Subject::Lldb => {
            vec![("the folder", "bad\u{fffd}/odd.h"), ("the thread", "odd \u{fffd}"), ("a value", r"v\\xff")]
        }
        Subject::Gdb => {
            vec![("the folder", r"bad\\udcff/odd.h"), ("the thread", r"odd \\udcff"), ("a value", r"v\\377")]
        }
        Subject::Delve => vec![("a value", "bad")],
        Subject::Rdbg | Subject::Rdbg192 => {
            vec![("the folder", r"bad\\xFF/odd.rb"), ("the thread", r"odd \\xFF"), ("a value", r"v\\xED")]
        }
        Subject::Js => vec![("a name", r"bad\\udcff"), ("a value", r"v\\ud83d")],
        Subject::Bash => vec![
            ("the folder", r"bad\\udcff/odd.sh"),
            ("a value", "v"),
            ("a key of an array", r"([$'bad\\377']=1)"),
        ],
        Subject::Perl => vec![("a name", r"\\x{d83d}"), ("a value", r"\\x{dcff}")],
    }
}

async fn check_odd_names(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = program(subject, folder.path())?;
    let launch = launch_of(subject, &source)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let text = String::from_utf8_lossy(&std::fs::read(&source)?).into_owned();
    let line = text.lines().position(|line| line.contains("BP odd")).context("no marker")? + 1;
    editor.launch_child(launch, &source, &[i64::try_from(line)?]).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let threads = editor.ok("threads", json!({})).await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    assert_eq!(stack["stackFrames"][0]["source"]["path"], json!(source), "{subject:?}");
    let frame = &stack["stackFrames"][0]["id"];
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let mut all = Vec::new();
    for scope in scopes["scopes"].as_array().context("no scopes")? {
        if scope["expensive"] != true {
            all.extend(rows(&mut editor, &scope["variablesReference"]).await?);
        }
    }
    let shown = format!("{threads}{stack}{}", json!(all));
    assert!(!shown.contains('\u{fffd}') || subject == Subject::Lldb, "{subject:?}: {shown}");
    for (what, escaped) in names(subject) {
        assert!(shown.contains(escaped), "{subject:?}: {what} is not `{escaped}`: {shown}");
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    editor.finish().await
}

parameterized_tests! {
    under_debugpy: check_odd_names(Subject::Python),
    under_debugpys_adapter: check_odd_names(Subject::PythonAdapter),
    under_lldb: check_odd_names(Subject::Lldb),
    under_gdb: check_odd_names(Subject::Gdb),
    under_delve: check_odd_names(Subject::Delve),
    under_rdbg: check_odd_names(Subject::Rdbg),
    under_rdbg_1_9_2: check_odd_names(Subject::Rdbg192),
    under_js_debug: check_odd_names(Subject::Js),
    under_bash_dap: check_odd_names(Subject::Bash),
    under_perl: check_odd_names(Subject::Perl),
}
