//! Format specifiers after an expression, as in other debuggers: `value,h`, `text,nq`.
//!
//! Formats no value: the engine does.

/// The format of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Format {
    /// Integers are shown in hexadecimal.
    pub hex: bool,
    /// Strings are shown without quotes.
    pub bare: bool,
    /// Objects are shown with their fields.
    pub raw: bool,
    /// Objects are shown with members that are private to a library.
    pub hidden: bool,
    /// Collections are shown as their items, even if this runs code.
    pub results: bool,
    /// Texts may be longer than in a row of the editor, for copying.
    pub copies: bool,
}

impl Format {
    /// Splits an expression and the specifiers after it.
    pub fn split(text: &str) -> (&str, Self) {
        let (mut rest, mut format) = (text.trim().trim_end_matches(';').trim_end(), Self::default());
        while let Some((before, last)) = rest.rsplit_once(',') {
            match last.trim() {
                "h" | "x" | "H" | "X" | "hb" | "xb" => format.hex = true,
                "d" => format.hex = false,
                "nq" => format.bare = true,
                "raw" => format.raw = true,
                "hidden" => format.hidden = true,
                "results" => format.results = true,
                "ac" | "nse" => {}
                _ => break,
            }
            rest = before.trim_end();
        }
        (rest, format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_specifiers_are_cut_off_but_arguments_are_not() {
        let hex = Format { hex: true, ..Format::default() };
        assert_eq!(Format::split("a + 1,h"), ("a + 1", hex));
        assert_eq!(Format::split("text, nq;"), ("text", Format { bare: true, ..Format::default() }));
        assert_eq!(Format::split("Max(a,h)"), ("Max(a,h)", Format::default()));
        assert_eq!(Format::split("grid[1,d]"), ("grid[1,d]", Format::default()));
    }
}
