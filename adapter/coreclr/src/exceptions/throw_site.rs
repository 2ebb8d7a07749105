//! The origin of an exception that another stack throws again: a task stores it, and `await` or `GetResult`
//! rethrows it. The methods that threw it have ended; the exception still knows their locations. Does not
//! handle the frames of the thread.

use std::rc::Rc;

use cordebug::frame::Frame;
use cordebug::value::Value as ClrValue;
use tandem_wire::types::ThrowPlace;

use super::{ExceptionStage, MAX_FRAMES};
use crate::debuggee::ClrDebuggee;
use crate::exceptions::Exceptions;
use crate::modules::LoadedModule;
use crate::sources::{SourceLocator, Sources};
use crate::types::ClrTypeSystem;

/// A location that an exception passed.
pub(crate) struct ThrowLocation {
    pub(crate) loaded: Rc<LoadedModule>,
    /// Token of its MethodDef row.
    pub(crate) method: u32,
    /// IL offset, if it is known.
    pub(crate) il: Option<u32>,
}

impl ThrowLocation {
    fn has_source(&self) -> bool {
        let pdb = self.loaded.pdb.as_ref().ok();
        pdb.zip(self.il).is_some_and(|(pdb, il)| pdb.point_at(self.method, il).is_some())
    }

    /// The first line of its statement.
    fn line(&self) -> Option<u32> {
        Some(self.loaded.pdb.as_ref().ok()?.point_at(self.method, self.il?)?.line)
    }

    fn is_in(&self, other: &(Rc<LoadedModule>, u32)) -> bool {
        self.loaded.id == other.0.id && self.method == other.1
    }
}

impl ClrTypeSystem {
    /// The locations that an exception carries, innermost first.
    pub(super) fn places_of(&self, thrown: &ClrValue) -> Vec<ThrowLocation> {
        let object = thrown.as_reference().and_then(|reference| reference.dereference().ok());
        let places = object.map(|object| object.exception_frames()).unwrap_or_default();
        let place = |(module, method, address): &(cordebug::module::Module, u32, u64)| {
            let loaded = self.modules.of(module)?;
            let function = module.function(*method).ok();
            // The address is the return address, after the call.
            let il = function.and_then(|function| function.il_offset_of(address.checked_sub(1)?));
            Some(ThrowLocation { loaded, method: *method, il })
        };
        places.iter().take(MAX_FRAMES).filter_map(place).collect()
    }

    /// The IL offset that a frame is shown at: its current one, or the offset that threw if the method, in
    /// code without a source, only stores the exception in its task by now and calls the awaiting code.
    pub(crate) fn il_shown(&self, frame: &Frame, origin: &[ThrowLocation]) -> Option<u32> {
        let il = frame.il_offset().ok();
        let has_thrown = || {
            let method = self.method_of(frame)?;
            let place = origin.iter().find(|place| place.is_in(&method))?;
            let keeps = method.0.pdb.as_ref().ok()?.is_hidden(method.1, il?);
            place.il.filter(|_| keeps)
        };
        has_thrown().or(il)
    }
}

impl Exceptions {
    /// Where the exception of a stop was first thrown, innermost first: the locations with a source, if they
    /// are in user methods that the thread itself is not in; once in a task, not at that line. Empty for an
    /// exception that this stack has thrown.
    pub(crate) fn origin(
        &self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        thread: u32,
        frames: &[Frame],
    ) -> Vec<ThrowLocation> {
        let Some((_, at)) = self.throwing.filter(|(thrower, _)| *thrower == thread) else {
            return Vec::new();
        };
        let Some(thrown) =
            debuggee.thread(thread).ok().and_then(|thread| debuggee.threads.exception_of(&thread).ok())
        else {
            return Vec::new();
        };
        let mut places = types.places_of(&thrown);
        let live: Vec<_> = frames.iter().take(2 * MAX_FRAMES).map(|frame| types.method_of(frame)).collect();
        places.truncate(first_live(&places, &live));
        // An async method that stores the exception in its task may call the awaiting code: its offset is no
        // longer the one that threw.
        let stands_there = |place: &ThrowLocation, frame: &Frame| {
            let line = || place_of(frame, place).line();
            at != ExceptionStage::UserUnhandled || place.line() == line()
        };
        let is_live = |place: &ThrowLocation| {
            let mut live = live.iter().zip(frames);
            live.any(|(method, frame)| {
                method.as_ref().is_some_and(|method| place.is_in(method)) && stands_there(place, frame)
            })
        };
        let is_elsewhere = |place: &ThrowLocation| !is_live(place);
        places.retain(ThrowLocation::has_source);
        let is_told = places
            .iter()
            .any(|place| types.modules.is_users(&place.loaded, place.method) && is_elsewhere(place));
        if is_told { places } else { Vec::new() }
    }

    /// Where user code threw the exception of a stop, or let it pass, if the thread's stack does not show it.
    fn users_origin(
        &self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        thread: u32,
    ) -> Option<ThrowLocation> {
        let frames = debuggee.frames(thread).ok()?;
        let mut places = self.origin(debuggee, types, thread, &frames).into_iter();
        places.find(|place| types.modules.is_users(&place.loaded, place.method))
    }

    /// The origin as a line of text, for users.
    pub(crate) fn origin_line(
        &self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        thread: u32,
    ) -> Option<String> {
        let place = self.users_origin(debuggee, types, thread)?;
        Some(sources.place_line(&place.loaded, place.method, place.il))
    }

    /// The same for the answer to `exceptionInfo`.
    pub(super) fn origin_frame(
        &self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &Sources,
        thread: u32,
    ) -> Option<ThrowPlace> {
        let place = self.users_origin(debuggee, types, thread)?;
        let point = place.loaded.pdb.as_ref().ok()?.point_at(place.method, place.il?)?;
        Some(ThrowPlace {
            name: place.loaded.method_display(place.method),
            source: sources.source_body(&place.loaded, point.document),
            line: point.line.into(),
        })
    }
}

/// A frame's position in the method of a location.
fn place_of(frame: &Frame, place: &ThrowLocation) -> ThrowLocation {
    ThrowLocation { loaded: place.loaded.clone(), method: place.method, il: frame.il_offset().ok() }
}

/// The index of the first location from which all are frames of the thread, from its top down.
fn first_live(places: &[ThrowLocation], live: &[Option<(Rc<LoadedModule>, u32)>]) -> usize {
    let is_frame = |(place, frame): (&ThrowLocation, &Option<(Rc<LoadedModule>, u32)>)| {
        frame.as_ref().is_some_and(|frame| place.is_in(frame))
    };
    let fits = |from: &usize| places.iter().skip(*from).zip(live).all(is_frame);
    (0..places.len()).find(fits).unwrap_or(places.len())
}
