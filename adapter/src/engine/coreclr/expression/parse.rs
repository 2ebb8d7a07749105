//! From text to a syntax tree, with format specifiers cut off and places of errors found.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use clr_metadata::imports::Imports;
use dap_wire::Failure;
use serde_json::json;
use tree_sitter::{Node as Syntax, Tree};

use super::keyed::Ordered;
use super::operators::Overflow;
use super::{Found, Val, failed};
use crate::engine::coreclr::calls::Site;
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{LONGEST_COPY, LONGEST_TEXT};

/// Longest expression, bytes.
const LONGEST: usize = 16 * 1024;
/// Deepest nesting.
const DEEPEST: usize = 64;
/// What stands before the expression, so that it is a statement.
const BEFORE: &str = "_ = (";

/// How a value is to be written: `,h`, `,nq` and their kin behind an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Format {
    /// Whole numbers in hexadecimal.
    pub(crate) hex: bool,
    /// Strings without quotes.
    pub(crate) bare: bool,
    /// Objects as their fields.
    pub(crate) raw: bool,
    /// Collections as their items, whatever they run.
    pub(crate) results: bool,
    /// Longer texts than a row shows, for somebody copies them.
    pub(crate) copies: bool,
}

impl Format {
    /// Longest text, UTF-16 units.
    pub(crate) fn longest(&self) -> u32 {
        if self.copies { LONGEST_COPY } else { LONGEST_TEXT }
    }
}

impl Format {
    /// Cuts specifiers off the end of an expression.
    pub(crate) fn split(text: &str) -> (&str, Self) {
        let (mut rest, mut format) = (text.trim().trim_end_matches(';').trim_end(), Self::default());
        while let Some((before, last)) = rest.rsplit_once(',') {
            match last.trim() {
                "h" | "x" | "H" | "X" | "hb" | "xb" => format.hex = true,
                "d" => format.hex = false,
                "nq" => format.bare = true,
                "raw" | "hidden" => format.raw = true,
                "results" => format.results = true,
                "ac" | "nse" => {}
                _ => break,
            }
            rest = before.trim_end();
        }
        (rest, format)
    }
}

/// `using` directives, with the module whose tokens they have.
type Usings = (Option<Rc<Loaded>>, Rc<Imports>);

/// An expression under evaluation.
pub(crate) struct Scope<'a> {
    pub(crate) site: Site<'a>,
    pub(super) text: &'a str,
    /// Parameters of lambdas and names that patterns declare, innermost last.
    pub(super) bindings: &'a RefCell<Vec<(String, Val)>>,
    pub(super) overflow: Cell<Overflow>,
    /// The class the code is in, looked up when first needed.
    class: RefCell<Option<Option<Ty>>>,
    /// `using` directives around the code, looked up when first needed.
    imports: RefCell<Option<Usings>>,
    pub(super) deeper: Cell<usize>,
    /// When it began: what is gone through here, item by item and round by round, has an end.
    pub(super) since: Instant,
    /// What was put in order, for a `ThenBy` behind it.
    pub(super) ordered: RefCell<Vec<Ordered>>,
}

impl<'a> Scope<'a> {
    /// A scope without a text of its own.
    pub(super) fn around(site: &Site<'a>, bindings: &'a RefCell<Vec<(String, Val)>>) -> Self {
        Self {
            site: *site,
            text: "",
            bindings,
            overflow: Cell::new(Overflow::Wraps),
            class: RefCell::new(None),
            imports: RefCell::new(None),
            deeper: Cell::new(DEEPEST),
            since: Instant::now(),
            ordered: RefCell::default(),
        }
    }
}

impl<'s> Scope<'s> {
    /// The same text with the same names in sight, under other conditions.
    pub(super) fn under<'a>(&'a self, site: Site<'a>) -> Scope<'a>
    where
        's: 'a,
    {
        Scope {
            site,
            text: self.text,
            bindings: self.bindings,
            overflow: self.overflow.clone(),
            class: self.class.clone(),
            imports: self.imports.clone(),
            deeper: self.deeper.clone(),
            since: self.since,
            ordered: RefCell::default(),
        }
    }
}

impl Scope<'_> {
    pub(super) fn of(&self, node: Syntax<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Whether a `?` stands before the `.` or `[` of an access.
    pub(super) fn is_conditional(&self, access: Syntax<'_>) -> bool {
        let of = access.child_by_field_name("expression");
        let next = of.and_then(|of| Some((of.end_byte(), of.next_sibling()?.start_byte())));
        next.is_some_and(|(from, to)| self.text.get(from..to).unwrap_or_default().contains('?'))
    }

    pub(super) fn class(&self, session: &Session) -> Option<Ty> {
        let mut class = self.class.borrow_mut();
        let bound = || {
            let bindings = self.bindings.borrow();
            bindings.iter().find(|(name, _)| name == "this").map(|(_, this)| this.ty.clone())
        };
        class
            .get_or_insert_with(|| bound().or_else(|| session.class_at(self.site.thread, self.site.frame)))
            .clone()
    }
}

