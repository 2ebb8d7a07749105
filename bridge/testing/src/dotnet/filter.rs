//! The filters of `dotnet test`: `FullyQualifiedName~Cart&(TestCategory=slow|Priority!=1)`, `Cart|Order`,
//! compared with the list of tests, so that they mean the same on both platforms. Any other text is a part of
//! a name.
//!
//! Not here: selections that all frameworks share ([`crate::select`]).

use crate::model::TestItem;

/// Parentheses within each other.
const MAX_DEPTH: usize = 50;

/// A parsed filter expression of `dotnet test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestCaseFilter {
    /// Tests whose id contains this text.
    Part(String),
    /// A property, an operator and a value.
    Compare(String, FilterOperator, String),
    /// Tests that match both filters.
    And(Box<TestCaseFilter>, Box<TestCaseFilter>),
    /// Tests that match at least one of the filters.
    Or(Box<TestCaseFilter>, Box<TestCaseFilter>),
}

/// Comparison of a property with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterOperator {
    /// `=`: the property equals the value.
    Is,
    /// `!=`: the property does not equal the value.
    IsNot,
    /// `~`: the property contains the value.
    Contains,
    /// `!~`: the property does not contain the value.
    ContainsNot,
}

impl TestCaseFilter {
    /// Parses a filter; text that is not an expression becomes [`Self::Part`].
    pub(super) fn parse(text: &str) -> Self {
        let mut rest = text;
        let whole = if text.contains(['=', '~', '|', '&']) { parse_or(&mut rest, 0) } else { None };
        whole.filter(|_| rest.trim().is_empty()).unwrap_or_else(|| Self::Part(text.to_owned()))
    }

    /// Whether a test matches the filter.
    pub(super) fn holds(&self, test: &TestItem) -> bool {
        match self {
            Self::Part(part) => test.id.to_lowercase().contains(&part.to_lowercase()),
            Self::And(left, right) => left.holds(test) && right.holds(test),
            Self::Or(left, right) => left.holds(test) || right.holds(test),
            Self::Compare(name, operator, value) => {
                let values = values(test, name);
                let value = value.to_lowercase();
                let is = |own: &String| own.to_lowercase() == value;
                let contains = |own: &String| own.to_lowercase().contains(&value);
                match operator {
                    FilterOperator::Is => values.iter().any(is),
                    FilterOperator::IsNot => !values.iter().any(is),
                    FilterOperator::Contains => values.iter().any(contains),
                    FilterOperator::ContainsNot => !values.iter().any(contains),
                }
            }
        }
    }
}

/// The values of a property.
fn values(test: &TestItem, name: &str) -> Vec<String> {
    let (class, method) = super::names::of_test(test);
    let bare = method.split(['(', ':']).next().unwrap_or_default();
    // The name that the framework shows, where it is not made of the method's.
    let shown = method.split_once(": ").filter(|(name, _)| *name == bare).map(|(_, shown)| shown.to_owned());
    match name.to_lowercase().as_str() {
        "fullyqualifiedname" => vec![test.id.clone(), format!("{class}.{bare}")],
        "name" | "displayname" => {
            let mut names = vec![test.id.clone(), method.to_owned(), bare.to_owned()];
            names.extend(shown);
            names
        }
        "classname" => vec![test.class.clone(), test.class.rsplit('.').next().unwrap_or_default().to_owned()],
        "testcategory" | "category" => test
            .traits
            .iter()
            .map(|one| match one.split_once('=') {
                Some((name, value))
                    if matches!(name.to_lowercase().as_str(), "category" | "testcategory") =>
                {
                    value.to_owned()
                }
                _ => one.clone(),
            })
            .collect(),
        name => {
            let own = test.traits.iter().filter_map(|one| one.split_once('='));
            own.filter(|(own, _)| own.to_lowercase() == name).map(|(_, value)| value.to_owned()).collect()
        }
    }
}

fn parse_or(rest: &mut &str, depth: usize) -> Option<TestCaseFilter> {
    let mut left = parse_and(rest, depth)?;
    while take(rest, '|') {
        left = TestCaseFilter::Or(Box::new(left), Box::new(parse_and(rest, depth)?));
    }
    Some(left)
}

