//! What people type: names, member paths, indexers, calls, literals, and operators on primitives, in C#.
//!
//! Parsed with the C# grammar of tree-sitter, evaluated over [`Path`]s and constants.

use std::sync::mpsc::Receiver;

use cordebug::value::{Value as ClrValue, element};
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tree_sitter::Node as Syntax;

use super::calls::{Argument, Produced};
use super::cor;
use super::session::{Input, Run, Session};
use super::values::{Path, Root, bare, quoted};

/// Longest expression, bytes.
const LONGEST: usize = 16 * 1024;
/// Deepest nesting.
const DEEPEST: usize = 64;

/// A constant, or a primitive read from the program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Char(u16),
    Int(i64),
    Real(f64),
    Text(String),
}

enum Found {
    At(Path),
    Constant(Constant),
    /// A primitive or struct a call gave; shown at once.
    Value(ClrValue),
    Nothing,
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

struct Scope<'a> {
    thread: u32,
    frame: usize,
    text: &'a str,
    inputs: &'a Receiver<Input>,
}

impl Scope<'_> {
    fn of(&self, node: Syntax<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }
}

impl Session {
    pub(super) fn evaluate(&mut self, arguments: &Value, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        let text = arguments["expression"].as_str().unwrap_or_default();
        let (thread, frame) = match &arguments["frameId"] {
            Value::Null => (self.thread_of(&Value::Null)?, 0),
            id => id
                .as_i64()
                .and_then(|id| self.references.frame_of(id))
                .ok_or_else(|| Failure::invalid(format!("there is no frame {id}")))?,
        };
        let found = self.find(text, thread, frame, inputs)?;
        self.answer_with(found, text)
    }

    fn answer_with(&mut self, found: Found, text: &str) -> Result<Value, Failure> {
        let path = match found {
            Found::Constant(constant) => {
                let (result, kind) = constant.shown();
                return Ok(json!({ "result": result, "type": kind, "variablesReference": 0 }));
            }
            Found::Nothing => return Ok(json!({ "result": "", "type": "void", "variablesReference": 0 })),
            Found::Value(value) => {
                let shown = self.show(&value);
                return Ok(json!({ "result": shown.text, "type": shown.kind, "variablesReference": 0 }));
            }
            Found::At(path) => Path { name: text.trim().to_owned(), ..path },
        };
        let value = self.fetch(&path)?;
        let shown = self.show(&value);
        let mut answer = json!({ "result": shown.text, "type": shown.kind });
        self.open(&mut answer, &shown, &path);
        Ok(answer)
    }

