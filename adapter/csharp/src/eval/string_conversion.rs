//! Text of values in string concatenation and interpolation, and new strings.
//!
//! Not here: the text of a result that a client shows, which the engine formats.

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::TypedValue;
use crate::bind::typed::{Typed, TypedInterpolatedPart};
use crate::constant::Constant;
use crate::types::{Ty, kind};

/// Maximum width of an interpolated value that is padded.
const MAX_WIDTH: u32 = 1 << 16;
/// Maximum length of a string that an expression creates, in UTF-16 code units.
const MAX_TEXT_LENGTH: usize = 1 << 24;
/// Maximum length of an array whose characters become a string: each is read by itself.
const MAX_CHARACTERS: usize = 1 << 20;

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn text_of_part(&mut self, of: &Typed) -> Res<T, String> {
        let val = self.val(of)?;
        self.text_of(&val)
    }

    /// The result of `ToString`: primitives are formatted in the debugger, for other values the
    /// program's method is called.
    pub(crate) fn text_of(&mut self, val: &TypedValue<T::Location>) -> Res<T, String> {
        let Some(constant) = self.target.load(val)? else { return self.target.text_of(val) };
        if let Constant::Int(_, number) = constant {
            let inside = self.types().nullable(&val.ty).unwrap_or_else(|| val.ty.clone());
            let actual = if inside.is_value() { inside } else { self.target.actual_type(val)? };
            if self.types().enum_storage(&actual).is_some() {
                return Ok(self.target.enum_name(&actual, number).unwrap_or_else(|| number.to_string()));
            }
        }
        Ok(constant.invariant_text())
    }

    pub(crate) fn interpolated_string(&mut self, pieces: &[TypedInterpolatedPart]) -> Res<T, String> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                TypedInterpolatedPart::Text(part) => text.push_str(part),
                TypedInterpolatedPart::Interpolation(interpolation) => {
                    let (value, width, format) =
                        (&interpolation.value, interpolation.width, &interpolation.format);
                    let val = self.val(value)?;
                    let part = match format {
                        Some(_) if self.target.is_null(&val)? => String::new(),
                        Some(format) => {
                            let val = match self.types().nullable(&val.ty) {
                                Some(_) => self.target.nullable_value(&val)?,
                                None => val,
                            };
                            self.target.format(&val, format)?
                        }
                        None => self.text_of(&val)?,
                    };
                    let missing = (width.unsigned_abs().min(MAX_WIDTH) as usize)
                        .saturating_sub(part.encode_utf16().count());
                    let blanks = " ".repeat(missing);
                    text.push_str(&if width < 0 { part + &blanks } else { blanks + &part });
                }
            }
            self.check_text_length(text.len())?;
        }
        Ok(text)
    }

    /// The text of several values, one after the other.
    pub(crate) fn concatenate(&mut self, parts: &[Typed]) -> Res<T, String> {
        let mut text = String::new();
        for part in parts {
            text.push_str(&self.text_of_part(part)?);
            self.check_text_length(text.len())?;
        }
        Ok(text)
    }

    /// `new string(letter, count)` and `new string(letters)`.
    pub(crate) fn new_text(&mut self, arguments: &[Typed]) -> Res<T, TypedValue<T::Location>> {
        match arguments {
            [letter, count] => {
                let (letter, count) = (self.constant(letter)?, self.integer(count)?);
                let Constant::Int(kind::CHAR, unit) = letter else { return self.unsupported_text() };
                let letter = String::from_utf16_lossy(&[unit as u16]);
                let Ok(count) = usize::try_from(count) else {
                    return self
                        .fail(format!("ArgumentOutOfRangeException: the count is negative ({count})"));
                };
                self.check_text_length(count)?;
                Ok(TypedValue::text(letter.repeat(count)))
            }
            [letters] if matches!(letters.ty, Ty::Vector(_)) => {
                let val = self.val(letters)?;
                if self.target.is_null(&val)? {
                    return Ok(TypedValue::text(""));
                }
                let (items, has_more) = self.target.items(&val, MAX_CHARACTERS)?;
                if has_more {
                    return self.fail(format!(
                        "cannot create a string from an array of more than {MAX_CHARACTERS} characters; \
                            `string.Concat` creates it in the program"
                    ));
                }
                let mut units = Vec::new();
                for item in items {
                    match self.target.load(&item)? {
                        Some(Constant::Int(_, unit)) => units.push(unit as u16),
                        _ => return self.unsupported_text(),
                    }
                }
                Ok(TypedValue::text(String::from_utf16_lossy(&units)))
            }
            _ => self.unsupported_text(),
        }
    }

    fn unsupported_text<V>(&self) -> Res<T, V> {
        self.fail("only `new string(letter, count)` and `new string(letters)` are supported")
    }

    /// Refuses a text that is too long to be created here, before it is.
    fn check_text_length(&self, length: usize) -> Res<T, ()> {
        if length <= MAX_TEXT_LENGTH {
            return Ok(());
        }
        self.fail(format!(
            "cannot create a string of {length} characters: an expression may create at most \
                {MAX_TEXT_LENGTH}; a method such as `\"\".PadLeft(count, letter)` creates it in the program"
        ))
    }
}
