//! Resolution of paths: the current value at the end of one. Not here: types and constants of the values
//! ([`super::current_values`]).

use cordebug::module::Class;
use cordebug::value::Value as ClrValue;
use tandem_wire::Failure;

use crate::bare_value::bare;
use crate::cor;
use crate::expression_syntax::failed;
use crate::fields::class_up;
use crate::frame_numbers::FIRST_AWAITING_FRAME;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::value_path::{Path, PathRoot, PathSegment, UNREADABLE};
use crate::value_store::{CachedPath, ValueStore};

/// Longest path whose values are kept for the next one with the same beginning, steps.
const MAX_KEPT_LEN: usize = 64;

impl StopContext<'_> {
    /// Walks a path to its value.
    pub(crate) fn fetch(&self, path: &Path) -> Result<ClrValue, Failure> {
        let Some((last, before)) = path.steps.split_last() else { return self.start(path) };
        if path.steps.contains(&PathSegment::Behind) || before.len() > MAX_KEPT_LEN {
            return self.types.one_step(&self.walk(path, before)?, *last, path);
        }
        let holder = self.holder(path, before)?;
        let PathSegment::Field { up, token } = *last else {
            return self.types.one_step(&holder, *last, path);
        };
        let what = format_args!("read `{}`", path.name);
        let class = self.values.class_of_holder(&holder, up).map_err(cor(what))?;
        holder.field(&class, token).map_err(cor(what))
    }

    /// The holder of the value at the end of a path, walked from where the path differs
    /// from the previous one.
    pub(crate) fn holder(&self, path: &Path, before: &[PathSegment]) -> Result<ClrValue, Failure> {
        let resumes = self.debuggee.process()?.resume_count();
        let null = || null_in_path(path);
        let known = self.values.holder.take();
        let known = known.filter(|holder| holder.resumes == resumes && holder.root.is_same(&path.root));
        let mut holder = match known {
            Some(holder) => holder,
            None => {
                let start = bare(&self.start(path)?).ok_or_else(null)?;
                CachedPath {
                    resumes,
                    root: path.root.clone(),
                    steps: Vec::new(),
                    values: vec![start],
                    class: None,
                }
            }
        };
        let same = holder.steps.iter().zip(before).take_while(|(known, step)| known == step).count();
        if (holder.steps.len(), before.len()) != (same, same) {
            holder.class = None;
        }
        holder.steps.truncate(same);
        holder.values.truncate(same + 1);
        for step in before.get(same..).unwrap_or_default() {
            let last = holder.values.last().ok_or_else(null)?;
            let value = bare(&self.types.one_step(last, *step, path)?).ok_or_else(null)?;
            holder.steps.push(*step);
            holder.values.push(value);
        }
        let found = holder.values.last().cloned().ok_or_else(null);
        *self.values.holder.borrow_mut() = Some(holder);
        found
    }

    fn walk(&self, path: &Path, steps: &[PathSegment]) -> Result<ClrValue, Failure> {
        steps.iter().try_fold(self.start(path)?, |value, step| self.types.one_step(&value, *step, path))
    }

    /// The value at the start of a path.
    fn start(&self, path: &Path) -> Result<ClrValue, Failure> {
        let what = format_args!("read `{}`", path.name);
        match &path.root {
            PathRoot::Argument { thread, frame, index } => {
                self.frame_at(*thread, *frame)?.argument(*index).map_err(cor(what))
            }
            PathRoot::Local { thread, frame, slot } => {
                self.frame_at(*thread, *frame)?.local(*slot).map_err(cor(what))
            }
            PathRoot::Handle(handle) => handle.value().map_err(cor(what)),
            PathRoot::Memory { .. } => Err(failed(format!("`{}` {UNREADABLE}", path.name))),
            PathRoot::Exception { thread } => {
                self.debuggee.threads.exception_of(&self.debuggee.thread(*thread)?).map_err(cor(what))
            }
            PathRoot::Static { thread, frame, ty, token } => {
                // An async caller has no thread.
                let frame = if *frame < FIRST_AWAITING_FRAME { *frame } else { 0 };
                let frame = self.frame_at(*thread, frame)?;
                ty.static_field(*token, &frame).map_err(cor(what))
            }
        }
    }
}

impl ValueStore {
    /// The class of the value that [`Self::holder`] returned last, `up` base types above: fields of one
    /// object are fetched one after the other.
    fn class_of_holder(&self, value: &ClrValue, up: usize) -> cordebug::Result<Class> {
        let mut known = self.holder.borrow_mut();
        let known = known.as_mut().map(|holder| &mut holder.class);
        if let Some(Some((at, class))) = &known
            && *at == up
        {
            return Ok(class.clone());
        }
        let class = class_up(value, up)?;
        if let Some(known) = known {
            *known = Some((up, class.clone()));
        }
        Ok(class)
    }
}

impl ClrTypeSystem {
    fn one_step(&self, value: &ClrValue, step: PathSegment, path: &Path) -> Result<ClrValue, Failure> {
        let what = format_args!("read `{}`", path.name);
        let null = || null_in_path(path);
        match step {
            PathSegment::Field { up, token } => {
                let inner = bare(value).ok_or_else(null)?;
                let class = class_up(&inner, up).map_err(cor(what))?;
                inner.field(&class, token).map_err(cor(what))
            }
            PathSegment::Element(position) => {
                let inner = bare(value).ok_or_else(null)?;
                let array = inner.as_array();
                let array =
                    array.ok_or_else(|| Failure::invalid(format!("`{}` is not an array", path.name)))?;
                array.element(position).map_err(cor(what))
            }
            PathSegment::Behind => {
                let pointer = value.as_reference().ok_or_else(null)?;
                if pointer.is_null().map_err(cor(what))? {
                    return Err(null());
                }
                pointer.dereference().map_err(cor(what))
            }
        }
    }
}

fn null_in_path(path: &Path) -> Failure {
    Failure::invalid(format!("`{}` is null on the way", path.name))
}
