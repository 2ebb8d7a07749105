//! Where an exception was thrown that another stack throws again: a task keeps it, and `await` or `GetResult` throws it anew. The
//! methods it was thrown in have ended; the exception itself still knows their places. Not the frames of the thread.

use std::rc::Rc;

use cordebug::frame::Frame;
use cordebug::value::Value as ClrValue;

use super::{MOST_FRAMES, When};
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;

/// A place an exception passed.
pub(in crate::engine::coreclr) struct Place {
    pub(in crate::engine::coreclr) loaded: Rc<Loaded>,
    /// MethodDef token.
    pub(in crate::engine::coreclr) method: u32,
    /// IL offset, if it is known.
    pub(in crate::engine::coreclr) il: Option<u32>,
}

impl Place {
    fn has_source(&self) -> bool {
        let pdb = self.loaded.pdb.as_ref().ok();
        pdb.zip(self.il).is_some_and(|(pdb, il)| pdb.point_at(self.method, il).is_some())
    }

    /// The first line of its statement.
    fn line(&self) -> Option<u32> {
        Some(self.loaded.pdb.as_ref().ok()?.point_at(self.method, self.il?)?.line)
    }

    fn is_in(&self, other: &(Rc<Loaded>, u32)) -> bool {
        self.loaded.id == other.0.id && self.method == other.1
    }
}

impl Session {
    /// The places an exception carries with it, innermost first.
    pub(super) fn places_of(&self, thrown: &ClrValue) -> Vec<Place> {
        let object = thrown.as_reference().and_then(|reference| reference.dereference().ok());
        let places = object.map(|object| object.exception_places()).unwrap_or_default();
        let place = |(module, method, address): &(cordebug::module::Module, u32, u64)| {
            let loaded = self.modules.of(module)?;
            let function = module.function(*method).ok();
            // The address is the one to return to, behind the call.
            let il = function.and_then(|function| function.il_offset_of(address.checked_sub(1)?));
            Some(Place { loaded, method: *method, il })
        };
        places.iter().take(MOST_FRAMES).filter_map(place).collect()
    }

    /// Where the exception a thread stopped at was first thrown, innermost first: the places with a source, if they lie in
    /// methods of the user's that the thread itself is not in; once in a task, not at that line. Empty for an exception that this stack has thrown.
    pub(in crate::engine::coreclr) fn origin(&self, thread: u32, frames: &[Frame]) -> Vec<Place> {
        let Some((_, at)) = self.throwing.filter(|(thrower, _)| *thrower == thread) else {
            return Vec::new();
        };
        let Some(thrown) = self.thread(thread).ok().and_then(|thread| self.exception_of(&thread).ok()) else {
            return Vec::new();
        };
        let mut places = self.places_of(&thrown);
        let live: Vec<_> = frames.iter().take(2 * MOST_FRAMES).map(|frame| self.method_of(frame)).collect();
        places.truncate(first_live(&places, &live));
        // An async method that keeps the exception in its task may call whoever awaits that: it stands elsewhere than where it
        // has thrown.
        let stands_there = |place: &Place, frame: &Frame| {
            let line = || place_of(frame, place).line();
            at != When::UserUnhandled || place.line() == line()
        };
        let is_live = |place: &Place| {
            let mut live = live.iter().zip(frames);
            live.any(|(method, frame)| {
                method.as_ref().is_some_and(|method| place.is_in(method)) && stands_there(place, frame)
            })
        };
        let is_elsewhere = |place: &Place| !is_live(place);
        places.retain(Place::has_source);
        let is_told =
            places.iter().any(|place| self.is_users(&place.loaded, place.method) && is_elsewhere(place));
        if is_told { places } else { Vec::new() }
    }

    /// For people: where the exception a thread stops at was thrown, if its own stack does not show it.
    pub(super) fn origin_line(&self, thread: u32) -> Option<String> {
        let frames = self.frames(thread).ok()?;
        let places = self.origin(thread, &frames);
        let users = places.iter().find(|place| self.is_users(&place.loaded, place.method))?;
        Some(self.place_line(&users.loaded, users.method, users.il))
    }
}

/// Where a frame stands in the method of a place.
fn place_of(frame: &Frame, place: &Place) -> Place {
    Place { loaded: place.loaded.clone(), method: place.method, il: frame.il_offset().ok() }
}

/// The index of the first place from which on they are the frames of the thread, from its top down.
fn first_live(places: &[Place], live: &[Option<(Rc<Loaded>, u32)>]) -> usize {
    let is_frame = |(place, frame): (&Place, &Option<(Rc<Loaded>, u32)>)| {
        frame.as_ref().is_some_and(|frame| place.is_in(frame))
    };
    let fits = |from: &usize| places.iter().skip(*from).zip(live).all(is_frame);
    (0..places.len()).find(fits).unwrap_or(places.len())
}
