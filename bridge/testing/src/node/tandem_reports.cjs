// Writes reports for Tandem into the pipe that it names: one JSON object a line. Never throws, and never prints.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");

const MAX_TEXT = 32 * 1024;
// Several processes write: up to this many bytes at once stay together.
const WHOLE = 4000;
const folder = process.env.TANDEM_TEST_FOLDER || process.cwd();
let pipe;
let parts = 0;

const plain = (text) => String(text).replace(/\u001b\[[0-9;]*m/g, "");

function shorten(text) {
  const whole = plain(text);
  return whole.length <= MAX_TEXT ? whole : `${whole.slice(0, MAX_TEXT / 4)}\n[...]\n${whole.slice((-MAX_TEXT / 4) * 3)}`;
}

function write(value) {
  // Beyond ASCII a letter has several bytes, and a part may end in none of them.
  const line = JSON.stringify(value).replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  pipe ??= fs.openSync(process.env.TANDEM_TEST_REPORTS, "a");
  if (line.length < WHOLE) {
    fs.writeSync(pipe, `${line}\n`);
    return;
  }
  const of = `${process.pid}.${++parts}`;
  // Quotes and backslashes are written twice.
  const step = WHOLE / 2 - 200;
  for (let at = 0; at < line.length; at += step) {
    const part = { event: "part", of, text: line.slice(at, at + step), more: at + step < line.length };
    fs.writeSync(pipe, `${JSON.stringify(part)}\n`);
  }
}

function report(event, fields) {
  try {
    write({ event, ...fields });
  } catch {
    // Nobody reads any more.
  }
}

// The innermost call in the project's own files.
function ownPlace(stack) {
  for (const line of String(stack ?? "").split("\n")) {
    const found = /(?:\(|at |@)(?:async )?(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?\s*$/.exec(line);
    if (found && found[1].startsWith(`${folder}/`) && !found[1].includes("/node_modules/")) {
      return { file: decodeURI(found[1]), line: Number(found[2]) };
    }
  }
  return {};
}

const shown = (value) => shorten(typeof value === "string" ? value : util.inspect(value, { depth: 4 }));

// Message, place and the two sides of a comparison.
function failure(error) {
  if (!(error && typeof error === "object")) return { message: `thrown: ${shown(error)}` };
  const name = error.name && error.name !== "Error" && error.name !== "AssertionError" ? `${error.name}: ` : "";
  const compared = error.matcherResult ?? error;
  const message = String(error.message ?? shown(error));
  const known = "expected" in compared && "actual" in compared;
  return {
    message: shorten(message.startsWith(name) ? message : name + message),
    stack: shorten(error.stack ?? "").replaceAll("file://", ""),
    ...(known ? { expected: shown(compared.expected), actual: shown(compared.actual) } : {}),
    ...ownPlace(error.stack),
  };
}

const relative = (file) => path.relative(folder, file);
const id = (file, titles) => [relative(file), ...titles].join(" > ");

function chosen() {
  const file = process.env.TANDEM_TEST_IDS;
  return file ? new Set(JSON.parse(fs.readFileSync(file, "utf8"))) : undefined;
}

module.exports = { report, failure, ownPlace, id, chosen, shorten, lists: Boolean(process.env.TANDEM_TEST_LIST), debugs: Boolean(process.env.TANDEM_TEST_DEBUG) };
