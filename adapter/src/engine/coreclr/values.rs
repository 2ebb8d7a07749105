//! What is in a variable: its text, its type, and what is inside it.
//!
//! Values of the program die whenever it runs, even for an evaluation. So a `variablesReference` stands for a *path*
//! (where to start and which way to go), which is walked again whenever it is asked for.

use std::rc::Rc;
use std::sync::mpsc::Receiver;

use cordebug::module::Class;
use cordebug::value::{Handle, Type, Value as ClrValue, element};
use dap_wire::Failure;
use serde_json::{Value, json};

use super::cor;
use super::session::{Input, Session};

/// Longest string shown, UTF-16 units; longer ones are cut and say so.
const LONGEST_TEXT: u32 = 4096;
/// Deepest chain of base types that is followed.
const DEEPEST_BASE: usize = 64;

/// Where a path starts.
#[derive(Clone)]
pub(super) enum Root {
    Argument {
        thread: u32,
        frame: usize,
        index: u32,
    },
    Local {
        thread: u32,
        frame: usize,
        slot: u32,
    },
    /// An object an evaluation gave.
    Handle(Rc<Handle>),
    /// The exception a thread throws.
    Exception {
        thread: u32,
    },
}

/// One step inwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A field declared so many base types up.
    Field {
        up: usize,
        token: u32,
    },
    Element(u32),
}

/// A way to a value.
#[derive(Clone)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) steps: Vec<Step>,
    /// The expression that leads there too.
    pub(super) name: String,
}

impl Path {
    pub(super) fn step(&self, step: Step, name: String) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { root: self.root.clone(), steps, name }
    }
}

/// What a `variablesReference` stands for.
#[derive(Clone)]
pub(super) enum Node {
    /// Arguments and locals of a frame.
    Locals { thread: u32, index: usize },
    /// What is inside a value.
    Inside(Path),
    /// The fields of a collection that is shown as its items.
    Raw(Path),
    /// A property, which runs code of the program when it is asked for.
    Property { of: Path, name: String },
}

/// References given out at this stop.
#[derive(Default)]
pub(super) struct References {
    frames: Vec<(u32, usize)>,
    nodes: Vec<Node>,
    handles: Vec<Rc<Handle>>,
}

impl References {
    /// The program runs: everything is stale.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.nodes.clear();
        for handle in self.handles.drain(..) {
            // A process that has ended has no objects to release.
            handle.dispose().unwrap_or_default();
        }
    }

    pub(super) fn frame(&mut self, thread: u32, index: usize) -> i64 {
        let known = self.frames.iter().position(|frame| *frame == (thread, index));
        let at = known.unwrap_or_else(|| {
            self.frames.push((thread, index));
            self.frames.len() - 1
        });
        at as i64 + 1
    }

    pub(super) fn frame_of(&self, id: i64) -> Option<(u32, usize)> {
        self.frames.get(usize::try_from(id).ok()?.checked_sub(1)?).copied()
    }

    pub(super) fn add(&mut self, node: Node) -> i64 {
        self.nodes.push(node);
        self.nodes.len() as i64
    }

    fn node(&self, id: i64) -> Option<Node> {
        self.nodes.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// Keeps an object alive until the program runs on.
    pub(super) fn keep(&mut self, handle: Handle) -> Rc<Handle> {
        let handle = Rc::new(handle);
        self.handles.push(handle.clone());
        handle
    }
}

/// A value ready to be shown.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) kind: String,
    /// Items, when it is an array or collection.
    items: u32,
    /// Whether there is anything inside.
    opens: bool,
}

/// A field of an object, wherever it was declared.
struct Member {
    name: String,
    step: Step,
}