    /// For log messages.
    pub(super) fn evaluate_to_text(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<String, Failure> {
        let found = self.find(text, thread, 0, inputs)?;
        if let Found::Constant(Constant::Text(text)) = found {
            return Ok(text);
        }
        let answer = self.answer_with(found, text)?;
        let result = answer["result"].as_str().unwrap_or_default();
        // A string in a message needs no quotes.
        Ok(if answer["type"] == "string" { result.trim_matches('"').to_owned() } else { result.to_owned() })
    }

    /// For conditions of breakpoints.
    pub(super) fn condition_holds(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<bool, Failure> {
        let found = self.find(text, thread, 0, inputs)?;
        match self.constant(found)? {
            Constant::Bool(holds) => Ok(holds),
            other => Err(failed(format!("it is {}, not true or false", other.shown().0))),
        }
    }

    pub(super) fn set_variable(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let Run::Stopped { thread } = self.run else { return Err(failed("the program runs")) };
        let text = |key: &str| {
            arguments[key]
                .as_str()
                .ok_or_else(|| Failure::invalid(format!("`{key}` is missing; it must be a string")))
        };
        let (name, new) = (text("name")?.to_owned(), text("value")?.to_owned());
        // The row that was shown under this name.
        let rows =
            self.variables(&json!({ "variablesReference": arguments["variablesReference"] }), inputs)?;
        let row = rows["variables"].as_array().into_iter().flatten().find(|row| row["name"] == name.as_str());
        let way = row.and_then(|row| row["evaluateName"].as_str()).map(str::to_owned);
        let way = way.ok_or_else(|| Failure::invalid(format!("there is no variable `{name}` to set")))?;
        let Found::At(target) = self.find(&way, thread, 0, inputs)? else {
            return Err(failed(format!("`{way}` has no place to write to")));
        };
        let found = self.find(&new, thread, 0, inputs)?;
        let source = match found {
            Found::At(path) => Ok(path),
            other => Err(self.constant(other)?),
        };
        let source = match source {
            Err(Constant::Text(text)) => Ok(self.string_at(thread, &text, inputs)?),
            other => other,
        };
        let place = self.fetch(&target)?;
        let write = cor(format!("set `{way}`"));
        match (place.as_reference(), source) {
            (Some(reference), Ok(path)) => {
                let from = self.fetch(&path)?;
                let from = from.as_reference().ok_or_else(|| failed(format!("`{new}` is no object")))?;
                from.target().and_then(|address| reference.set_target(address)).map_err(write)?;
            }
            (Some(reference), Err(Constant::Null)) => reference.set_target(0).map_err(write)?,
            (None, Ok(path)) => {
                let from = self.fetch(&path)?;
                let misfit = || {
                    failed(format!("`{new}` does not fit into `{way}`, which is {}", self.type_of(&place)))
                };
                if self.type_of(&from) != self.type_of(&place) {
                    return Err(misfit());
                }
                let bytes = bare(&from).ok_or_else(misfit)?.bytes();
                bytes.and_then(|bytes| place.set_bytes(&bytes)).map_err(write)?;
            }
            (None, Err(constant)) => {
                let kind = place.element_type().map_err(cor("find the variable's type"))?;
                let bytes = constant.bytes_for(kind).ok_or_else(|| {
                    failed(format!("`{new}` does not fit into `{way}`, which is {}", self.type_of(&place)))
                })?;
                place.set_bytes(&bytes).map_err(write)?;
            }
            (Some(_), Err(_)) => return Err(failed(format!("`{new}` does not fit into `{way}`"))),
        }
        let value = self.fetch(&target)?;
        let shown = self.show(&value);
        let mut answer = json!({ "value": shown.text, "type": shown.kind });
        self.open(&mut answer, &shown, &target);
        Ok(answer)
    }

    fn find(
        &mut self,
        text: &str,
        thread: u32,
        frame: usize,
        inputs: &Receiver<Input>,
    ) -> Result<Found, Failure> {
        if text.trim().is_empty() || text.len() > LONGEST {
            return Err(failed("the expression is empty or too long"));
        }
        // Only calls and assignments are statements of their own, so the expression is assigned to nothing.
        let source = format!("_ = ({});", text.trim());
        let mut parser = tree_sitter::Parser::new();
        parser
            .set_language(&tree_sitter_c_sharp::LANGUAGE.into())
            .map_err(|error| failed(format!("the C# grammar does not load: {error}")))?;
        let tree = parser.parse(&source, None).ok_or_else(|| failed("the expression cannot be parsed"))?;
        let mut node = tree.root_node();
        if node.has_error() {
            return Err(failed(format!("`{}` is no C# expression", text.trim())));
        }
        while matches!(node.kind(), "compilation_unit" | "global_statement" | "expression_statement") {
            node = node.named_child(0).ok_or_else(|| failed("the expression is empty"))?;
        }
        node = node.child_by_field_name("right").ok_or_else(|| failed("the expression is empty"))?;
        self.walk(node, &Scope { thread, frame, text: &source, inputs }, DEEPEST)
    }

    fn walk(&mut self, node: Syntax<'_>, scope: &Scope<'_>, deeper: usize) -> Result<Found, Failure> {
        if deeper == 0 {
            return Err(failed("the expression is nested too deeply"));
        }
        let child = |field: &str| {
            node.child_by_field_name(field)
                .ok_or_else(|| failed(format!("`{}` is incomplete", scope.of(node))))
        };
        let text = scope.of(node);
        match node.kind() {
            "identifier" | "this" | "this_expression" => self.name(text, scope),
            "parenthesized_expression" => {
                let inner = node.named_child(0).ok_or_else(|| failed("() is empty"))?;
                self.walk(inner, scope, deeper - 1)
            }
            "member_access_expression" => {
                let (of, name) = (child("expression")?, child("name")?);
                let found = self.walk(of, scope, deeper - 1)?;
                self.member_of(found, scope.of(name), scope)
            }
            "element_access_expression" => {
                let (of, list) = (child("expression")?, child("subscript")?);
                let found = self.walk(of, scope, deeper - 1)?;
                let indexes = self.arguments(list, scope, deeper - 1)?;
                self.element_of(found, indexes, scope)
            }
            "invocation_expression" => {
                let (function, list) = (child("function")?, child("arguments")?);
                if function.kind() != "member_access_expression" {
                    return Err(failed(
                        "only methods of objects can be called so far, like `list.Contains(3)`",
                    ));
                }
                let of = function
                    .child_by_field_name("expression")
                    .ok_or_else(|| failed("a call without an object"))?;
                let name = function.child_by_field_name("name").map(|name| scope.of(name).to_owned());
                let Found::At(path) = self.walk(of, scope, deeper - 1)? else {
                    return Err(failed("only methods of variables can be called so far"));
                };
                let arguments = self.arguments(list, scope, deeper - 1)?;
                let arguments = arguments.into_iter().map(argument).collect::<Result<Vec<_>, _>>()?;
                let made = self.call_method(
                    scope.thread,
                    &path,
                    &name.unwrap_or_default(),
                    &arguments,
                    scope.inputs,
                )?;
                Ok(Found::from(made))
            }
            "prefix_unary_expression" => {
                let operand = node.named_child(0).ok_or_else(|| failed("an operator without an operand"))?;
                let found = self.walk(operand, scope, deeper - 1)?;
                let constant = self.constant(found)?;
                let operator = text.chars().next().unwrap_or(' ');
                match (operator, constant) {
                    ('!', Constant::Bool(value)) => Ok(Found::Constant(Constant::Bool(!value))),
                    ('-', Constant::Int(value)) => value
                        .checked_neg()
                        .map(|value| Found::Constant(Constant::Int(value)))
                        .ok_or_else(|| failed(format!("`{text}` overflows"))),
                    ('-', Constant::Real(value)) => Ok(Found::Constant(Constant::Real(-value))),
                    ('+', value @ (Constant::Int(_) | Constant::Real(_))) => Ok(Found::Constant(value)),
                    _ => Err(failed(format!("`{operator}` does not go with `{}`", scope.of(operand)))),
                }
            }
            "binary_expression" => {
                let (left, right, operator) =
                    (child("left")?, child("right")?, scope.of(child("operator")?).to_owned());
                let left = self.walk(left, scope, deeper - 1)?;
                let left = self.constant(left)?;
                match (operator.as_str(), &left) {
                    ("&&", Constant::Bool(false)) | ("||", Constant::Bool(true)) => {
                        return Ok(Found::Constant(left));
                    }
                    _ => {}
                }
                let right = self.walk(right, scope, deeper - 1)?;
                let right = self.constant(right)?;
                let computed = compute(&operator, &left, &right);
                computed.map(Found::Constant).ok_or_else(|| {
                    failed(format!(
                        "`{operator}` cannot be computed for {} and {}",
                        left.shown().0,
                        right.shown().0
                    ))
                })
            }
            kind => literal(kind, text).map(Found::Constant).ok_or_else(|| {
                failed(format!("`{text}` is not supported yet"))
                    .hint("names, members, indexers, calls, literals and operators on primitives are")
            }),
        }
    }

    fn arguments(
        &mut self,
        list: Syntax<'_>,
        scope: &Scope<'_>,
        deeper: usize,
    ) -> Result<Vec<Found>, Failure> {
        let mut cursor = list.walk();
        let nodes: Vec<Syntax<'_>> = list.named_children(&mut cursor).collect();
        nodes
            .into_iter()
            .map(|node| {
                let inner =
                    if node.kind() == "argument" { node.named_child(0).unwrap_or(node) } else { node };
                self.walk(inner, scope, deeper)
            })
            .collect()
    }

    fn name(&mut self, name: &str, scope: &Scope<'_>) -> Result<Found, Failure> {
        if name == "$exception" {
            let path =
                Path { root: Root::Exception { thread: scope.thread }, steps: Vec::new(), name: name.into() };
            return Ok(Found::At(path));
        }
        let locals = self.locals(scope.thread, scope.frame)?;
        if let Some((_, path)) = locals.iter().find(|(known, _)| known == name) {
            return Ok(Found::At(path.clone()));
        }
        if let Some((_, this)) = locals.iter().find(|(known, _)| known == "this") {
            let found = self.member_of(Found::At(this.clone()), name, scope);
            if found.is_ok() {
                return found;
            }
        }
        if let Some(value) = self.static_field(name, scope)? {
            return Ok(Found::Value(value));
        }
        Err(failed(format!("there is no `{name}` here"))
            .hint("names of arguments, locals, members of `this` and static fields of this class are known"))
    }

    /// A static field of the class whose method the frame runs.
    fn static_field(&self, name: &str, scope: &Scope<'_>) -> Result<Option<ClrValue>, Failure> {
        let Some(frame) = self.frames(scope.thread)?.into_iter().nth(scope.frame) else { return Ok(None) };
        let found = || {
            let function = frame.function().ok()?;
            let loaded = self.modules.of(&function.module().ok()?)?;
            let metadata = &loaded.image()?.metadata;
            let mut owner = metadata.owner_of(function.token().ok()?);
            // A closure or state machine is nested in the class people mean.
            while metadata.simple_name(owner).starts_with('<') {
                owner = metadata.enclosing_type(owner)?;
            }
            let field =
                metadata.fields(owner).into_iter().find(|field| field.is_static && field.name == name)?;
            loaded.module.class(owner).ok()?.static_field(field.token, &frame).ok()
        };
        Ok(found())
    }

    fn member_of(&mut self, of: Found, name: &str, scope: &Scope<'_>) -> Result<Found, Failure> {
        let path = match of {
            Found::At(path) => path,
            Found::Constant(Constant::Text(text)) if name == "Length" => {
                let length = text.encode_utf16().count();
                return Ok(Found::Constant(Constant::Int(i64::try_from(length).unwrap_or(i64::MAX))));
            }
            _ => {
                return Err(failed(format!(
                    "`{name}` cannot be asked of a value that is not stored anywhere"
                )));
            }
        };
        let value = self.fetch(&path)?;
        let Some(inner) = bare(&value) else {
            return Err(failed(format!("`{}` is null, so `{name}` has no value", path.name)));
        };
        if let Some(array) = inner.as_array()
            && name == "Length"
        {
            return Ok(Found::Constant(Constant::Int(i64::from(array.count().map_err(cor("count"))?))));
        }
        if let Some(step) = self.member(&inner, name) {
            return Ok(Found::At(path.step(step, format!("{}.{name}", path.name))));
        }
        let made = self.call_method(scope.thread, &path, &format!("get_{name}"), &[], scope.inputs);
        made.map(Found::from).map_err(|failure| match failure.message.contains("has no member") {
            true => failed(format!("`{}`, which is {}, has no `{name}`", path.name, self.type_of(&value))),
            false => failure,
        })
    }

    fn element_of(&mut self, of: Found, indexes: Vec<Found>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let Found::At(path) = of else { return Err(failed("only stored values can be indexed")) };
        let value = self.fetch(&path)?;
        let array = bare(&value).as_ref().and_then(ClrValue::as_array);
        if let Some(array) = array {
            let lengths = array.dimensions().map_err(cor("read the array's lengths"))?;
            let mut position = 0u32;
            if indexes.len() != lengths.len() {
                return Err(failed(format!("`{}` has {} dimension(s)", path.name, lengths.len())));
            }
            let mut shown = Vec::new();
            for (index, length) in indexes.into_iter().zip(&lengths) {
                let Constant::Int(index) = self.constant(index)? else {
                    return Err(failed("an index must be a number"));
                };
                let within = u32::try_from(index).ok().filter(|index| index < length);
                let within = within.ok_or_else(|| {
                    failed(format!("the index {index} is outside of `{}`, which has {length}", path.name))
                })?;
                position = position * length + within;
                shown.push(within.to_string());
            }
            let name = format!("{}[{}]", path.name, shown.join(", "));
            return Ok(Found::At(path.step(super::values::Step::Element(position), name)));
        }
        let arguments = indexes.into_iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        let getter = if self.type_of(&value) == "string" { "get_Chars" } else { "get_Item" };
        self.call_method(scope.thread, &path, getter, &arguments, scope.inputs).map(Found::from)
    }

    /// The primitive behind what was found, to compute with it.
    fn constant(&self, found: Found) -> Result<Constant, Failure> {
        let value = match found {
            Found::Constant(constant) => return Ok(constant),
            Found::Nothing => return Err(failed("a call without a result has no value")),
            Found::Value(value) => value,
            Found::At(path) => self.fetch(&path)?,
        };
        let Some(inner) = bare(&value) else { return Ok(Constant::Null) };
        if let Some(string) = inner.as_string() {
            return Ok(Constant::Text(string.text(u32::MAX >> 8).map_err(cor("read a string"))?));
        }
        let kind = inner.element_type().map_err(cor("find a value's type"))?;
        let bytes = inner.bytes().unwrap_or_default();
        let shown = self.show(&inner);
        let number = || shown.text.parse::<i64>().ok().map(Constant::Int);
        let constant = match kind {
            element::BOOLEAN => Some(Constant::Bool(bytes.first().is_some_and(|byte| *byte != 0))),
            element::CHAR => bytes.get(..2).map(|two| Constant::Char(u16::from_le_bytes([two[0], two[1]]))),
            element::R4 | element::R8 => shown.text.parse().ok().map(Constant::Real),
            element::I1..=element::U8 | element::I | element::U => number(),
            // Enums and nullables show what they hold.
            _ if shown.text == "null" => Some(Constant::Null),
            _ if shown.text == "true" || shown.text == "false" => Some(Constant::Bool(shown.text == "true")),
            _ => number().or_else(|| shown.text.parse().ok().map(Constant::Real)),
        };
        constant.ok_or_else(|| failed(format!("{} is no primitive to compute with", shown.kind)))
    }
}

impl From<Produced> for Found {
    fn from(produced: Produced) -> Self {
        match produced {
            Produced::Nothing => Self::Nothing,
            Produced::At(path) => Self::At(path),
            Produced::Value(value) => Self::Value(value),
        }
    }
}

fn argument(found: Found) -> Result<Argument, Failure> {
    Ok(match found {
        Found::At(path) => Argument::At(path),
        Found::Constant(Constant::Null) => Argument::Null,
        Found::Constant(Constant::Text(text)) => Argument::Text(text),
        Found::Constant(Constant::Bool(value)) => Argument::Bits(element::BOOLEAN, vec![u8::from(value)]),
        Found::Constant(Constant::Char(value)) => Argument::Bits(element::CHAR, value.to_le_bytes().to_vec()),
        Found::Constant(Constant::Real(value)) => Argument::Bits(element::R8, value.to_le_bytes().to_vec()),
        Found::Constant(Constant::Int(value)) => match i32::try_from(value) {
            Ok(value) => Argument::Bits(element::I4, value.to_le_bytes().to_vec()),
            Err(_) => Argument::Bits(element::I8, value.to_le_bytes().to_vec()),
        },
        Found::Value(_) | Found::Nothing => {
            return Err(failed("the result of a call cannot be an argument yet"));
        }
    })
}

impl Constant {
    /// Text and type.
    fn shown(&self) -> (String, &'static str) {
        match self {
            Self::Null => ("null".into(), "object"),
            Self::Bool(value) => (value.to_string(), "bool"),
            Self::Char(value) => {
                let letter = char::from_u32(u32::from(*value)).unwrap_or('\u{fffd}');
                (format!("{value} '{}'", letter.escape_default()), "char")
            }
            Self::Int(value) => {
                (value.to_string(), if i32::try_from(*value).is_ok() { "int" } else { "long" })
            }
            Self::Real(value) => (value.to_string(), "double"),
            Self::Text(text) => (quoted(text), "string"),
        }
    }

    /// Its bytes as a primitive of this type, if it fits.
    fn bytes_for(&self, kind: u32) -> Option<Vec<u8>> {
        let int = match self {
            Self::Int(value) => Some(*value),
            Self::Char(value) => Some(i64::from(*value)),
            _ => None,
        };
        match (self, kind) {
            (Self::Bool(value), element::BOOLEAN) => Some(vec![u8::from(*value)]),
            (Self::Real(value), element::R8) => Some(value.to_le_bytes().to_vec()),
            (Self::Real(value), element::R4) => Some((*value as f32).to_le_bytes().to_vec()),
            (_, element::R8) => Some((int? as f64).to_le_bytes().to_vec()),
            (_, element::R4) => Some((int? as f32).to_le_bytes().to_vec()),
            (Self::Char(value), element::CHAR) => Some(value.to_le_bytes().to_vec()),
            (_, element::I1) => i8::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U1) => u8::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I2) => i16::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U2) => u16::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I4) => i32::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::U4) => u32::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec()),
            (_, element::I8 | element::I) => Some(int?.to_le_bytes().to_vec()),
            (_, element::U8 | element::U) => {
                u64::try_from(int?).ok().map(|value| value.to_le_bytes().to_vec())
            }
            _ => None,
        }
    }
}

