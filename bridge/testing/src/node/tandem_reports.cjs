// Writes reports to the pipe that Tandem names, one JSON object per line. Never throws or prints.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const url = require("node:url");
const util = require("node:util");

const MAX_TEXT = 32 * 1024;
// Several processes write to the pipe: writes of at most this many bytes are atomic.
const MAX_ATOMIC_BYTES = 4000;
const folder = process.env.TANDEM_TEST_FOLDER || process.cwd();
let pipe;
let splitCount = 0;

const removeColours = (text) => String(text).replace(/\u001b\[[0-9;]*m/g, "");

function shorten(text) {
  const clean = removeColours(text);
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT / 4)}\n[...]\n${clean.slice((-MAX_TEXT / 4) * 3)}`;
}

function write(value) {
  // Escape characters beyond ASCII: they have several bytes, and no part may end within one.
  const line = JSON.stringify(value).replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  pipe ??= fs.openSync(process.env.TANDEM_TEST_REPORTS, "a");
  if (line.length < MAX_ATOMIC_BYTES) {
    fs.writeSync(pipe, `${line}\n`);
    return;
  }
  const messageId = `${process.pid}.${++splitCount}`;
  // Quotes and backslashes are escaped twice.
  const step = MAX_ATOMIC_BYTES / 2 - 200;
  for (let offset = 0; offset < line.length; offset += step) {
    const part = { event: "part", of: messageId, text: line.slice(offset, offset + step), more: offset + step < line.length };
    fs.writeSync(pipe, `${JSON.stringify(part)}\n`);
  }
}

function report(event, fields) {
  try {
    write({ event, ...fields });
  } catch {
    // The reader has closed the pipe.
  }
}

function toPath(text) {
  try {
    return text.startsWith("file://") ? url.fileURLToPath(text) : text;
  } catch {
    return text;
  }
}

const isOwn = (file) => file.startsWith(`${folder}/`) && !file.includes("/node_modules/");

// Finds the innermost call in the project's own files.
function findOwnLocation(stack) {
  for (const line of String(stack ?? "").split("\n")) {
    const found = /(?:\(|at |@)(?:async )?((?:file:\/\/)?\/[^:]+):(\d+):\d+\)?\s*$/.exec(line);
    const file = found && toPath(found[1]);
    if (file && isOwn(file)) return { file, line: Number(found[2]) };
  }
  return {};
}

const inspectValue = (value) => shorten(typeof value === "string" ? value : util.inspect(value, { depth: 4 }));

// Returns the message, the location and the two sides of a comparison.
function describeFailure(error) {
  if (!(error && typeof error === "object")) return { message: `thrown: ${inspectValue(error)}` };
  const name = error.name && error.name !== "Error" && error.name !== "AssertionError" ? `${error.name}: ` : "";
  const compared = error.matcherResult ?? error;
  const message = String(error.message ?? inspectValue(error));
  const hasComparison = "expected" in compared && "actual" in compared;
  return {
    message: shorten(message.startsWith(name) ? message : name + message),
    stack: shorten(error.stack ?? "").replaceAll("file://", ""),
    ...(hasComparison ? { expected: inspectValue(compared.expected), actual: inspectValue(compared.actual) } : {}),
    ...findOwnLocation(error.stack),
  };
}

// Locations of the tests that Node declares, for failures without a stack.
const locations = new Map();
const setLocation = (id, location) => locations.set(id, location);
const getLocation = (id) => locations.get(id) ?? {};

const toRelative = (file) => path.relative(folder, file);
const createId = (file, titles) => [toRelative(file), ...titles].join(" > ");

function readSelectedIds() {
  const file = process.env.TANDEM_TEST_IDS;
  return file ? new Set(JSON.parse(fs.readFileSync(file, "utf8"))) : undefined;
}

// Reads which tests of a file Tandem selects. A selected test or suite includes all within it; the tests and suites around it run, too, but not their others.
function readSelection(file) {
  const selectedIds = readSelectedIds();
  const aroundIds = new Set();
  for (const one of selectedIds ?? []) {
    const parts = one.split(" > ");
    for (let length = 2; length < parts.length; length++) aroundIds.add(parts.slice(0, length).join(" > "));
  }
  const isSelected = (titles) => !selectedIds || titles.some((_, index) => selectedIds.has(createId(file, titles.slice(0, index + 1))));
  return { isSelected, isNeeded: (titles) => isSelected(titles) || aroundIds.has(createId(file, titles)) };
}

module.exports = { report, describeFailure, findOwnLocation, inspectValue, isOwn, createId, readSelectedIds, readSelection, setLocation, getLocation, shorten, isListing: Boolean(process.env.TANDEM_TEST_LIST), isDebugging: Boolean(process.env.TANDEM_TEST_DEBUG) };
