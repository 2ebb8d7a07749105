//! The names by which an engine shows, among the variables of a frame, values that calls have returned. Not
//! here: those of one adapter (its profile), and their use (the hub).

/// A form of names of rows that are not variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultName {
    /// The name of a called function, then this: the value that the call has returned.
    After(&'static str),
    /// This, then the name of a called function: the same.
    Before(&'static str),
    /// This name alone: the same, of a function that is not named.
    Unnamed(&'static str),
    /// This name alone: the value that the function of the frame itself is about to return.
    Own(&'static str),
    /// A name with this prefix: a value that tells a user nothing, for example a result that does not exist
    /// yet.
    Hidden(&'static str),
}

/// All forms of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultNames(Vec<ResultName>);

impl ResultNames {
    /// The forms of one adapter.
    pub fn new(forms: impl IntoIterator<Item = ResultName>) -> Self {
        Self(forms.into_iter().collect())
    }

    /// The function whose call has returned the value of this row, `Some(None)` if it is not named, and
    /// `None` for a row that is not such a value.
    pub fn function_of<'a>(&self, row: &'a str) -> Option<Option<&'a str>> {
        let function = |form: &ResultName| match *form {
            ResultName::After(suffix) => row.strip_suffix(suffix).map(Some),
            ResultName::Before(prefix) => row.strip_prefix(prefix).map(Some),
            ResultName::Unnamed(name) => (row == name).then_some(None),
            ResultName::Own(_) | ResultName::Hidden(_) => None,
        };
        // Some debuggers name methods by their class.
        let bare = |function: Option<&'a str>| function.map(|name| name.rsplit('.').next().unwrap_or(name));
        self.0.iter().find_map(function).map(bare)
    }

    /// Whether this row is the value that the function of the frame itself is about to return.
    pub fn is_own(&self, row: &str) -> bool {
        self.0.iter().any(|form| matches!(form, ResultName::Own(name) if *name == row))
    }

    /// Whether this row tells a user nothing.
    pub fn is_hidden(&self, row: &str) -> bool {
        self.0.iter().any(|form| matches!(form, ResultName::Hidden(prefix) if row.starts_with(prefix)))
    }
}

impl FromIterator<Self> for ResultNames {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        Self(all.into_iter().flat_map(|one| one.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_results_by_their_names() {
        let names = ResultNames::new([
            ResultName::After(" returned"),
            ResultName::Before("(return) "),
            ResultName::Unnamed("(Return Value)"),
            ResultName::Own("%return"),
            ResultName::Hidden("~r"),
        ]);
        for (row, function) in [
            ("Total returned", Some(Some("Total"))),
            ("(return) Cart.total", Some(Some("total"))),
            ("(Return Value)", Some(None)),
            ("returned", None),
            ("%return", None),
        ] {
            assert_eq!(names.function_of(row), function, "{row}");
        }
        assert!(names.is_own("%return") && !names.is_own("%returns"));
        assert!(names.is_hidden("~r0") && !names.is_hidden("r0"));
        assert_eq!(ResultNames::default().function_of("Total returned"), None);
    }
}
