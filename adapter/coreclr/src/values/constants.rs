//! Local constants (`const int limit = 3;` in a method): the compiler inlines their values, and only the
//! symbols contain their names.

use clr_metadata::pdb::Literal;
use rust_decimal::Decimal;

use crate::modules::LoadedModule;
use crate::stop_context::StopContext;
use crate::typed_value::{Constant, TypedValue};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::STRING;

impl StopContext<'_> {
    /// The constants in scope in a frame, under the names of the source.
    pub(crate) fn constants(&self, thread: u32, index: usize) -> Vec<(String, TypedValue)> {
        let Some((loaded, method, il)) = self.place_at(thread, index) else { return Vec::new() };
        let Ok(pdb) = &loaded.pdb else { return Vec::new() };
        let constants = pdb.constants(method, il).into_iter();
        constants.filter_map(|one| Some((one.name, self.types.literal_val(&loaded, one.literal)?))).collect()
    }
}

impl ClrTypeSystem {
    fn literal_val(&self, loaded: &LoadedModule, literal: Literal) -> Option<TypedValue> {
        let named = |token: u32| match token >> 24 {
            0x1b => Some(self.ty_of(loaded, &loaded.image()?.metadata.type_spec(token)?)),
            _ => Some(self.ty_of_token(loaded, token, None, Vec::new())),
        };
        let (constant, ty) = match literal {
            Literal::Null => return Some(TypedValue::null()),
            Literal::Text(text) => (Constant::Text(text), STRING),
            Literal::Number(kind, bytes, of) => {
                let ty = match of {
                    Some(token) => named(token)?,
                    None => Ty::Primitive(kind),
                };
                (Constant::from_bytes(kind, &bytes)?, ty)
            }
            Literal::Struct(token, bytes) => {
                let ty = named(token)?;
                (self.is_decimal(&ty).then(|| decimal(&bytes))??, ty)
            }
        };
        Some(TypedValue::constant_of(constant, ty))
    }
}

/// Sign and scale in a byte, then the low, middle and high 32 bits.
fn decimal(bytes: &[u8]) -> Option<Constant> {
    let (first, rest) = bytes.split_first()?;
    let part = |at: usize| rest.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (low, middle, high) = (part(0)?, part(4)?, part(8)?);
    let scale = u32::from(first & 0x7f).min(28);
    Some(Constant::Decimal(Decimal::from_parts(low, middle, high, first & 0x80 != 0, scale)))
}