impl Session {
    /// Walks a path.
    pub(super) fn fetch(&self, path: &Path) -> Result<ClrValue, Failure> {
        let what = || format!("read `{}`", path.name);
        let frame_of = |thread: u32, index: usize| {
            self.frames(thread)?.into_iter().nth(index).ok_or_else(|| Failure::invalid("the frame is gone"))
        };
        let mut value = match &path.root {
            Root::Argument { thread, frame, index } => {
                frame_of(*thread, *frame)?.argument(*index).map_err(cor(what()))?
            }
            Root::Local { thread, frame, slot } => {
                frame_of(*thread, *frame)?.local(*slot).map_err(cor(what()))?
            }
            Root::Handle(handle) => handle.value().map_err(cor(what()))?,
            Root::Exception { thread } => self.thread(*thread)?.current_exception().map_err(cor(what()))?,
        };
        for step in &path.steps {
            let inner = bare(&value)
                .ok_or_else(|| Failure::invalid(format!("`{}` is null on the way", path.name)))?;
            value = match step {
                Step::Field { up, token } => {
                    let class = class_up(&inner, *up).map_err(cor(what()))?;
                    inner.field(&class, *token).map_err(cor(what()))?
                }
                Step::Element(position) => {
                    let array = inner.as_array();
                    let array =
                        array.ok_or_else(|| Failure::invalid(format!("`{}` is no array", path.name)))?;
                    array.element(*position).map_err(cor(what()))?
                }
            };
        }
        Ok(value)
    }

    /// The instance fields of an object, its base types' last.
    fn members(&self, value: &ClrValue) -> Vec<Member> {
        let mut members = Vec::new();
        let mut kind = value.exact_type().ok();
        for up in 0..DEEPEST_BASE {
            let Some(current) = kind else { break };
            if let Some((loaded, token)) = self.class_of(&current)
                && let Some(image) = loaded.image()
            {
                for field in image.metadata.fields(token).into_iter().filter(|field| !field.is_static) {
                    let step = Step::Field { up, token: field.token };
                    members.push(Member { name: source_name(&field.name).to_owned(), step });
                }
            }
            kind = current.base().ok();
        }
        members
    }

    pub(super) fn class_of(&self, kind: &Type) -> Option<(Rc<super::modules::Loaded>, u32)> {
        let class = kind.class().ok()?;
        Some((self.modules.of(&class.module().ok()?)?, class.token().ok()?))
    }

    /// The way to a field by its name.
    pub(super) fn member(&self, value: &ClrValue, name: &str) -> Option<Step> {
        self.members(value).into_iter().find(|member| member.name == name).map(|member| member.step)
    }

    pub(super) fn field_named(&self, value: &ClrValue, name: &str) -> Option<ClrValue> {
        let inner = bare(value)?;
        match self.member(&inner, name)? {
            Step::Field { up, token } => inner.field(&class_up(&inner, up).ok()?, token).ok(),
            Step::Element(_) => None,
        }
    }

    pub(super) fn text_field(&self, value: &ClrValue, name: &str) -> Option<String> {
        bare(&self.field_named(value, name)?)?.as_string()?.text(LONGEST_TEXT).ok()
    }

