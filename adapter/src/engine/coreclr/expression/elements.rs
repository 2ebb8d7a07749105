//! Indexers: of arrays, strings and everything with `this[…]`; ranges and indexes from the end.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::inner;
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::INT;
use crate::engine::coreclr::values::{Step, bare};

impl Session {
    pub(super) fn element_of(
        &mut self,
        of: Found,
        list: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let Found::Val(of) = of else { return Err(failed("only values can be indexed")) };
        if scope.site.supposes
            && let Some(sample) = self.sample_of_element(&of, list, scope)
        {
            return Ok(Found::Val(sample));
        }
        let name = of.path().map_or("it".into(), |path| format!("`{}`", path.name));
        if self.is_null_val(&of)? {
            return Err(failed(format!("NullReferenceException: {name} is null, so it has no elements")));
        }
        let mut indexes = Vec::new();
        for node in inner(list) {
            let node = if node.kind() == "argument" { inner(node).pop().unwrap_or(node) } else { node };
            if node.kind() == "range_expression" {
                return self.range_of(&of, node, scope).map(Found::Val);
            }
            let from_end = node.kind() == "prefix_unary_expression" && scope.of(node).starts_with('^');
            let val = match from_end {
                true => {
                    let by = node.child(1).ok_or_else(|| failed("`^` stands alone"))?;
                    let by = self.value(by, scope)?;
                    let length = self.length_of(&of, scope)?;
                    self.operate("-", Val::plain(Constant::Int(element::I4, length)), by, scope)?
                }
                false => self.value(node, scope)?,
            };
            indexes.push(val);
        }
        self.indexed(&of, indexes, scope).map(|item| Found::Val(self.named_as_in(item, &of)))
    }

