//! Random C# expressions over the variables of a fixture program, the same for the same seed. Each is of a
//! known type, so that most of them compile. [`oracle`] compiles them into that program, which prints their
//! values.

use std::collections::BTreeMap;

mod modern;
mod older;
pub mod oracle;

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpressionType {
    Int,
    Long,
    Real,
    Truth,
    Text,
    Maybe,
    Ints,
    /// The struct `Point` of the programs.
    Struct,
}

use ExpressionType::{Int, Ints, Long, Maybe, Real, Struct, Text, Truth};

/// The maximum depth of nested expressions.
const DEPTH: u32 = 4;

/// The kinds of whole expressions: those whose value is one row.
const KINDS: [ExpressionType; 6] = [Int, Long, Real, Truth, Text, Maybe];

/// A construct: its type, and its text with a letter in braces for each part: `i` an int, `l` a long, `r` a
/// double, `b` a bool, `t` a string, `m` an int or null, `s` a sequence of int, `p` a point; `n` is a fresh
/// name, the same in the whole construct.
type Construct = (ExpressionType, &'static str);

/// The constructs of a version of C#, over the variables of one program.
#[derive(Debug, Clone, Copy)]
pub struct Grammar {
    leaves: &'static [Construct],
    common: &'static [Construct],
    own: &'static [Construct],
    for_compiler: &'static [Construct],
}

impl Grammar {
    /// C# 8, in the program `expressions`.
    pub const OLDER: Self = older::OLDER;
    /// C# 14, in the program `compiled`.
    pub const MODERN: Self = modern::MODERN;

    /// Constructs that have parts, or are more than a variable.
    fn composed(&self) -> impl Iterator<Item = Construct> {
        [self.common, self.own, self.for_compiler].into_iter().flatten().copied()
    }

    /// The constructs that there are.
    pub fn constructs(&self) -> impl Iterator<Item = &'static str> {
        self.composed().chain(self.leaves.iter().copied()).map(|(_, text)| text)
    }

    /// Whether only the compiler of an SDK evaluates this construct.
    pub fn is_for_compiler(&self, construct: &str) -> bool {
        self.for_compiler.iter().any(|(_, text)| *text == construct)
    }
}

/// An expression, and the constructs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Its text, on one line.
    pub text: String,
    /// Its constructs, each as often as it occurs.
    pub constructs: Vec<&'static str>,
}

/// Makes expressions, and counts which constructs they have.
#[derive(Debug)]
pub struct Expressions {
    grammar: Grammar,
    random: fastrand::Rng,
    names: u32,
    begun: BTreeMap<&'static str, usize>,
    within: Vec<&'static str>,
}

impl Expressions {
    /// Expressions of a grammar that depend only on the seed.
    pub fn new(grammar: Grammar, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { grammar, random, names: 0, begun: BTreeMap::new(), within: Vec::new() }
    }

    /// The next one. Every other one begins with the construct with which the fewest began.
    pub fn next_expression(&mut self) -> Expression {
        let whole = self.grammar.composed().filter(|(kind, _)| KINDS.contains(kind));
        let rarest = whole.min_by_key(|(_, text)| self.begun.get(text).copied().unwrap_or(0));
        let text = match rarest {
            Some(construct) if self.random.bool() => {
                *self.begun.entry(construct.1).or_default() += 1;
                self.fill(construct, DEPTH - 1)
            }
            _ => {
                let kind = KINDS[self.random.usize(..KINDS.len())];
                self.of(kind, DEPTH)
            }
        };
        Expression { text, constructs: std::mem::take(&mut self.within) }
    }

    fn of(&mut self, kind: ExpressionType, depth: u32) -> String {
        let ends = depth == 0 || self.random.u32(..4) == 0;
        let leaves = self.grammar.leaves.iter().copied();
        let fitting: Vec<Construct> = match ends {
            true => leaves.filter(|(of, _)| *of == kind).collect(),
            false => self.grammar.composed().filter(|(of, _)| *of == kind).collect(),
        };
        let construct = fitting[self.random.usize(..fitting.len())];
        self.fill(construct, depth.saturating_sub(1))
    }

    fn fill(&mut self, (_, text): Construct, depth: u32) -> String {
        self.within.push(text);
        self.names += 1;
        let name = format!("v{}", self.names);
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, letter, behind)) = find_placeholder(rest) {
            filled.push_str(before);
            match letter {
                'i' => filled.push_str(&self.of(Int, depth)),
                'l' => filled.push_str(&self.of(Long, depth)),
                'r' => filled.push_str(&self.of(Real, depth)),
                'b' => filled.push_str(&self.of(Truth, depth)),
                't' => filled.push_str(&self.of(Text, depth)),
                'm' => filled.push_str(&self.of(Maybe, depth)),
                's' => filled.push_str(&self.of(Ints, depth)),
                'p' => filled.push_str(&self.of(Struct, depth)),
                'n' => filled.push_str(&name),
                // `{x}` in a raw text is itself.
                other => filled.extend(['{', other, '}']),
            }
            rest = behind;
        }
        filled + rest
    }
}

/// The first `{x}` of a text, with the text before and after it.
fn find_placeholder(text: &str) -> Option<(&str, char, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let mut letters = text.get(at + 1..)?.chars();
        let letter = letters.next().filter(char::is_ascii_lowercase)?;
        let behind = letters.as_str().strip_prefix('}')?;
        Some((text.get(..at)?, letter, behind))
    })
}
