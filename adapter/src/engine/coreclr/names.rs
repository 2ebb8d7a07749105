//! Types as C# spells them.

use cordebug::value::{Type, element};

use super::session::Session;

/// `List` of ``System.Collections.Generic.List`1``: without the number of generic parameters.
pub(super) fn without_arity(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '`' {
            while letters.next_if(char::is_ascii_digit).is_some() {}
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// The keyword of a primitive.
pub(super) fn keyword(kind: u32) -> Option<&'static str> {
    Some(match kind {
        element::VOID => "void",
        element::BOOLEAN => "bool",
        element::CHAR => "char",
        element::I1 => "sbyte",
        element::U1 => "byte",
        element::I2 => "short",
        element::U2 => "ushort",
        element::I4 => "int",
        element::U4 => "uint",
        element::I8 => "long",
        element::U8 => "ulong",
        element::R4 => "float",
        element::R8 => "double",
        element::STRING => "string",
        element::OBJECT => "object",
        element::I => "nint",
        element::U => "nuint",
        _ => return None,
    })
}

impl Session {
    /// A type as C# spells it, with its namespace and generic arguments.
    pub(super) fn spelled(&self, kind: &Type) -> String {
        self.spelled_to(kind, 8)
    }

    fn spelled_to(&self, kind: &Type, deeper: usize) -> String {
        let Ok(element_type) = kind.element_type() else { return "?".into() };
        if deeper == 0 {
            return "…".into();
        }
        if let Some(keyword) = keyword(element_type) {
            return keyword.into();
        }
        let inner = || {
            kind.first_parameter().map_or_else(|_| "?".into(), |inner| self.spelled_to(&inner, deeper - 1))
        };
        match element_type {
            element::SZARRAY => return format!("{}[]", inner()),
            element::ARRAY => {
                let commas = ",".repeat(kind.rank().unwrap_or(1).saturating_sub(1) as usize);
                return format!("{}[{commas}]", inner());
            }
            element::PTR => return format!("{}*", inner()),
            element::BYREF => return format!("ref {}", inner()),
            _ => {}
        }
        let name = self.plain_name(kind).unwrap_or_else(|| "?".into());
        let arguments: Vec<String> = kind
            .parameters()
            .unwrap_or_default()
            .iter()
            .map(|argument| self.spelled_to(argument, deeper - 1))
            .collect();
        match (name.as_str(), arguments.as_slice()) {
            ("System.Decimal", _) => "decimal".into(),
            ("System.Nullable`1", [inner]) => format!("{inner}?"),
            (_, []) => without_arity(&name),
            (_, arguments) => format!("{}<{}>", without_arity(&name), arguments.join(", ")),
        }
    }

    /// The full name of a type's class, with its arity, as the metadata spells it.
    pub(super) fn plain_name(&self, kind: &Type) -> Option<String> {
        let class = kind.class().ok()?;
        let loaded = self.modules.of(&class.module().ok()?)?;
        Some(loaded.image()?.metadata.type_name(class.token().ok()?))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn arity_is_left_out_wherever_it_stands() {
        assert_eq!(super::without_arity("A.Outer`1.Inner`12"), "A.Outer.Inner");
    }
}