impl Scope<'_> {
    /// `using` directives, with the module whose tokens they have.
    pub(super) fn imports(&self, session: &Session) -> Usings {
        let mut imports = self.imports.borrow_mut();
        let look = || match session.imports_at(self.site.thread, self.site.frame) {
            Some((loaded, imports)) => (Some(loaded), Rc::new(imports)),
            None => (None, Rc::default()),
        };
        imports.get_or_insert_with(look).clone()
    }
}

fn parsed(source: &str) -> Result<Tree, Failure> {
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_c_sharp::LANGUAGE.into())
        .map_err(|error| failed(format!("the C# grammar does not load: {error}")))?;
    parser.parse(source, None).ok_or_else(|| failed("the expression cannot be parsed"))
}

/// An expression as it was typed, as the grammar was given it, and its tree.
struct Read {
    typed: String,
    source: String,
    tree: Tree,
}

/// Parses an expression without looking at any program.
fn read(text: &str) -> Result<Read, Failure> {
    if text.is_empty() || text.len() > LONGEST {
        return Err(failed("the expression is empty or too long"));
    }
    // Only calls and assignments are statements of their own, so the expression is assigned to nothing. The
    // grammar knows no `$names`; ours are as long with `_`, and read from the text as it was typed.
    let typed = format!("{BEFORE}{text});");
    let mut source = typed.replace("$exception", "_exception").replace("$threadid", "_threadid");
    let mut tree = parsed(&source)?;
    if tree.root_node().has_error()
        && let Some(other) = with_slices(&source)
        && let Some(sliced) = parsed(&other).ok().filter(|tree| !tree.root_node().has_error())
    {
        (tree, source) = (sliced, other);
    }
    // For the grammar `a + b?.c` is `(a + b)?.c`; as `a + b .c` it is understood. Who walks it looks for the `?` in what
    // was typed.
    while let Some(marks) = marks_of_null(tree.root_node()) {
        for mark in marks {
            source.replace_range(mark..=mark, " ");
        }
        tree = parsed(&source)?;
    }
    Ok(Read { typed, source, tree })
}

/// Whether a text is an expression as far as its grammar goes; what its names mean is known at a stop.
///
/// # Errors
/// What is wrong, and where.
pub(in crate::engine::coreclr) fn check_syntax(text: &str) -> Result<(), Failure> {
    let text = text.trim();
    let read = read(text)?;
    if read.tree.root_node().has_error() { Err(syntax_error(read.tree.root_node(), text)) } else { Ok(()) }
}

impl Session {
    pub(super) fn find(&mut self, text: &str, site: &Site<'_>) -> Result<Found, Failure> {
        self.find_with(text, site, &RefCell::default())
    }

    /// As `find`, with names that are bound already.
    pub(super) fn find_with(
        &mut self,
        text: &str,
        site: &Site<'_>,
        bindings: &RefCell<Vec<(String, Val)>>,
    ) -> Result<Found, Failure> {
        let text = text.trim();
        let Read { typed, mut source, mut tree } = read(text)?;
        let scope = Scope { text: &typed, ..Scope::around(site, bindings) };
        // `(a) - b` is a difference, unless `a` is a type.
        while let Some(enclosed) = self.taken_for_cast(tree.root_node(), &scope) {
            source.replace_range(enclosed.start..=enclosed.start, " ");
            source.replace_range(enclosed.end - 1..enclosed.end, " ");
            tree = parsed(&source)?;
        }
        let mut node = tree.root_node();
        if node.has_error() {
            return Err(syntax_error(node, text));
        }
        while matches!(node.kind(), "compilation_unit" | "global_statement" | "expression_statement") {
            node = node.named_child(0).ok_or_else(|| failed("the expression is empty"))?;
        }
        node = node.child_by_field_name("right").ok_or_else(|| failed("the expression is empty"))?;
        node = super::walk::enclosed(node)?;
        match self.walk(node, &scope)? {
            // Null, of the type that the whole chain has.
            Found::Skipped => self.valued(Found::Skipped, node, &scope).map(Found::Val),
            found => Ok(self.lifted(found, node, &scope)),
        }
    }

