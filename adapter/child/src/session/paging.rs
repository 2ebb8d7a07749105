//! Pages of children (`variables` with `start`, `count` or `filter`), whatever the adapter makes of them:
//! some ignore all three, some take a window of elements alone, some the window and no filter, and one ends
//! when it is asked for elements of what has none. So an adapter is asked for elements only where it has
//! announced them (`indexedVariables`), else for all children, of which the page is cut.
//!
//! Not here: cutting a page ([`super::super::rows`]).

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DapVariable, VariablesArguments, VariablesResponseBody};
use tokio_util::sync::CancellationToken;

use super::super::rows::{self, Filter, Page};
use super::AdapterSession;

/// Elements that are read for a request without a count.
const MAX_ELEMENTS: usize = 10_000;

impl AdapterSession {
    /// How many elements the value with this reference has announced.
    pub(super) fn elements_of(&self, reference: i64) -> usize {
        self.with_knowledge(|known| known.elements.of(reference))
    }

    /// Children of a value: all, or the requested page.
    pub(super) async fn variables(
        &self,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let requested: VariablesArguments = types::read(&arguments);
        let count = self.elements_of(requested.variables_reference);
        let page = match Page::of(&requested) {
            Some(page) => page,
            None if count > 0 && self.profile.hides_elements() => {
                Page { filter: Filter::All, start: 0, count: MAX_ELEMENTS }
            }
            None => return self.ask("variables", arguments, cancel).await,
        };
        let request = PageRequest { session: self, arguments: &requested, cancel };
        let variables =
            if count > 0 { request.read_announced(page, count).await? } else { request.all(page).await? };
        Ok(types::body(&VariablesResponseBody { variables, ..VariablesResponseBody::default() }))
    }
}

/// A request for one page of the children of a value.
struct PageRequest<'a> {
    session: &'a AdapterSession,
    arguments: &'a VariablesArguments,
    cancel: &'a CancellationToken,
}

impl PageRequest<'_> {
    /// The children of a value with `count` elements that it has announced.
    async fn read_announced(&self, page: Page, count: usize) -> Result<Vec<DapVariable>, Failure> {
        let mut rows = Vec::new();
        if page.filter != Filter::Named {
            let count_to_read = page.count.min(count.saturating_sub(page.start)).min(MAX_ELEMENTS);
            rows = self.elements(page.start, count_to_read).await?;
        }
        let others = match page.filter {
            Filter::Named => page,
            Filter::All => page.after(count),
            Filter::Indexed => return Ok(rows),
        };
        if others.count > 0 && self.session.profile.mixes_children() {
            let filter = Some("named".to_owned());
            let body = self.ask(VariablesArguments { filter, ..VariablesArguments::default() }).await?;
            let (_, named) = rows::split_elements(body);
            rows.extend(others.cut(named));
        }
        Ok(rows)
    }

    /// Elements of the page that exist.
    async fn elements(&self, start: usize, count: usize) -> Result<Vec<DapVariable>, Failure> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let asked = VariablesArguments {
            filter: Some("indexed".to_owned()),
            start: Some(types::integer(start)),
            count: Some(types::integer(count)),
            ..VariablesArguments::default()
        };
        let mut rows = self.ask(asked).await?;
        if rows.len() > count {
            // Others with them, or all of them.
            rows.retain(rows::is_element);
        }
        if rows.len() > count {
            rows = Page { filter: Filter::Indexed, start, count }.cut(rows);
        }
        Ok(rows)
    }

    /// A page of all children.
    async fn all(&self, page: Page) -> Result<Vec<DapVariable>, Failure> {
        let mut rows = self.ask(VariablesArguments::default()).await?;
        let Some(further) = self.session.profile.further_elements(&rows).filter(|at| *at < rows.len()) else {
            return Ok(page.of_children(rows::split_elements(rows)));
        };
        let further = rows.remove(further);
        let (mut elements, others) = rows::split_elements(rows);
        if page.filter == Filter::Named {
            return Ok(page.cut(others));
        }
        let mut page = page;
        if page.end() > elements.len() {
            page = self.read_further(&mut elements, &further, page).await?;
        }
        Ok(page.of_children((elements, others)))
    }

    /// Elements that are below a separate row, or below one row for each range. Rows of elements before
    /// the page are not read, and the page begins that much earlier in those that are.
    async fn read_further(
        &self,
        elements: &mut Vec<DapVariable>,
        further: &DapVariable,
        page: Page,
    ) -> Result<Page, Failure> {
        let end = page.end().min(page.start.saturating_add(MAX_ELEMENTS));
        let body = self.ask_of(further.variables_reference, VariablesArguments::default()).await?;
        if !body.iter().any(|row| rows::range_of(row).is_some()) {
            elements.extend(body);
            return Ok(page);
        }
        let mut skipped = 0;
        for range in &body {
            let Some((from, to)) = rows::range_of(range) else { continue };
            if from >= end {
                break;
            }
            if to <= page.start {
                skipped = to;
                continue;
            }
            elements.extend(self.ask_of(range.variables_reference, VariablesArguments::default()).await?);
        }
        if skipped > 0 {
            // Also those in front of the first range.
            let before = body.first().and_then(rows::range_of).map_or(0, |(from, _)| from);
            elements.drain(..before.min(elements.len()));
        }
        Ok(Page { start: page.start.saturating_sub(skipped), ..page })
    }

    async fn ask(&self, page: VariablesArguments) -> Result<Vec<DapVariable>, Failure> {
        self.ask_of(self.arguments.variables_reference, page).await
    }

    /// The children of the value with this reference; `page` is the page as the adapter is asked.
    async fn ask_of(&self, reference: i64, page: VariablesArguments) -> Result<Vec<DapVariable>, Failure> {
        let arguments = types::body(&VariablesArguments {
            variables_reference: reference,
            format: self.arguments.format.clone(),
            rest: self.arguments.rest.clone(),
            ..page
        });
        let answer = self.session.ask("variables", arguments, self.cancel).await?;
        Ok(types::read::<VariablesResponseBody>(&answer).variables)
    }
}
