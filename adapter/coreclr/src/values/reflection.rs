//! Texts of reflection objects for types and members: `typeof(Foo)`, `Foo.Bar(int)`. Creates no such object
//! (`evaluator/type_objects.rs`).

use clr_metadata::metadata::method_token;
use cordebug::value::Value as ClrValue;

use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::lightweight_methods;
use crate::types::ClrTypeSystem;
use crate::types::Ty;

/// How many bits of its token a method description stores itself: .NET 8 and later, 6 and 7, before.
const LOW_BITS: [u32; 3] = [12, 13, 14];
/// Descriptions of a class's methods lie in blocks: their alignment and the size of a block's header, bytes.
const METHOD_ALIGNMENT: u64 = 8;
const BLOCK_HEADER_SIZE: u64 = 24;
/// Set in the handle of a type that is not a class or array.
const TYPE_DESC_FLAG: u64 = 2;

impl ClrTypeSystem {
    /// The text of a `System.Type`, `MethodInfo`, `FieldInfo` or the like, by the class in its
    /// chain that the name is of.
    pub(super) fn member_text(&self, debuggee: &ClrDebuggee, value: &ClrValue, name: &str) -> Option<String> {
        match name {
            "System.RuntimeType" => {
                Some(format!("typeof({})", self.csharp(&self.type_behind(debuggee, value)?)))
            }
            "System.Reflection.RuntimeMethodInfo" | "System.Reflection.RuntimeConstructorInfo" => {
                self.method_behind(debuggee, value, &self.declaring(debuggee, value)?)
            }
            "System.Reflection.RuntimePropertyInfo" => {
                let owner = self.declaring(debuggee, value)?;
                let token = self.number_field(value, "m_token")?;
                let (loaded, class) = self.definition(&owner)?;
                let properties = loaded.image()?.metadata.property_infos(class);
                let name = properties.into_iter().find(|info| info.token == token)?.name;
                Some(format!("{{{}.{name}}}", self.csharp(&owner)))
            }
            "System.Reflection.RtFieldInfo" => {
                let owner = self.declaring(debuggee, value)?;
                let name = self.field_behind(debuggee, value, &owner)?;
                Some(format!("{{{}.{name}}}", self.csharp(&owner)))
            }
            lightweight_methods::METHOD | lightweight_methods::GIVEN_OUT => {
                Some(format!("{{{}}}", self.lightweight_method(debuggee, value)?))
            }
            _ => None,
        }
    }

    /// The type of a `System.RuntimeType`.
    pub(crate) fn type_behind(&self, debuggee: &ClrDebuggee, value: &ClrValue) -> Option<Ty> {
        // A user class with the same name may have anything in such a field.
        self.definition(&self.declared_ty(value)).filter(|(loaded, _)| loaded.is_core())?;
        let handle = self.word_field(value, "m_handle")?;
        // A type that is not a class or array, such as a generic parameter, has this mark; the debugging
        // library would treat it as a class and crash.
        (handle & TYPE_DESC_FLAG == 0).then_some(())?;
        let kind = debuggee.process().ok()?.type_at(handle).ok()?;
        Some(self.ty_of_runtime(&kind)).filter(|ty| *ty != Ty::Other)
    }

    fn declaring(&self, debuggee: &ClrDebuggee, value: &ClrValue) -> Option<Ty> {
        self.type_behind(debuggee, &bare(&self.field_named(value, "m_declaringType")?)?)
    }

    /// Reflection fills in a method's name on the first request. The runtime's description of the
    /// method identifies it: the low bits of its token are in the description, the others in its block.
    /// The number of low bits depends on the runtime; a token that does not match exactly one of the
    /// class's methods is rejected.
    fn method_behind(&self, debuggee: &ClrDebuggee, value: &ClrValue, owner: &Ty) -> Option<String> {
        let handle = self.word_field(value, "m_handle")?;
        let process = debuggee.process().ok()?;
        let described = process.read_memory(handle, 4).ok()?;
        let low = u16::from_le_bytes(described.get(..2)?.try_into().ok()?);
        let before = u64::from(*described.get(2)?) * METHOD_ALIGNMENT;
        let block = process
            .read_memory(handle.checked_sub(before + BLOCK_HEADER_SIZE)? + BLOCK_HEADER_SIZE - 2, 2)
            .ok()?;
        let high = u16::from_le_bytes(block.get(..2)?.try_into().ok()?);
        let (loaded, class) = self.definition(owner)?;
        let metadata = &loaded.image()?.metadata;
        let mut tokens: Vec<u32> = LOW_BITS
            .map(|bits| {
                let low = u32::from(low) & ((1 << bits) - 1);
                method_token((u32::from(high) & ((1 << (24 - bits)) - 1)) << bits | low)
            })
            .into_iter()
            .filter(|token| metadata.methods(class).any(|method| method == *token))
            .collect();
        tokens.dedup();
        match tokens.as_slice() {
            [token] => Some(format!("{{{}}}", loaded.method_display(*token))),
            _ => None,
        }
    }

    /// The same for a field: its description in the runtime begins with its class, then come the
    /// 24 bits of its token.
    fn field_behind(&self, debuggee: &ClrDebuggee, value: &ClrValue, owner: &Ty) -> Option<String> {
        let handle = self.word_field(value, "m_fieldHandle")?;
        let described = debuggee.process().ok()?.read_memory(handle.checked_add(8)?, 4).ok()?;
        let row = u32::from_le_bytes(described.get(..4)?.try_into().ok()?) & 0x00ff_ffff;
        let (loaded, class) = self.definition(owner)?;
        let fields = loaded.image()?.metadata.fields(class);
        Some(fields.into_iter().find(|field| field.token & 0x00ff_ffff == row)?.name)
    }

    fn word_field(&self, value: &ClrValue, name: &str) -> Option<u64> {
        self.field_named(value, name)?.bytes().ok()?.get(..8)?.try_into().ok().map(u64::from_le_bytes)
    }
}