fn literal(kind: &str, text: &str) -> Option<Constant> {
    match kind {
        "null_literal" => Some(Constant::Null),
        "boolean_literal" => Some(Constant::Bool(text == "true")),
        "integer_literal" => {
            let digits = text.replace('_', "").to_lowercase();
            let digits = digits.trim_end_matches(['u', 'l']);
            let value = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
                (Some(hex), _) => i64::from_str_radix(hex, 16),
                (_, Some(bits)) => i64::from_str_radix(bits, 2),
                _ => digits.parse(),
            };
            value.ok().map(Constant::Int)
        }
        "real_literal" => {
            let digits = text.replace('_', "").to_lowercase();
            digits.trim_end_matches(['f', 'd', 'm']).parse().ok().map(Constant::Real)
        }
        "string_literal" => Some(Constant::Text(unescape(text.strip_prefix('"')?.strip_suffix('"')?)?)),
        "verbatim_string_literal" => {
            Some(Constant::Text(text.strip_prefix("@\"")?.strip_suffix('"')?.replace("\"\"", "\"")))
        }
        "character_literal" => {
            let letters = unescape(text.strip_prefix('\'')?.strip_suffix('\'')?)?;
            let mut units = letters.encode_utf16();
            let unit = units.next()?;
            units.next().is_none().then_some(Constant::Char(unit))
        }
        _ => None,
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        plain.push(match letters.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'u' => {
                let hex: String = letters.by_ref().take(4).collect();
                char::from_u32(u32::from_str_radix(&hex, 16).ok()?)?
            }
            same @ ('\\' | '"' | '\'') => same,
            _ => return None,
        });
    }
    Some(plain)
}

