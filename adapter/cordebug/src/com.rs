//! Reference-counted COM pointers, and the two macros that every wrapper uses. The vtables of ICorDebug are
//! in [`crate::raw`].

use core::ffi::c_void;
use core::ptr::NonNull;

use crate::hresult::CorError;

/// An interface id (IID).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guid(pub(crate) u32, pub(crate) u16, pub(crate) u16, pub(crate) [u8; 8]);

/// A COM interface with its id.
///
/// # Safety
/// `IID` must be the id of the interface whose layout the type has.
pub(crate) unsafe trait Interface {
    const IID: Guid;
}

/// The base of every COM interface.
#[repr(C)]
pub(crate) struct IUnknown {
    pub(crate) vtbl: *const IUnknownVtbl,
}

// SAFETY: the id of IUnknown.
unsafe impl Interface for IUnknown {
    const IID: Guid = Guid(0, 0, 0, [0xc0, 0, 0, 0, 0, 0, 0, 0x46]);
}

/// The three methods of IUnknown.
#[repr(C)]
#[allow(non_snake_case, reason = "names of the ABI")]
pub(crate) struct IUnknownVtbl {
    pub(crate) QueryInterface: unsafe extern "C" fn(*mut IUnknown, *const Guid, *mut *mut c_void) -> i32,
    pub(crate) AddRef: unsafe extern "C" fn(*mut IUnknown) -> u32,
    pub(crate) Release: unsafe extern "C" fn(*mut IUnknown) -> u32,
}

/// One counted reference. Not `Send`: COM pointers stay on the thread they are used on (see `callback`).
pub(crate) struct ComPtr<T: Interface>(NonNull<T>);

impl<T: Interface> ComPtr<T> {
    /// Takes over one reference.
    ///
    /// # Safety
    /// `pointer` must be null or a reference to a `T` that the caller owns.
    pub(crate) unsafe fn own(call: &'static str, pointer: *mut T) -> Result<Self, CorError> {
        NonNull::new(pointer).map(Self).ok_or(CorError::null(call))
    }

    /// Adds a reference to a borrowed pointer.
    ///
    /// # Safety
    /// `pointer` must be null or point to a live `T`.
    pub(crate) unsafe fn borrow(pointer: *mut T) -> Option<Self> {
        let pointer = NonNull::new(pointer)?;
        let unknown = pointer.as_ptr().cast::<IUnknown>();
        // SAFETY: every COM object begins with IUnknown's vtable.
        unsafe { ((*(*unknown).vtbl).AddRef)(unknown) };
        Some(Self(pointer))
    }

    /// The raw pointer, which is valid as long as `self`.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }

    /// Whether both are the same object: COM promises one IUnknown per object, not one pointer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let identity = |pointer: &Self| pointer.cast::<IUnknown>().map(|unknown| unknown.as_ptr());
        self.as_ptr() == other.as_ptr() || identity(self).is_ok_and(|own| identity(other) == Ok(own))
    }

    /// Queries the object for another of its interfaces.
    pub(crate) fn cast<U: Interface>(&self) -> Result<ComPtr<U>, CorError> {
        let unknown = self.0.as_ptr().cast::<IUnknown>();
        let mut found: *mut c_void = core::ptr::null_mut();
        // SAFETY: `unknown` is live; the object writes a counted reference of the requested type or null.
        let hresult = unsafe { ((*(*unknown).vtbl).QueryInterface)(unknown, &U::IID, &raw mut found) };
        CorError::check("QueryInterface", hresult)?;
        // SAFETY: as above.
        unsafe { ComPtr::own("QueryInterface", found.cast()) }
    }
}

impl<T: Interface> Clone for ComPtr<T> {
    fn clone(&self) -> Self {
        let unknown = self.0.as_ptr().cast::<IUnknown>();
        // SAFETY: `self` holds a reference, so the object is live.
        unsafe { ((*(*unknown).vtbl).AddRef)(unknown) };
        Self(self.0)
    }
}

impl<T: Interface> Drop for ComPtr<T> {
    fn drop(&mut self) {
        let unknown = self.0.as_ptr().cast::<IUnknown>();
        // SAFETY: releases the one reference of `self`.
        unsafe { ((*(*unknown).vtbl).Release)(unknown) };
    }
}

/// `call!(pointer, Interface.Method(arguments))`: calls a method of the pointer's interface or one it
/// inherits from. Once the program has ended, it returns `CORDBG_E_PROCESS_TERMINATED` without a call.
macro_rules! call {
    ($pointer:expr, $interface:ident . $method:ident ( $($argument:expr),* $(,)? )) => {{
        let this = $pointer.as_ptr().cast::<$crate::raw::$interface>();
        const METHOD: &str = concat!(stringify!($interface), "::", stringify!($method));
        let under_way = $crate::activity::LibraryCall::begin(&METHOD);
        let hresult = if $crate::imports::process_exit::knows_end() {
            $crate::hresult::CORDBG_E_PROCESS_TERMINATED.cast_signed()
        } else {
            // SAFETY: `this` is a live object whose vtable begins with that of `$interface` (the pointer's
            // own type or an interface it inherits from), and the arguments are valid for the call.
            unsafe { ((*(*this).vtbl).$method)(this, $($argument),*) }
        };
        drop(under_way);
        $crate::hresult::CorError::check(METHOD, hresult)
    }};
}

/// As `call!`, for methods whose last parameter receives a counted reference: returns it.
macro_rules! get {
    ($pointer:expr, $interface:ident . $method:ident ( $($argument:expr),* $(,)? )) => {{
        let mut out = core::ptr::null_mut();
        $crate::com::call!($pointer, $interface.$method($($argument,)* &raw mut out)).and_then(|_| {
            // SAFETY: a successful call wrote null or a reference that we own now.
            unsafe {
                $crate::com::ComPtr::own(concat!(stringify!($interface), "::", stringify!($method)), out)
            }
        })
    }};
}

pub(crate) use {call, get};
