//! Query expressions (language specification, 12.20).
//!
//! Does not translate clauses or infer types (`bind::queries`).

use super::Parsed;
use super::lexer::Tok;
use super::parser::Parser;
use super::tree::{Join, Query, QueryClause, QueryEnd, TypeName};
use crate::types::kind_of_keyword;

/// Maximum number of clauses of a query.
const MAX_CLAUSES: usize = 64;

/// Whether a word is a keyword inside of queries.
pub(super) fn is_word_of_queries(word: &str) -> bool {
    const WORDS: [&str; 14] = [
        "from",
        "where",
        "select",
        "group",
        "into",
        "orderby",
        "join",
        "let",
        "in",
        "on",
        "equals",
        "by",
        "ascending",
        "descending",
    ];
    WORDS.contains(&word)
}

impl Parser<'_> {
    /// Whether a query begins here: `from x in`, `from Type x in`.
    pub(super) fn begins_query(&self) -> bool {
        let is_type = matches!(self.tokens.peek_at(1), Tok::Word(word, _) if kind_of_keyword(word).is_some());
        self.tokens.is_word("from")
            && (self.tokens.is_identifier_at(1) || is_type)
            && !matches!(self.tokens.peek_at(2), Tok::Sign("." | "(" | ")" | ";" | "=" | ","))
            && !self.tokens.is_word_at(1, "is")
            && (self.tokens.is_word_at(2, "in") || self.tokens.contains_ahead(&Tok::Word("in".into(), false)))
    }

    pub(super) fn query(&mut self) -> Parsed<Query> {
        self.queries += 1;
        let query = self.deeper(|parser| {
            let first = parser.first_clause()?;
            parser.query_rest(vec![first])
        });
        self.queries -= 1;
        query
    }

    fn query_rest(&mut self, mut clauses: Vec<QueryClause>) -> Parsed<Query> {
        let end = loop {
            if clauses.len() > MAX_CLAUSES {
                return Err(super::error(
                    "CS8078",
                    "An expression is too long or complex to compile",
                    self.tokens.span(),
                ));
            }
            if self.tokens.is_word("from") {
                clauses.push(self.first_clause()?);
            } else if self.tokens.eat_word("where") {
                clauses.push(QueryClause::Where(self.expr()?));
            } else if self.tokens.eat_word("let") {
                let name = self.tokens.identifier()?;
                self.tokens.expect("=")?;
                clauses.push(QueryClause::Let { name, value: self.expr()? });
            } else if self.tokens.eat_word("join") {
                clauses.push(self.join()?);
            } else if self.tokens.eat_word("orderby") {
                clauses.push(self.order_by()?);
            } else if self.tokens.eat_word("select") {
                break QueryEnd::Select(self.expr()?);
            } else if self.tokens.eat_word("group") {
                let element = self.expr()?;
                self.word_of_query("by")?;
                break QueryEnd::Group(element, self.expr()?);
            } else if self.tokens.is_cut() {
                break QueryEnd::Select(self.null(self.tokens.span()));
            } else {
                let found = self.tokens.found();
                return Err(super::error(
                    "CS0742",
                    format!(
                        "A query body must end with a select clause or a group clause, but {found} found"
                    ),
                    self.tokens.span(),
                ));
            }
        };
        let into = match self.tokens.eat_word("into") {
            true => {
                let name = self.tokens.identifier()?;
                Some((name, Box::new(self.deeper(|parser| parser.query_rest(Vec::new()))?)))
            }
            false => None,
        };
        Ok(Query { clauses, end, into })
    }

    fn word_of_query(&mut self, word: &'static str) -> Parsed<()> {
        match self.tokens.eat_word(word) || self.tokens.is_cut() {
            true => Ok(()),
            false => Err(super::error(
                "CS1003",
                format!("Syntax error, '{word}' expected, but {} found", self.tokens.found()),
                self.tokens.span(),
            )),
        }
    }

    fn range_variable(&mut self) -> Parsed<(Option<TypeName>, std::rc::Rc<str>)> {
        let is_bare = self.tokens.is_identifier_at(0)
            && (self.tokens.is_word_at(1, "in") || matches!(self.tokens.peek_at(1), Tok::End));
        let ty = if is_bare { None } else { Some(self.type_name()?) };
        Ok((ty, self.tokens.identifier()?))
    }

    fn first_clause(&mut self) -> Parsed<QueryClause> {
        self.tokens.at += 1;
        let (ty, name) = self.range_variable()?;
        self.word_of_query("in")?;
        Ok(QueryClause::From { ty, name, of: self.expr()? })
    }

    fn join(&mut self) -> Parsed<QueryClause> {
        let (ty, name) = self.range_variable()?;
        self.word_of_query("in")?;
        let of = self.expr()?;
        self.word_of_query("on")?;
        let outer = self.expr()?;
        self.word_of_query("equals")?;
        let inner = self.expr()?;
        let into = if self.tokens.eat_word("into") { Some(self.tokens.identifier()?) } else { None };
        Ok(QueryClause::Join(Box::new(Join { ty, name, of, outer, inner, into })))
    }

    fn order_by(&mut self) -> Parsed<QueryClause> {
        let mut keys = Vec::new();
        loop {
            let key = self.expr()?;
            let is_descending = self.tokens.eat_word("descending");
            if !is_descending {
                self.tokens.eat_word("ascending");
            }
            keys.push((key, is_descending));
            if !self.tokens.eat(",") {
                return Ok(QueryClause::OrderBy(keys));
            }
        }
    }
}
