//! A program with children, in each language: one that it forks (where it can), one that it starts. They run
//! through a line with a breakpoint whose condition holds in the parent alone, and end by themselves; then
//! the parent stops there, and ends.
//!
//! Not here: the agents' view of children (`agents/agent_child_sessions.rs`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::launch_of;

const PYTHON: &str = r#"import os
import subprocess
import sys


def handle(number):
    doubled = number * 2
    return doubled  # BP handle


if len(sys.argv) > 1:
    print("again", handle(21), flush=True)
    sys.exit(0)
child = os.fork()
if child == 0:
    print("child", handle(21), flush=True)
    os._exit(3)
_, status = os.waitpid(child, 0)
subprocess.run([sys.executable, __file__, "again"], check=True)
print("parent", handle(4), os.waitstatus_to_exitcode(status))
"#;

const C: &str = r#"#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int handle(int number) {
    int doubled = number * 2;
    return doubled; /* BP handle */
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1) {
        printf("again %d\n", handle(21));
        return 0;
    }
    int first = 0, second = 0;
    pid_t child = fork();
    if (child == 0) {
        printf("child %d\n", handle(21));
        _exit(3);
    }
    waitpid(child, &first, 0);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", words[0], "again", NULL);
        _exit(1);
    }
    waitpid(child, &second, 0);
    printf("parent %d %d\n", handle(4), WEXITSTATUS(first));
    return second;
}
"#;

const GO: &str = r#"package main

import (
	"fmt"
	"os"
	"os/exec"
)

func handle(number int) int {
	doubled := number * 2
	return doubled // BP handle
}

func main() {
	if len(os.Args) > 1 {
		fmt.Println(os.Args[1], handle(21))
		if os.Args[1] == "child" {
			os.Exit(3)
		}
		return
	}
	child := exec.Command("/proc/self/exe", "child")
	child.Stdout = os.Stdout
	child.Run()
	again := exec.Command("/proc/self/exe", "again")
	again.Stdout = os.Stdout
	if again.Run() != nil {
		os.Exit(1)
	}
	fmt.Println("parent", handle(4), child.ProcessState.ExitCode())
}
"#;

const RUBY: &str = r#"require "rbconfig"
$stdout.sync = true

def handle(number)
  doubled = number * 2
  doubled # BP handle
end

if ARGV.any?
  puts "again #{handle(21)}"
  exit
end
child = fork do
  puts "child #{handle(21)}"
  exit!(3)
end
_, status = Process.wait2(child)
system(RbConfig.ruby, __FILE__, "again", exception: true)
puts "parent #{handle(4)} #{status.exitstatus}"
"#;

const JS: &str = r#"const { spawnSync } = require("child_process");

function handle(number) {
  const doubled = number * 2;
  return doubled; // BP handle
}

const [, , word] = process.argv;
if (word) {
  console.log(word, handle(21));
  process.exitCode = word === "child" ? 3 : 0;
} else {
  const first = spawnSync(process.execPath, [__filename, "child"], { stdio: "inherit" });
  const second = spawnSync(process.execPath, [__filename, "again"], { stdio: "inherit" });
  console.log("parent", handle(4), first.status);
  process.exitCode = second.status;
}
"#;

const BASH: &str = r#"#!/bin/bash
handle() {
  local number=$1
  doubled=$((number * 2))
  return 0 # BP handle
}
if [ $# -gt 0 ]; then
  handle 21
  echo "again $doubled"
  exit 0
fi
(
  handle 21
  echo "child $doubled"
  exit 3
) &
wait $!
first=$?
"$BASH" "$0" again || exit 1
handle 4
echo "parent $doubled $first"
"#;

const PERL: &str = r#"use strict;
use warnings;
$| = 1;
sub handle {
    my ($number) = @_;
    my $doubled = $number * 2;
    return $doubled; # BP handle
}
if (@ARGV) {
    print "again ", handle(21), "\n";
    exit 0;
}
my $child = fork() // die;
if ($child == 0) {
    print "child ", handle(21), "\n";
    exit 3;
}
waitpid $child, 0;
my $first = $? >> 8;
system($^X, $0, "again") == 0 or die;
print "parent ", handle(4), " $first\n";
"#;

/// Writes the program; returns its source.
fn program(subject: Subject, folder: &Path) -> anyhow::Result<PathBuf> {
    let (name, text) = match subject {
        Subject::Python | Subject::PythonAdapter => ("main.py", PYTHON),
        Subject::Lldb | Subject::Gdb => ("main.c", C),
        Subject::Delve => {
            std::fs::write(folder.join("go.mod"), "module family\n\ngo 1.20\n")?;
            ("main.go", GO)
        }
        Subject::Rdbg | Subject::Rdbg192 => ("main.rb", RUBY),
        Subject::Js => ("main.js", JS),
        Subject::Bash => ("main.sh", BASH),
        Subject::Perl => ("main.pl", PERL),
    };
    std::fs::write(folder.join(name), text)?;
    Ok(folder.join(name))
}

async fn family(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = program(subject, folder.path())?;
    let launch = launch_of(subject, &source)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    let line = child::line(&source, "handle");
    let condition = match subject {
        Subject::Bash => "[[ $number -eq 4 ]]",
        Subject::Perl => "$number == 4",
        _ => "number == 4",
    };
    let breakpoints = json!([{ "line": line, "condition": condition }]);
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": breakpoints })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "not launched: {}", launched.body);
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line, "{frame}");
    let before = editor.read_stdout("again 42\n").await?;
    assert_eq!(before, "child 42\nagain 42\n");
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let body = editor.ok("variables", locals).await?;
    let rows = body["variables"].as_array().context("no variables")?;
    let name = subject.variable("number", false);
    let number = rows.iter().find(|row| row["name"] == name.as_str()).context("no `number`")?;
    assert_eq!(number["value"], "4", "{number}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "child 42\nagain 42\nparent 8 3\n");
    editor.finish().await
}

parameterized_tests! {
    under_debugpy: family(Subject::Python),
    under_debugpys_adapter: family(Subject::PythonAdapter),
    under_lldb: family(Subject::Lldb),
    under_gdb: family(Subject::Gdb),
    under_delve: family(Subject::Delve),
    under_rdbg: family(Subject::Rdbg),
    under_rdbg_1_9_2: family(Subject::Rdbg192),
    under_js_debug: family(Subject::Js),
    under_bash_dap: family(Subject::Bash),
    under_perl: family(Subject::Perl),
}