    /// What an element would be of, whether it is there or not.
    fn sample_of_element(&mut self, of: &Val, list: Syntax<'_>, scope: &Scope<'_>) -> Option<Val> {
        let is_range = |node: &Syntax<'_>| {
            node.kind() == "range_expression"
                || inner(*node).iter().any(|part| part.kind() == "range_expression")
        };
        if inner(list).iter().any(is_range) {
            return None;
        }
        match of.ty.direct() {
            Ty::Vector(element) | Ty::Array(element, _) => return Some(self.sample(element)),
            Ty::Primitive(element::STRING) => return Some(self.sample(&Ty::Primitive(element::CHAR))),
            _ => {}
        }
        let mut indexes = Vec::new();
        for node in inner(list) {
            let node = if node.kind() == "argument" { inner(node).pop().unwrap_or(node) } else { node };
            indexes.push(self.value(node, scope).ok()?);
        }
        let (getter, _) = self.indexer(of, &indexes, false).ok()?;
        Some(self.sample(&getter.result))
    }

    pub(super) fn length_of(&mut self, of: &Val, scope: &Scope<'_>) -> Result<i128, Failure> {
        for name in ["Length", "Count"] {
            if let Some(Found::Val(length)) = self.member_if_any(&Found::Val(of.clone()), name, &[], scope)?
                && let Some(Constant::Int(_, length)) = self.load(&length)?
            {
                return Ok(length);
            }
        }
        Err(failed(format!("a `{}` has no length to count from", self.csharp(&of.ty))))
    }

    /// The element at these indexes.
    pub(super) fn indexed(&mut self, of: &Val, indexes: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let indexes = match self.actual(of)? {
            // Only these take numbers alone; an indexer takes what it was declared with.
            Ty::Vector(_) | Ty::Array(..) | Ty::Primitive(element::STRING) | Ty::Pointer(_) => {
                let numbers = indexes.into_iter().map(|index| self.as_built_in(index, scope));
                numbers.collect::<Result<_, _>>()?
            }
            _ => indexes,
        };
        let number = |session: &Self, val: &Val| -> Result<i128, Failure> {
            match session.load(val)? {
                Some(Constant::Int(_, value)) => Ok(value),
                _ => Err(failed(format!("an index must be a number, not a `{}`", session.csharp(&val.ty)))),
            }
        };
        if let (Data::Constant(Constant::Text(text)), [index]) = (&of.data, indexes.as_slice()) {
            let index = number(self, index)?;
            let unit = usize::try_from(index).ok().and_then(|index| text.encode_utf16().nth(index));
            let unit = unit.ok_or_else(|| {
                failed(format!("IndexOutOfRangeException: the string has no character {index}"))
            })?;
            return Ok(Val::plain(Constant::Int(element::CHAR, i128::from(unit))));
        }
        if let (Ty::Pointer(to), Some(path), [index]) = (&of.ty, of.path(), indexes.as_slice()) {
            let index = number(self, index)?;
            (index == 0).then_some(()).ok_or_else(|| failed("pointers can be indexed with 0 only"))?;
            return Ok(Val::at(path.step(Step::Behind, format!("{}[0]", path.name)), (**to).clone()));
        }
        if let Some(path) = of.path() {
            let inner = bare(&self.fetch(path)?);
            if let (Some(value), [index]) = (&inner, indexes.as_slice())
                && let Some(elements) = self.contiguous(value, &self.declared_ty(value))
            {
                let index = number(self, index)?;
                let count = elements.count;
                let at = u32::try_from(index).ok().filter(|at| *at < count);
                let outside =
                    || failed(format!("`{}` has {count} elements, none of them {index}", path.name));
                let unread = || failed(format!("`{}[{index}]` is a struct that cannot be read", path.name));
                return self.contiguous_at(&elements, path, at.ok_or_else(outside)?).ok_or_else(unread);
            }
            if let Some(string) = inner.as_ref().and_then(cordebug::value::Value::as_string)
                && let [index] = indexes.as_slice()
            {
                let index = number(self, index)?;
                let at = u32::try_from(index).ok();
                let unit = at.map(|at| string.unit(at)).transpose().map_err(cor("read a character"))?;
                let unit = unit.flatten().ok_or_else(|| {
                    failed(format!("IndexOutOfRangeException: the string has no character {index}"))
                })?;
                return Ok(Val::plain(Constant::Int(element::CHAR, i128::from(unit))));
            }
            if let Some(array) = inner.as_ref().and_then(cordebug::value::Value::as_array) {
                let lengths = array.dimensions().unwrap_or_default();
                let lowest = array.lowest().unwrap_or_default();
                if indexes.len() != lengths.len() {
                    return Err(failed(format!("`{}` has {} dimension(s)", path.name, lengths.len())));
                }
                let (mut position, mut shown) = (0u32, Vec::new());
                for (at, (index, length)) in indexes.iter().zip(&lengths).enumerate() {
                    let index = number(self, index)?;
                    let from = i128::from(lowest.get(at).copied().unwrap_or(0) as i32);
                    let within = u32::try_from(index - from).ok().filter(|index| index < length);
                    let within = within.ok_or_else(|| {
                        failed(format!(
                            "IndexOutOfRangeException: the index {index} is outside of `{}`, which has {length}",
                            path.name
                        ))
                    })?;
                    position = position.saturating_mul(*length).saturating_add(within);
                    shown.push(index.to_string());
                }
                let way = path.step(Step::Element(position), format!("{}[{}]", path.name, shown.join(", ")));
                return match of.ty.direct() {
                    Ty::Vector(of) | Ty::Array(of, _) => Ok(Val::at(way, (**of).clone())),
                    _ => self.val_at(way),
                };
            }
            if let [index] = indexes.as_slice()
                && let Some(item) = self.list_item(of, index)?
            {
                return Ok(item);
            }
        }
        let (getter, slots) = self.indexer(of, &indexes, false)?;
        let arguments = self.passed(&getter, &slots, &indexes, scope)?;
        let shown = format!("{}[…]", of.path().map_or_else(|| self.csharp(&of.ty), |path| path.name.clone()));
        self.call(&scope.site, &getter, Some(of), &arguments, &shown)
    }

    /// An item of a `List<T>`, read where it is: nothing runs, and it can be written to.
    fn list_item(&mut self, of: &Val, index: &Val) -> Result<Option<Val>, Failure> {
        if self.fit(index, &INT).is_none() {
            return Ok(None);
        }
        let (Some(path), Some(Constant::Int(_, index))) = (of.path(), self.load(index)?) else {
            return Ok(None);
        };
        let actual = self.actual(of)?;
        if self.full_name(&actual) != "System.Collections.Generic.List`1" {
            return Ok(None);
        }
        let Some(inner) = bare(&self.fetch(path)?) else { return Ok(None) };
        let size = self.number_field(&inner, "_size").unwrap_or(0);
        let Some(at) = u32::try_from(index).ok().filter(|at| *at < size) else {
            return Err(failed(format!(
                "ArgumentOutOfRangeException: the index {index} is outside of `{}`, which has {size}",
                path.name
            )));
        };
        let Some(items) = self.member(&inner, "_items") else { return Ok(None) };
        let way = path.step(items, String::new()).step(Step::Element(at), format!("{}[{index}]", path.name));
        match actual.arguments().first() {
            Some(of) => Ok(Some(Val::at(way, of.clone()))),
            None => self.val_at(way).map(Some),
        }
    }

    /// The indexer for these arguments; for writing they end with the new value.
    pub(super) fn indexer(
        &self,
        of: &Val,
        arguments: &[Val],
        writes: bool,
    ) -> Result<(Method, Vec<super::overloads::Slot>), Failure> {
        for start in self.searched(of) {
            for owner in self.lineage(&start) {
                let Some((loaded, token)) = self.definition(&owner) else { continue };
                let Some(image) = loaded.image() else { continue };
                let infos = image.metadata.property_infos(token);
                // What a class implements for an interface alone is not found by way of the class.
                let own = infos.iter().filter(|info| !info.name.contains('.'));
                let accessors = own.filter_map(|info| if writes { info.setter } else { info.getter });
                let fixed = usize::from(writes);
                let methods = accessors
                    .filter(|method| image.metadata.parameter_count(*method) as usize > fixed)
                    .filter_map(|method| self.method(&loaded, &owner, method))
                    .filter(|method| !method.is_static)
                    .collect();
                if let Some(found) = self.choose(methods, &[], arguments, &[]) {
                    return Ok(found);
                }
            }
        }
        Err(failed(format!("a `{}` cannot be indexed like this", self.csharp(&of.ty))))
    }

    /// `text[1..^2]`, `array[..3]`.
    fn range_of(&mut self, of: &Val, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let length = self.length_of(of, scope)?;
        let text = scope.of(node).to_owned();
        let dots = text.find("..").unwrap_or(0);
        let (mut start, mut end) = (0, length);
        for part in inner(node) {
            let from_end = part.kind() == "prefix_unary_expression" && scope.of(part).starts_with('^');
            let value = match (from_end, part.child(1)) {
                (true, Some(by)) => self.value(by, scope)?,
                _ => self.value(part, scope)?,
            };
            let Some(Constant::Int(_, value)) = self.load(&value)? else {
                return Err(failed("a range needs numbers"));
            };
            let value = if from_end { length - value } else { value };
            if part.start_byte() < node.start_byte() + dots { start = value } else { end = value }
        }
        if start < 0 || end > length || start > end {
            return Err(failed(format!(
                "ArgumentOutOfRangeException: `{text}` is outside of the {length} there are"
            )));
        }
        self.sliced(of, start, end, scope)
    }

    /// What is from one position up to another.
    pub(super) fn sliced(
        &mut self,
        of: &Val,
        start: i128,
        end: i128,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let number = |value: i128| Val::plain(Constant::Int(element::I4, value));
        let call = match self.actual(of)? {
            Ty::Primitive(element::STRING) => Some("Substring"),
            Ty::Vector(_) => None,
            _ => Some("Slice"),
        };
        let found = match call {
            Some(name) => {
                let group = self.member_of(Found::Val(of.clone()), name, Vec::new(), scope)?;
                self.invoke_with(group, vec![number(start), number(end - start)], scope)?
            }
            None => {
                let skip = self.member_of(Found::Val(of.clone()), "Skip", Vec::new(), scope)?;
                let skipped = self.invoke_with(skip, vec![number(start)], scope)?;
                let take = self.member_of(skipped, "Take", Vec::new(), scope)?;
                let taken = self.invoke_with(take, vec![number(end - start)], scope)?;
                let array = self.member_of(taken, "ToArray", Vec::new(), scope)?;
                self.invoke_with(array, Vec::new(), scope)?
            }
        };
        match found {
            Found::Val(val) => Ok(val),
            _ => Err(failed("a slice gives nothing")),
        }
    }
}
