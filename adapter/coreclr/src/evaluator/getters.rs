//! Interprets the IL of getters that only read fields, so that reading them runs nothing: auto-properties,
//! `Count => size`, `Full => first.Name`.

use std::rc::Rc;

use clr_metadata::bytes::ByteReader;
use cordebug::value::element;

use tandem_csharp::operators::{BinaryOp, Overflow, compute};

use super::{Constant, TypedValue, ValueLocation};
use crate::bare_value::bare;
use crate::modules::LoadedModule;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{PathRoot, PathSegment};
use crate::values::composite_text::GENERATED;

/// Longest getter that is interpreted, bytes of IL.
const MAX_CODE_LEN: usize = 48;
/// Deepest chain of getters that call getters.
const MAX_DEPTH: usize = 4;

impl StopContext<'_> {
    /// The value of a getter, if it can be determined without running it.
    pub(super) fn interpret_getter(
        &self,
        on: &TypedValue,
        loaded: &Rc<LoadedModule>,
        owner: &Ty,
        getter: u32,
    ) -> Option<TypedValue> {
        self.interpret_getter_to(on, loaded, owner, getter, MAX_DEPTH)
    }

    fn interpret_getter_to(
        &self,
        on: &TypedValue,
        loaded: &Rc<LoadedModule>,
        owner: &Ty,
        getter: u32,
        deeper: usize,
    ) -> Option<TypedValue> {
        let deeper = deeper.checked_sub(1)?;
        let il = self.types.il_of(loaded, getter)?;
        let metadata = &loaded.image()?.metadata;
        let mut reader = ByteReader::new(&il);
        let (mut stack, mut local): (Vec<TypedValue>, Option<TypedValue>) = (Vec::new(), None);
        let result = loop {
            match reader.u8()? {
                0x00 => {}
                0x02 => stack.push(on.clone()),
                // ldloc.0 and stloc.0: debug builds keep the result in a local.
                0x06 => stack.push(local.clone()?),
                0x0a => local = stack.pop(),
                // br.s to the next instruction.
                0x2b => (reader.u8()? == 0).then_some(())?,
                0x14 => stack.push(TypedValue::null()),
                code @ 0x15..=0x1e => stack.push(TypedValue::int(i32::from(code) - 0x16)),
                0x1f => stack.push(TypedValue::int(i32::from(reader.u8()? as i8))),
                0x20 => stack.push(TypedValue::int(reader.u32()? as i32)),
                code @ (0x58..=0x5a) => {
                    let (right, left) = (self.load(&stack.pop()?).ok()??, self.load(&stack.pop()?).ok()??);
                    let operator = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply];
                    let operator = *operator.get(usize::from(code) - 0x58)?;
                    let value = compute(operator, &left, &right, (false, false), Overflow::Wraps).ok()?;
                    stack.push(TypedValue::plain(value));
                }
                0x7b => {
                    let target = stack.pop()?;
                    stack.push(self.read_field(&target, loaded, reader.u32()?)?);
                }
                0x28 | 0x6f => {
                    // Another getter of the same object or of an object in a field.
                    let (token, target) = (reader.u32()?, stack.pop()?);
                    let called = match token >> 24 {
                        0x06 => metadata.method_name(token),
                        // Of a generic class.
                        0x0a => metadata.member_ref_name(token),
                        _ => return None,
                    };
                    let name = called.strip_prefix("get_")?;
                    let actual = self.actual(&target).ok()?;
                    // A virtual getter may be overridden.
                    let of = self.types.chain(&actual).into_iter().find_map(|owner| {
                        let property = self.types.property_of(&owner, name, false)?;
                        Some((property.loaded.clone(), owner, property.info.getter?))
                    })?;
                    stack.push(self.interpret_getter_to(&target, &of.0, &of.1, of.2, deeper)?);
                }
                0x2a => break stack.pop()?,
                _ => return None,
            }
        };
        // The getter's type determines the value's type: an `int` field may be returned as an `enum`.
        let declared = self.types.method(loaded, owner, getter)?.result;
        if declared.is_open() || declared == Ty::Other {
            return Some(result);
        }
        match &result.data {
            ValueLocation::Constant(constant) => match declared {
                Ty::Primitive(kind) => {
                    let constant = match constant {
                        // IL represents `bool` as a number.
                        Constant::Int(_, number) if kind == element::BOOLEAN => Constant::Bool(*number != 0),
                        other => other.cast(kind, false).unwrap_or_else(|| other.clone()),
                    };
                    Some(TypedValue::constant_of(constant, declared))
                }
                declared => Some(TypedValue { ty: declared, ..result }),
            },
            ValueLocation::At(_) if declared.is_value() && result.ty != declared => None,
            ValueLocation::At(_) => Some(TypedValue { ty: declared, ..result }),
        }
    }

    /// A field by a FieldDef token, or by a MemberRef that names one of the object's own class.
    fn read_field(&self, target: &TypedValue, loaded: &Rc<LoadedModule>, token: u32) -> Option<TypedValue> {
        let path = target.path()?;
        let metadata = &loaded.image()?.metadata;
        let name = match token >> 24 {
            0x04 => metadata.field_name(token).to_owned(),
            0x0a => metadata.member_ref_name(token).to_owned(),
            _ => return None,
        };
        if let PathRoot::Memory { at, ty } = &path.root {
            let (module, class) = self.types.definition(ty)?;
            let metadata = &module.image()?.metadata;
            let mut fields = metadata.fields(class).into_iter();
            let field = fields.find(|field| !field.is_static && field.name == name)?;
            let declared = self.types.ty_of(&module, &metadata.field_type(field.token)?);
            let declared = declared.with(ty.arguments(), &[]);
            let name = format!("{}.{name}", path.name);
            return self.field_in_memory((at, ty), field.token, &declared, &name).ok();
        }
        let inner = bare(&self.fetch(path).ok()?)?;
        let mut kind = inner.exact_type().ok()?;
        for up in 0..64 {
            let (module, class) = self.types.class_of(&kind)?;
            let fields = module.image()?.metadata.fields(class);
            let hit = fields.into_iter().find(|field| {
                !field.is_static
                    && field.name == name
                    && (token >> 24 != 0x04 || (module.id == loaded.id && field.token == token))
            });
            if let Some(field) = hit {
                let step = PathSegment::Field { up, token: field.token };
                return self.val_at(path.step(step, format!("{}.{name}", path.name))).ok();
            }
            kind = kind.base().ok()?;
        }
        None
    }
}

impl ClrTypeSystem {
    /// Whether a getter only returns the field of an auto-property. A written one may compute with its field,
    /// which it calls `field`.
    pub(crate) fn returns_its_field(&self, loaded: &Rc<LoadedModule>, getter: u32) -> bool {
        if loaded.image().is_some_and(|image| image.metadata.has_attribute(getter, GENERATED)) {
            return true;
        }
        // Trimming tools remove attributes. `ldarg.0`, `ldfld` and `ret`; `ldsfld` and `ret`.
        self.il_of(loaded, getter).is_some_and(|il| {
            matches!(il.as_slice(), [0x02, 0x7b, _, _, _, _, 0x2a] | [0x7e, _, _, _, _, 0x2a])
        })
    }

    fn il_of(&self, loaded: &Rc<LoadedModule>, method: u32) -> Option<Vec<u8>> {
        let key = (loaded.id, method);
        if let Some(known) = self.getters.borrow().get(&key) {
            return known.clone();
        }
        let function = loaded.module.function(method).ok();
        let il = function
            .filter(|function| function.il_size().is_ok_and(|size| size as usize <= MAX_CODE_LEN))
            .and_then(|function| function.il_bytes().ok());
        self.getters.borrow_mut().insert(key, il.clone());
        il
    }
}
