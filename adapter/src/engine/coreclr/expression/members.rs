//! Names, members, indexers, and the primitives behind them.

use cordebug::value::{Value as ClrValue, element};
use dap_wire::Failure;

use super::calling::argument;
use super::constant::Constant;
use super::parse::Scope;
use super::{Found, failed};
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::values::{Path, Root, Step, bare};

impl Session {
    pub(crate) fn name(&mut self, name: &str, scope: &Scope<'_>) -> Result<Found, Failure> {
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
    pub(crate) fn static_field(&self, name: &str, scope: &Scope<'_>) -> Result<Option<ClrValue>, Failure> {
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

    pub(crate) fn member_of(&mut self, of: Found, name: &str, scope: &Scope<'_>) -> Result<Found, Failure> {
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

    pub(crate) fn element_of(
        &mut self,
        of: Found,
        indexes: Vec<Found>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
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
            return Ok(Found::At(path.step(Step::Element(position), name)));
        }
        let arguments = indexes.into_iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        let getter = if self.type_of(&value) == "string" { "get_Chars" } else { "get_Item" };
        self.call_method(scope.thread, &path, getter, &arguments, scope.inputs).map(Found::from)
    }

    /// The primitive behind what was found, to compute with it.
    pub(crate) fn constant(&self, found: Found) -> Result<Constant, Failure> {
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
