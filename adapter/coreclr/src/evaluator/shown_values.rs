//! New values in the form in which rows show the old ones, because editors let the user change that text:
//! `A | C` of an enum and `3.25` of a decimal are not C#. Writes none ([`super::request`]).

use clr_metadata::metadata::Metadata;
use cordebug::value::element;
use tandem_wire::{ErrorCode, Failure};

use crate::session::ClrSession;
use crate::typed_value::TypedValue;
use crate::types::{ClrTypeSystem, Ty};

/// How C# writes the values of a type that rows show in another form.
#[derive(Debug, PartialEq)]
enum WrittenForm<'a> {
    /// Numbers, with the suffix of their literals.
    Number(char),
    /// The floating-point type with this name, which also has values without digits.
    Floating(&'a str, char),
    /// An enum with these members.
    Enum(&'a str, &'a [String]),
}

/// Assigns a value that may be in the form of a row: `ty` finds the type that it is assigned to.
pub(super) fn assign_shown(
    session: &mut ClrSession,
    new: &str,
    assign: impl Fn(&mut ClrSession, &str) -> Result<TypedValue, Failure>,
    ty: impl FnOnce(&mut ClrSession) -> Option<Ty>,
) -> Result<TypedValue, Failure> {
    let failure = match assign(session, new) {
        Err(failure) if failure.code == ErrorCode::EvaluationFailed => failure,
        other => return other,
    };
    match ty(session).and_then(|ty| as_written(&session.program.types, new.trim(), &ty)) {
        Some(written) => assign(session, &written).map_err(|_| failure),
        None => Err(failure),
    }
}

/// The expression for a value as rows show it; `None` if it is not one of those that C# writes otherwise.
fn as_written(types: &ClrTypeSystem, shown: &str, ty: &Ty) -> Option<String> {
    let inside = types.nullable(ty).unwrap_or_else(|| ty.clone());
    match inside {
        Ty::Primitive(element::R4) => written(shown, &WrittenForm::Floating("float", 'f')),
        Ty::Primitive(element::R8) => written(shown, &WrittenForm::Floating("double", 'd')),
        _ if types.is_decimal(&inside) => written(shown, &WrittenForm::Number('m')),
        _ => {
            types.enum_storage(&inside)?;
            let (loaded, token) = types.definition(&inside)?;
            let members = members(&loaded.image()?.metadata, token);
            written(shown, &WrittenForm::Enum(&types.csharp(&inside), &members))
        }
    }
}

/// The names of an enum's members.
fn members(metadata: &Metadata, token: u32) -> Vec<String> {
    metadata.fields(token).into_iter().filter(|field| field.is_literal).map(|field| field.name).collect()
}

fn written(shown: &str, form: &WrittenForm<'_>) -> Option<String> {
    let digits = shown.strip_prefix('-').unwrap_or(shown);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits
            .chars()
            .all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | 'E' | 'e' | '-' | '+'));
    match form {
        WrittenForm::Number(suffix) => is_number.then(|| format!("{shown}{suffix}")),
        WrittenForm::Floating(ty, suffix) => match shown {
            "NaN" => Some(format!("{ty}.NaN")),
            "Infinity" => Some(format!("{ty}.PositiveInfinity")),
            "-Infinity" => Some(format!("{ty}.NegativeInfinity")),
            _ => is_number.then(|| format!("{shown}{suffix}")),
        },
        WrittenForm::Enum(ty, _) if digits.parse::<u64>().is_ok() => Some(format!("({ty})({shown})")),
        WrittenForm::Enum(ty, members) => {
            let part = |name: &str| members.iter().find(|member| *member == name);
            let parts: Option<Vec<String>> =
                shown.split('|').map(|name| Some(format!("{ty}.{}", part(name.trim())?))).collect();
            Some(parts?.join(" | "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WrittenForm, written};

    #[test]
    fn values_as_rows_show_them_become_expressions() {
        let members = ["A", "B", "None"].map(str::to_owned);
        let of_enum = WrittenForm::Enum("My.Flags", &members);
        let (decimal, float) = (WrittenForm::Number('m'), WrittenForm::Floating("float", 'f'));
        for (shown, form, expected) in [
            ("A", &of_enum, Some("My.Flags.A")),
            ("A | B", &of_enum, Some("My.Flags.A | My.Flags.B")),
            ("-9", &of_enum, Some("(My.Flags)(-9)")),
            ("A | x", &of_enum, None),
            ("A, B", &of_enum, None),
            ("3.25", &decimal, Some("3.25m")),
            ("-0.1", &decimal, Some("-0.1m")),
            ("price", &decimal, None),
            ("", &decimal, None),
            ("1E-05", &float, Some("1E-05f")),
            ("-Infinity", &float, Some("float.NegativeInfinity")),
            ("NaN", &float, Some("float.NaN")),
        ] {
            assert_eq!(written(shown, form).as_deref(), expected, "{shown}");
        }
    }
}