    fn number_field(&self, value: &ClrValue, name: &str) -> Option<u32> {
        let bytes = self.field_named(value, name)?.bytes().ok()?;
        bytes.get(..4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(super) fn is_null(&self, value: &ClrValue) -> bool {
        bare(value).is_none()
    }

    pub(super) fn type_of(&self, value: &ClrValue) -> String {
        let inner = bare(value);
        let kind = inner.as_ref().unwrap_or(value).exact_type();
        kind.map_or_else(|_| "object".into(), |kind| self.spelled(&kind))
    }

    /// A value's text and type.
    pub(super) fn show(&self, value: &ClrValue) -> Shown {
        let kind = self.type_of(value);
        let plain = |text: String| Shown { text, kind: kind.clone(), items: 0, opens: false };
        let Some(inner) = bare(value) else { return plain("null".into()) };
        if let Some(string) = inner.as_string() {
            let length = string.length().unwrap_or(0);
            let text = string.text(LONGEST_TEXT).unwrap_or_default();
            let cut =
                if length > LONGEST_TEXT { format!(" … ({length} characters)") } else { String::new() };
            return plain(format!("{}{cut}", quoted(&text)));
        }
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let lengths: Vec<String> = lengths.iter().map(u32::to_string).collect();
            let items = array.count().unwrap_or(0);
            let element = kind.split('[').next().unwrap_or_default();
            let text = format!("{{{element}[{}]}}", lengths.join(", "));
            return Shown { text, kind, items, opens: items > 0 };
        }
        let element_type = inner.element_type().unwrap_or(0);
        if let Some(text) = inner.bytes().ok().and_then(|bytes| primitive(element_type, &bytes)) {
            return plain(text);
        }
        let name = inner.exact_type().ok().and_then(|kind| self.plain_name(&kind)).unwrap_or_default();
        match name.as_str() {
            "System.Decimal" => {
                if let Some(text) = inner.bytes().ok().and_then(|bytes| decimal(&bytes)) {
                    return plain(text);
                }
            }
            "System.DateTime" => {
                if let Some(text) = inner.bytes().ok().and_then(|bytes| date_time(&bytes)) {
                    return plain(text);
                }
            }
            "System.Nullable`1" => {
                let has = self.field_named(&inner, "hasValue").and_then(|has| has.bytes().ok());
                let full = has.is_some_and(|bytes| bytes.first().is_some_and(|byte| *byte != 0));
                let held = self.field_named(&inner, "value").filter(|_| full);
                return match held {
                    Some(held) => Shown { kind, ..self.show(&held) },
                    None => plain("null".into()),
                };
            }
            "System.Collections.Generic.List`1" => {
                if let Some(items) = self.number_field(&inner, "_size") {
                    return Shown { text: format!("Count = {items}"), kind, items, opens: true };
                }
            }
            "System.Collections.Generic.Dictionary`2" => {
                if let (Some(count), Some(free)) =
                    (self.number_field(&inner, "_count"), self.number_field(&inner, "_freeCount"))
                {
                    let items = count.saturating_sub(free);
                    return Shown { text: format!("Count = {items}"), kind, items, opens: true };
                }
            }
            _ => {}
        }
        if let Some(text) = self.enum_text(&inner) {
            return plain(text);
        }
        Shown { text: format!("{{{kind}}}"), kind, items: 0, opens: true }
    }

    /// `Green`, or `Read | Write` for flags, or the number.
    fn enum_text(&self, value: &ClrValue) -> Option<String> {
        let (loaded, token) = self.class_of(&value.exact_type().ok()?)?;
        let metadata = &loaded.image()?.metadata;
        (metadata.base_name(token)? == "System.Enum").then_some(())?;
        let mut wide = [0u8; 8];
        let bytes = value.bytes().ok()?;
        wide.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        let number = u64::from_le_bytes(wide);
        let names: Vec<(String, u64)> = metadata
            .fields(token)
            .into_iter()
            .filter(|field| field.is_literal)
            .filter_map(|field| metadata.constant(field.token).map(|value| (field.name, value)))
            .collect();
        if let Some((name, _)) = names.iter().find(|(_, value)| *value == number) {
            return Some(name.clone());
        }
        let parts: Vec<&(String, u64)> =
            names.iter().filter(|(_, bit)| *bit != 0 && number & bit == *bit).collect();
        let covered = parts.iter().fold(0, |all, (_, bit)| all | bit);
        if covered == number && number != 0 {
            return Some(parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" | "));
        }
        Some(number.to_string())
    }

    /// A row of the variables view.
    pub(super) fn row(&mut self, name: &str, path: &Path) -> Value {
        match self.fetch(path) {
            Ok(value) => {
                let shown = self.show(&value);
                let mut row = json!({ "name": name, "value": shown.text, "type": shown.kind,
                    "evaluateName": path.name });
                self.open(&mut row, &shown, path);
                row
            }
            Err(failure) => json!({ "name": name, "value": format!("<{failure}>"), "variablesReference": 0,
                "presentationHint": { "attributes": ["failedEvaluation"] } }),
        }
    }

    /// Adds what can be opened to a row or an evaluation's answer.
    pub(super) fn open(&mut self, row: &mut Value, shown: &Shown, path: &Path) {
        let reference = if shown.opens { self.references.add(Node::Inside(path.clone())) } else { 0 };
        row["variablesReference"] = json!(reference);
        if shown.items > 0 {
            row["indexedVariables"] = json!(shown.items);
        }
    }