    /// Where a name in parentheses with a sign behind it was taken for a type that something is cast to, but is none. Without
    /// the parentheses it is what it was meant to be.
    fn taken_for_cast(&mut self, root: Syntax<'_>, scope: &Scope<'_>) -> Option<std::ops::Range<usize>> {
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            let mut cursor = node.walk();
            waiting.extend(node.named_children(&mut cursor));
            if node.kind() != "cast_expression" {
                continue;
            }
            let (ty, value) = (node.child_by_field_name("type")?, node.child_by_field_name("value")?);
            let is_name = ty.kind() != "predefined_type";
            let has_sign = value.kind() == "prefix_unary_expression"
                && value.child(0).is_some_and(|sign| ["+", "-", "*", "&", "^"].contains(&scope.of(sign)));
            if is_name && has_sign && self.type_at(ty, scope).is_err() {
                let close = (0..node.child_count()).filter_map(|at| node.child(at));
                let close = close.filter(|part| part.kind() == ")").map(|part| part.end_byte()).next()?;
                return Some(node.start_byte()..close);
            }
        }
        None
    }
}

/// The same text with names in place of the `..` of list patterns, as long as they are: the grammar takes a `..` only where
/// nothing follows it. What is walked is the text as it was typed.
fn with_slices(source: &str) -> Option<String> {
    let (mut text, mut from, mut is_other) = (source.to_owned(), 0, false);
    while let Some(at) = source.get(from..)?.find("..").map(|at| from + at) {
        from = at + 2;
        let before = source.get(..at)?.trim_end();
        let rest = source.get(from..)?;
        if !before.ends_with(['[', ',']) || rest.starts_with('.') {
            continue;
        }
        text.replace_range(at..from, "__");
        is_other = true;
        // `.. var rest`: as if a type and a name stood there.
        let spaces = rest.len() - rest.trim_start().len();
        if rest.trim_start().starts_with("var ") {
            text.replace_range(from + spaces..from + spaces + 3, "   ");
        }
    }
    is_other.then_some(text)
}

/// Where the `?` of `a?.b` and `a?[b]` stand.
fn marks_of_null(root: Syntax<'_>) -> Option<Vec<usize>> {
    let (mut waiting, mut found) = (vec![root], Vec::new());
    while let Some(node) = waiting.pop() {
        let mut cursor = node.walk();
        let is_access = node.kind() == "conditional_access_expression";
        for part in node.children(&mut cursor) {
            if is_access && part.kind() == "?" {
                found.push(part.start_byte());
            }
            waiting.push(part);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Says which part of a longer expression failed.
pub(super) fn at(failure: Failure, node: Syntax<'_>) -> Failure {
    if !failure.data.is_null() {
        return failure;
    }
    let column = |byte: usize| byte.saturating_sub(BEFORE.len()) + 1;
    let range = node.byte_range();
    failure.data(json!({ "column": column(range.start), "endColumn": column(range.end) }))
}

fn syntax_error(root: Syntax<'_>, text: &str) -> Failure {
    // The first node that is wrong or missing, left to right.
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let wrong = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match wrong {
            Some(child) if !(child.is_error() && node.is_error()) => node = child,
            _ => break,
        }
    }
    let at_byte = node.start_byte().clamp(BEFORE.len(), BEFORE.len() + text.len()) - BEFORE.len();
    let at_byte = if node.is_missing() { text.len().min(at_byte) } else { at_byte };
    let rest = text.get(at_byte..).unwrap_or_default();
    let near = rest.split_whitespace().next().unwrap_or_default();
    let place =
        if near.is_empty() { "at its end".into() } else { format!("at `{near}`, column {}", at_byte + 1) };
    failed(format!("`{text}` is no C# expression: something is missing or wrong {place}"))
        .data(json!({ "column": at_byte + 1, "endColumn": at_byte + 1 + near.len() }))
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

    #[test]
    fn syntax_is_checked_without_a_program() {
        for right in
            ["i == 2 && name?.Length > 3", "(a) - b > 0", "list[1..^1].Count == 0", "x is > 3 and < 9"]
        {
            assert!(check_syntax(right).is_ok(), "{right}: {:?}", check_syntax(right));
        }
        for wrong in ["i == 2 &&", "i ==", ") i", ""] {
            assert!(check_syntax(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_syntax_error_names_its_place() {
        for (text, place) in [("1 +", "end"), ("a b", "`b`"), ("f(1,,2)", "column")] {
            let source = format!("{BEFORE}{text});");
            let tree = parsed(&source).unwrap();
            assert!(tree.root_node().has_error(), "{text}");
            let failure = syntax_error(tree.root_node(), text);
            assert!(failure.message.contains(place) || failure.message.contains("column"), "{failure}");
        }
    }
}
