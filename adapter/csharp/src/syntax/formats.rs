//! Format specifiers behind an expression, as debuggers know them: `value,h`, `text,nq`.

/// How a value is to be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Format {
    /// Whole numbers in hexadecimal.
    pub hex: bool,
    /// Strings without quotes.
    pub bare: bool,
    /// Objects as their fields.
    pub raw: bool,
    /// Objects with what a library keeps for itself among their members.
    pub hidden: bool,
    /// Collections as their items, whatever they run.
    pub results: bool,
    /// Longer texts than a row shows, for copying.
    pub copies: bool,
}

impl Format {
    /// Cuts specifiers off the end of an expression.
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