fn parse_and(rest: &mut &str, depth: usize) -> Option<TestCaseFilter> {
    let mut left = parse_one(rest, depth)?;
    while take(rest, '&') {
        left = TestCaseFilter::And(Box::new(left), Box::new(parse_one(rest, depth)?));
    }
    Some(left)
}

fn parse_one(rest: &mut &str, depth: usize) -> Option<TestCaseFilter> {
    if depth > MAX_DEPTH {
        return None;
    }
    if take(rest, '(') {
        let inside = parse_or(rest, depth + 1)?;
        return take(rest, ')').then_some(inside);
    }
    let Some(name_end) = rest.find(['=', '~', '!', '|', '&', '(', ')']).filter(|end| is_operator(rest, *end))
    else {
        // Without an operator it is a part of a name.
        let part = value(rest);
        return (!part.is_empty()).then_some(TestCaseFilter::Part(part));
    };
    let name = rest.get(..name_end)?.trim();
    if name.is_empty() || !name.chars().all(|letter| letter.is_alphanumeric() || "._- ".contains(letter)) {
        return None;
    }
    *rest = rest.get(name_end..)?;
    let known = [
        ("!=", FilterOperator::IsNot),
        ("!~", FilterOperator::ContainsNot),
        ("=", FilterOperator::Is),
        ("~", FilterOperator::Contains),
    ];
    let (sign, operator) = known.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
    *rest = rest.get(sign.len()..)?;
    Some(TestCaseFilter::Compare(name.to_owned(), operator, value(rest)))
}

fn is_operator(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(['=', '~', '!']))
}

/// Parses a value; a backslash escapes the next character.
fn value(rest: &mut &str) -> String {
    let (mut value, mut end) = (String::new(), rest.len());
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            '|' | '&' | ')' | '(' => {
                end = at;
                break;
            }
            letter => value.push(letter),
        }
    }
    *rest = rest.get(end..).unwrap_or_default();
    value.trim().to_owned()
}

fn take(rest: &mut &str, sign: char) -> bool {
    match rest.trim_start().strip_prefix(sign) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_dotnet_test_choose_tests() {
        let test = TestItem {
            id: "Shop.CartTests.Rows(\"a,b\")".into(),
            class: "Shop.CartTests".into(),
            traits: vec!["speed=slow".into(), "Category=Night".into(), "db".into()],
            ..TestItem::default()
        };
        for (filter, expected) in [
            ("Rows", true),
            ("FullyQualifiedName=Shop.CartTests.Rows", true),
            ("FullyQualifiedName~carttests", true),
            ("Name=Rows&ClassName=CartTests", true),
            ("TestCategory=night", true),
            ("TestCategory=db", true),
            ("speed!=slow", false),
            ("speed=fast|(speed=slow&Name~Row)", true),
            ("Name!~Rows", false),
            (r#"DisplayName=Rows\(\"a,b\"\)"#, true),
            ("(Name=Rows", false),
            ("Adds", false),
            ("carttests", true),
            ("Adds|Rows", true),
            ("Adds|TestCategory=night", true),
            ("Rows&TestCategory!=night", false),
            ("Shop&(Adds|Rows)", true),
        ] {
            assert_eq!(TestCaseFilter::parse(filter).holds(&test), expected, "{filter}");
        }
    }

    #[test]
    fn a_name_that_a_framework_shows_is_a_display_name() {
        let id = "Shop.CartTests.Rows: adds v1.2, \"quoted\"".to_owned();
        let test = TestItem { id, class: "Shop.CartTests".into(), ..TestItem::default() };
        for (filter, expected) in [
            (r#"DisplayName=adds v1.2, "quoted""#, true),
            ("DisplayName~v1.2", true),
            ("FullyQualifiedName=Shop.CartTests.Rows", true),
            ("Name=Rows", true),
            ("DisplayName=adds", false),
        ] {
            assert_eq!(TestCaseFilter::parse(filter).holds(&test), expected, "{filter}");
        }
    }

    #[test]
    fn text_that_is_not_an_expression_is_a_part_of_a_name() {
        for text in ["Rows(a: 1)", "a=b=(", "", "((((", "Rows(text: \"x=y\")"] {
            assert_eq!(TestCaseFilter::parse(text), TestCaseFilter::Part(text.into()), "{text}");
        }
        let deep = format!("{}A=B{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(matches!(TestCaseFilter::parse(&deep), TestCaseFilter::Part(_)));
    }
}