    /// Arguments and locals of a frame, under the names of the source.
    pub(super) fn locals(&self, thread: u32, index: usize) -> Result<Vec<(String, Path)>, Failure> {
        let frame = self.frames(thread)?.into_iter().nth(index);
        let frame = frame.ok_or_else(|| Failure::invalid("the frame is gone"))?;
        let function = frame.function().map_err(cor("find the frame's function"))?;
        let (token, module) = (function.token().map_err(cor("find the frame's method"))?, function.module());
        let Some(loaded) = module.ok().and_then(|module| self.modules.of(&module)) else {
            return Ok(Vec::new());
        };
        let Some(image) = loaded.image() else { return Ok(Vec::new()) };
        let metadata = &image.metadata;
        let at = |root, name: &str| Path { root, steps: Vec::new(), name: name.to_owned() };
        let argument = |index| Root::Argument { thread, frame: index, index: 0 };
        let pdb = loaded.pdb.as_ref().ok();
        let mut found: Vec<(String, Path)> = Vec::new();
        let is_state_machine = pdb.is_some_and(|pdb| pdb.kickoff(token).is_some());
        let has_this = !metadata.is_static(token);
        if has_this && is_state_machine {
            self.hoisted(&at(argument(index), "this"), &mut found);
        } else if has_this {
            found.push(("this".into(), at(argument(index), "this")));
        }
        for (position, name) in metadata.parameters(token).iter().enumerate() {
            let position = position as u32 + u32::from(has_this);
            found.push((name.clone(), at(Root::Argument { thread, frame: index, index: position }, name)));
        }
        if let Some(pdb) = pdb {
            let il = frame.il_offset().unwrap_or(0);
            for local in pdb.locals(token, il) {
                let path = at(Root::Local { thread, frame: index, slot: local.slot }, &local.name);
                if local.name.starts_with("CS$<>8__locals") {
                    self.hoisted(&path, &mut found);
                } else {
                    found.push((local.name, path));
                }
            }
        }
        Ok(found)
    }