/// An operator on two primitives; `None` where C# has none, or it overflows or divides by zero.
fn compute(operator: &str, left: &Constant, right: &Constant) -> Option<Constant> {
    use Constant::{Bool, Char, Int, Null, Real, Text};
    let wide = |constant: &Constant| match constant {
        Char(value) => Int(i64::from(*value)),
        other => other.clone(),
    };
    match (operator, left, right) {
        ("&&", Bool(left), Bool(right)) => return Some(Bool(*left && *right)),
        ("||", Bool(left), Bool(right)) => return Some(Bool(*left || *right)),
        ("+", Text(left), right) => return Some(Text(format!("{left}{}", right.plain()))),
        ("+", left, Text(right)) => return Some(Text(format!("{}{right}", left.plain()))),
        ("==", Null, other) | ("==", other, Null) => return Some(Bool(*other == Null)),
        ("!=", Null, other) | ("!=", other, Null) => return Some(Bool(*other != Null)),
        ("==", Bool(left), Bool(right)) => return Some(Bool(left == right)),
        ("!=", Bool(left), Bool(right)) => return Some(Bool(left != right)),
        ("==", Text(left), Text(right)) => return Some(Bool(left == right)),
        ("!=", Text(left), Text(right)) => return Some(Bool(left != right)),
        _ => {}
    }
    match (wide(left), wide(right)) {
        (Int(left), Int(right)) => Some(match operator {
            "+" => Int(left.checked_add(right)?),
            "-" => Int(left.checked_sub(right)?),
            "*" => Int(left.checked_mul(right)?),
            "/" => Int(left.checked_div(right)?),
            "%" => Int(left.checked_rem(right)?),
            "&" => Int(left & right),
            "|" => Int(left | right),
            "^" => Int(left ^ right),
            "==" => Bool(left == right),
            "!=" => Bool(left != right),
            "<" => Bool(left < right),
            "<=" => Bool(left <= right),
            ">" => Bool(left > right),
            ">=" => Bool(left >= right),
            _ => return None,
        }),
        (left, right) => {
            let real = |constant: &Constant| match constant {
                Int(value) => Some(*value as f64),
                Real(value) => Some(*value),
                _ => None,
            };
            let (left, right) = (real(&left)?, real(&right)?);
            Some(match operator {
                "+" => Real(left + right),
                "-" => Real(left - right),
                "*" => Real(left * right),
                "/" => Real(left / right),
                "%" => Real(left % right),
                "==" => Bool(left == right),
                "!=" => Bool(left != right),
                "<" => Bool(left < right),
                "<=" => Bool(left <= right),
                ">" => Bool(left > right),
                ">=" => Bool(left >= right),
                _ => return None,
            })
        }
    }
}

impl Constant {
    /// As it reads inside a longer text.
    fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::Char(value) => char::from_u32(u32::from(*value)).map(String::from).unwrap_or_default(),
            other => other.shown().0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_operators_are_csharps() {
        assert_eq!(literal("integer_literal", "0xFF"), Some(Constant::Int(255)));
        assert_eq!(literal("integer_literal", "1_000L"), Some(Constant::Int(1000)));
        assert_eq!(literal("string_literal", "\"a\\n\\u0041\""), Some(Constant::Text("a\nA".into())));
        assert_eq!(literal("character_literal", "'x'"), Some(Constant::Char(120)));
        let int = Constant::Int;
        assert_eq!(compute("%", &int(7), &int(3)), Some(int(1)));
        assert_eq!(compute("/", &int(7), &int(0)), None);
        assert_eq!(compute("+", &int(i64::MAX), &int(1)), None);
        assert_eq!(compute("<", &int(1), &Constant::Real(1.5)), Some(Constant::Bool(true)));
        assert_eq!(compute("==", &Constant::Char(120), &int(120)), Some(Constant::Bool(true)));
        assert_eq!(compute("+", &Constant::Text("a".into()), &int(1)), Some(Constant::Text("a1".into())));
    }
}