    /// Variables that live in a closure or state machine, as if they were locals.
    fn hoisted(&self, path: &Path, found: &mut Vec<(String, Path)>) {
        let Some(value) = self.fetch(path).ok().as_ref().and_then(bare) else { return };
        for field in self.members(&value) {
            let raw = &field.name;
            // `<name>5__2` is a local, `<>4__this` is `this`, other names with brackets are the compiler's own.
            let name = match raw.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                None => raw.as_str(),
                Some(("", "4__this")) => "this",
                Some(("", _)) => continue,
                Some((name, _)) => name,
            };
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), path.step(field.step, name.to_owned())));
            }
        }
    }

    pub(super) fn variables(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let node = arguments["variablesReference"].as_i64().and_then(|id| self.references.node(id));
        let Some(node) = node else {
            return Err(Failure::invalid(format!(
                "there is no reference {}",
                arguments["variablesReference"]
            )));
        };
        let number = |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (start, count) = (number("start").unwrap_or(0), number("count").filter(|count| *count > 0));
        let filter = arguments["filter"].as_str();
        let rows = match node {
            Node::Locals { thread, index } => {
                let locals = self.locals(thread, index)?;
                locals.iter().map(|(name, path)| self.row(name, path)).collect()
            }
            Node::Inside(path) => self.inside(&path, filter, start, count.unwrap_or(usize::MAX))?,
            Node::Raw(path) => self.fields_and_properties(&path)?,
            Node::Property { of, name } => vec![self.property_row(&of, &name, inputs)],
        };
        let whole = matches!(filter, Some("indexed"));
        let rows: Vec<Value> = if whole {
            rows
        } else {
            rows.into_iter().skip(if filter.is_none() { 0 } else { start }).collect()
        };
        Ok(json!({ "variables": rows }))
    }

    fn inside(
        &mut self,
        path: &Path,
        filter: Option<&str>,
        start: usize,
        count: usize,
    ) -> Result<Vec<Value>, Failure> {
        let value = self.fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let items = self.items(&inner, path, start, count);
        let is_array = inner.as_array().is_some();
        let Some(items) = items else { return self.fields_and_properties(path) };
        let mut rows: Vec<Value> = Vec::new();
        if filter != Some("named") {
            rows.extend(items.iter().map(|(name, path)| self.row(name, path)));
        }
        if filter != Some("indexed") && !is_array {
            let reference = self.references.add(Node::Raw(path.clone()));
            rows.push(json!({ "name": "Raw View", "value": "", "variablesReference": reference,
                "presentationHint": { "kind": "virtual" } }));
        }
        Ok(rows)
    }

    /// The items of an array, list or dictionary; `None` for anything else.
    fn items(
        &self,
        inner: &ClrValue,
        path: &Path,
        start: usize,
        count: usize,
    ) -> Option<Vec<(String, Path)>> {
        let page = |length: u32| {
            (start as u64..u64::from(length)).take(count).filter_map(|at| u32::try_from(at).ok())
        };
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let element = |at: u32| {
                let name = format!("[{}]", indexes(at, &lengths));
                let way = path.step(Step::Element(at), format!("{}{name}", path.name));
                (name, way)
            };
            return Some(page(array.count().ok()?).map(element).collect());
        }
        match self.plain_name(&inner.exact_type().ok()?)?.as_str() {
            "System.Collections.Generic.List`1" => {
                let length = self.number_field(inner, "_size")?;
                let array = path.step(self.member(inner, "_items")?, String::new());
                let item = |at| {
                    let name = format!("[{at}]");
                    let way = array.step(Step::Element(at), format!("{}{name}", path.name));
                    (name, way)
                };
                Some(page(length).map(item).collect())
            }
            "System.Collections.Generic.Dictionary`2" => {
                let used = self.number_field(inner, "_count")?;
                let entries = path.step(self.member(inner, "_entries")?, String::new());
                let array = bare(&self.fetch(&entries).ok()?);
                let array = array.as_ref().and_then(ClrValue::as_array);
                // An empty dictionary has no entries yet.
                let Some(array) = array else { return Some(Vec::new()) };
                let mut found = Vec::new();
                for at in 0..used {
                    let Ok(entry) = array.element(at) else { break };
                    // Freed entries chain with numbers below -1.
                    let next = self.number_field(&entry, "next").map_or(-2, |next| next as i32);
                    if next < -1 {
                        continue;
                    }
                    let key = self
                        .field_named(&entry, "key")
                        .map_or_else(|| "?".into(), |key| self.show(&key).text);
                    let way = entries.step(Step::Element(at), String::new());
                    let step = self.member(&entry, "value")?;
                    let name = format!("[{key}]");
                    let way = way.step(step, format!("{}{name}", path.name));
                    found.push((name, way));
                    if found.len() >= start.saturating_add(count) {
                        break;
                    }
                }
                Some(found.into_iter().skip(start).collect())
            }
            _ => None,
        }
    }

    /// Fields now, properties when they are asked for: a getter is code of the program.
    fn fields_and_properties(&mut self, path: &Path) -> Result<Vec<Value>, Failure> {
        let value = self.fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for member in self.members(&inner) {
            let way = path.step(member.step, format!("{}.{}", path.name, member.name));
            rows.push(self.row(&member.name, &way));
            names.push(member.name);
        }
        let mut kind = inner.exact_type().ok();
        for _ in 0..DEEPEST_BASE {
            let Some(current) = kind else { break };
            let declared = self
                .class_of(&current)
                .and_then(|(loaded, token)| loaded.image().map(|image| image.metadata.properties(token)));
            for property in declared.unwrap_or_default() {
                if property.is_static || property.is_indexer || names.contains(&property.name) {
                    continue;
                }
                let node = Node::Property { of: path.clone(), name: property.name.clone() };
                let reference = self.references.add(node);
                rows.push(json!({ "name": property.name, "value": "", "variablesReference": reference,
                    "evaluateName": format!("{}.{}", path.name, property.name),
                    "presentationHint": { "kind": "property", "lazy": true } }));
                names.push(property.name);
            }
            kind = current.base().ok();
        }
        Ok(rows)
    }
}

/// Behind references and out of its box; `None` for null.
pub(super) fn bare(value: &ClrValue) -> Option<ClrValue> {
    let mut value = value.clone();
    // A reference to a reference to a box is as deep as it gets.
    for _ in 0..4 {
        if let Some(reference) = value.as_reference() {
            if reference.is_null().ok()? {
                return None;
            }
            value = reference.dereference().ok()?;
        } else if let Some(unboxed) = value.unboxed() {
            value = unboxed.ok()?;
        } else {
            break;
        }
    }
    Some(value)
}

fn class_up(value: &ClrValue, up: usize) -> cordebug::Result<Class> {
    let mut kind = value.exact_type()?;
    for _ in 0..up {
        kind = kind.base()?;
    }
    kind.class()
}

/// The property an auto-property's field belongs to, else the field's own name.
fn source_name(field: &str) -> &str {
    field.strip_suffix(">k__BackingField").and_then(|name| name.strip_prefix('<')).unwrap_or(field)
}

/// `1, 2` of a row-major position.
fn indexes(position: u32, lengths: &[u32]) -> String {
    let mut rest = position;
    let mut parts: Vec<String> = Vec::new();
    for length in lengths.iter().rev() {
        parts.push((rest % (*length).max(1)).to_string());
        rest /= (*length).max(1);
    }
    parts.reverse();
    parts.join(", ")
}

/// As C# writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0' => quoted.push_str("\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A primitive's text from its bytes; `None` for what is no primitive.
fn primitive(kind: u32, bytes: &[u8]) -> Option<String> {
    let mut wide = [0u8; 8];
    let count = bytes.len().min(8);
    wide.get_mut(..count)?.copy_from_slice(bytes.get(..count)?);
    let bits = u64::from_le_bytes(wide);
    Some(match kind {
        element::BOOLEAN => (bits & 0xff != 0).to_string(),
        element::CHAR => {
            let letter = char::from_u32(bits as u16 as u32).unwrap_or('\u{fffd}');
            format!("{} '{}'", bits as u16, letter.escape_default())
        }
        element::I1 => (bits as i8).to_string(),
        element::U1 => (bits as u8).to_string(),
        element::I2 => (bits as i16).to_string(),
        element::U2 => (bits as u16).to_string(),
        element::I4 => (bits as i32).to_string(),
        element::U4 => (bits as u32).to_string(),
        element::I8 | element::I => (bits as i64).to_string(),
        element::U8 | element::U => bits.to_string(),
        element::R4 => f32::from_bits(bits as u32).to_string(),
        element::R8 => f64::from_bits(bits).to_string(),
        element::PTR | element::FNPTR => format!("0x{bits:016x}"),
        _ => return None,
    })
}

/// System.Decimal: flags (sign, scale), high, low 64 bits.
fn decimal(bytes: &[u8]) -> Option<String> {
    let part = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (flags, high, low, middle) = (part(0)?, part(4)?, part(8)?, part(12)?);
    let digits = u128::from(high) << 64 | u128::from(middle) << 32 | u128::from(low);
    let scale = (flags >> 16 & 0xff) as usize;
    let mut text = format!("{digits:0>width$}", width = scale + 1);
    if scale > 0 {
        text.insert(text.len() - scale, '.');
    }
    Some(if flags >> 31 != 0 { format!("-{text}") } else { text })
}

/// System.DateTime: 100 ns since year 1 in the low 62 bits.
fn date_time(bytes: &[u8]) -> Option<String> {
    let ticks = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?) & 0x3fff_ffff_ffff_ffff;
    let (days, rest) = (ticks / 864_000_000_000, ticks % 864_000_000_000);
    // Days since 0000-03-01, so that a leap day is the last day of its year (Howard Hinnant's civil calendar).
    let day = days + 306;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let seconds = rest / 10_000_000;
    let mut text = format!(
        "{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if rest % 10_000_000 != 0 {
        text.push_str(format!(".{:07}", rest % 10_000_000).trim_end_matches('0'));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_csharp_writes_them() {
        assert_eq!(primitive(element::I4, &[0xff; 4]).as_deref(), Some("-1"));
        assert_eq!(primitive(element::CHAR, &[0x78, 0]).as_deref(), Some("120 'x'"));
        assert_eq!(primitive(element::R8, &2.5f64.to_le_bytes()).as_deref(), Some("2.5"));
        let mut price = [0u8; 16];
        price[2] = 2;
        price[8..10].copy_from_slice(&1250u16.to_le_bytes());
        assert_eq!(decimal(&price).as_deref(), Some("12.50"));
        assert_eq!(
            date_time(&637_135_200_000_000_000u64.to_le_bytes()).as_deref(),
            Some("2020-01-02 00:00:00")
        );
        assert_eq!(quoted("a\"b\n"), "\"a\\\"b\\n\"");
        assert_eq!(indexes(5, &[2, 3]), "1, 2");
    }
}
