//! Values: ICorDebugValue and the interfaces derived from it. All but handles are stale after the process
//! ran. Formats nothing: `tandem-coreclr` does.

mod array;
mod string_value;

use core::ffi::c_void;

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::frame::Function;
use crate::long_strings::LongString;
use crate::module::Class;
use crate::raw;

pub use crate::types::Type;
pub use array::Array;
use string_value::StringContents;
pub use string_value::StringValue;

/// CorElementType, ECMA-335 II.23.1.16: the types that the wrappers distinguish.
pub mod element {
    #![allow(missing_docs, reason = "the names of ECMA-335")]
    pub const VOID: u32 = 0x01;
    pub const BOOLEAN: u32 = 0x02;
    pub const CHAR: u32 = 0x03;
    pub const I1: u32 = 0x04;
    pub const U1: u32 = 0x05;
    pub const I2: u32 = 0x06;
    pub const U2: u32 = 0x07;
    pub const I4: u32 = 0x08;
    pub const U4: u32 = 0x09;
    pub const I8: u32 = 0x0a;
    pub const U8: u32 = 0x0b;
    pub const R4: u32 = 0x0c;
    pub const R8: u32 = 0x0d;
    pub const STRING: u32 = 0x0e;
    pub const PTR: u32 = 0x0f;
    pub const BYREF: u32 = 0x10;
    pub const VALUETYPE: u32 = 0x11;
    pub const CLASS: u32 = 0x12;
    pub const ARRAY: u32 = 0x14;
    pub const GENERICINST: u32 = 0x15;
    pub const I: u32 = 0x18;
    pub const U: u32 = 0x19;
    pub const FNPTR: u32 = 0x1b;
    pub const OBJECT: u32 = 0x1c;
    pub const SZARRAY: u32 = 0x1d;
}

/// CorDebugHandleType: HANDLE_STRONG.
const STRONG: u32 = 1;
/// CorDebugHandleType: HANDLE_WEAK_TRACK_RESURRECTION.
const WEAK: u32 = 2;

/// Maximum number of frames that are read of an exception's stack.
const MAX_EXCEPTION_FRAMES: usize = 1000;

/// CorDebugExceptionObjectStackFrame.
#[repr(C)]
struct ExceptionFrame {
    module: *mut raw::ICorDebugModule,
    address: u64,
    method: u32,
    is_last_foreign: i32,
}

impl Default for ExceptionFrame {
    fn default() -> Self {
        Self { module: core::ptr::null_mut(), address: 0, method: 0, is_last_foreign: 0 }
    }
}

/// A value in the program: of a variable, a field, an element, or a result.
#[derive(Clone)]
pub struct Value(pub(crate) ComPtr<raw::ICorDebugValue>, Option<LongString>);

impl From<ComPtr<raw::ICorDebugValue>> for Value {
    fn from(value: ComPtr<raw::ICorDebugValue>) -> Self {
        Self(value, None)
    }
}

impl Value {
    /// The CorElementType of the value, one of [`element`].
    ///
    /// # Errors
    /// From `ICorDebugValue::GetType`.
    pub fn element_type(&self) -> Result<u32> {
        if self.1.is_some() {
            return Ok(element::STRING);
        }
        let mut kind = 0;
        call!(self.0, ICorDebugValue.GetType(&raw mut kind))?;
        Ok(kind)
    }

    /// Size of the value in the program, in bytes.
    ///
    /// # Errors
    /// From `ICorDebugValue::GetSize`.
    pub fn size(&self) -> Result<u32> {
        let mut size = 0;
        call!(self.0, ICorDebugValue.GetSize(&raw mut size))?;
        Ok(size)
    }

    /// Address of the value; 0 for a value in a register.
    ///
    /// # Errors
    /// From `ICorDebugValue::GetAddress`.
    pub fn address(&self) -> Result<u64> {
        if let Some(long) = &self.1 {
            return Ok(long.address());
        }
        let mut address = 0;
        call!(self.0, ICorDebugValue.GetAddress(&raw mut address))?;
        Ok(address)
    }

    /// The type with its generic arguments: for a reference the declared type, for an
    /// object its run-time type.
    ///
    /// # Errors
    /// From `ICorDebugValue2::GetExactType`.
    pub fn exact_type(&self) -> Result<Type> {
        if self.1.is_some() {
            return Err(crate::hresult::CorError::null("ICorDebugValue2::GetExactType"));
        }
        let value: ComPtr<raw::ICorDebugValue2> = self.0.cast()?;
        get!(value, ICorDebugValue2.GetExactType()).map(Type)
    }

    /// The value as a reference, if it is one.
    pub fn as_reference(&self) -> Option<Reference> {
        if self.1.is_some() {
            return None;
        }
        self.0.cast().ok().map(Reference)
    }

    /// The content of a boxed value; `None` if the value is not boxed.
    pub fn unbox(&self) -> Option<Result<Value>> {
        let boxed: ComPtr<raw::ICorDebugBoxValue> = self.0.cast().ok()?;
        let object: Result<ComPtr<raw::ICorDebugObjectValue>> = get!(boxed, ICorDebugBoxValue.GetObject());
        Some(object.and_then(|object| object.cast()).map(Value::from))
    }

    /// The stack of an exception, innermost frame first: module, method token and machine address. Empty if
    /// the value is not an exception, or was not thrown.
    pub fn exception_frames(&self) -> Vec<(crate::module::Module, u32, u64)> {
        let read = || -> Result<Vec<_>> {
            let exception: ComPtr<raw::ICorDebugExceptionObjectValue> = self.0.cast()?;
            let list: ComPtr<raw::ICorDebugExceptionObjectCallStackEnum> =
                get!(exception, ICorDebugExceptionObjectValue.EnumerateExceptionCallStack())?;
            let mut frames = Vec::new();
            while frames.len() < MAX_EXCEPTION_FRAMES {
                let (mut frame, mut count) = (ExceptionFrame::default(), 0);
                let out = (&raw mut frame).cast();
                call!(list, ICorDebugExceptionObjectCallStackEnum.Next(1, out, &raw mut count))?;
                if count == 0 {
                    break;
                }
                // SAFETY: the enumerator returned one reference to the module.
                let module = unsafe { ComPtr::own("exception frame", frame.module) }?;
                frames.push((crate::module::Module(module), frame.method, frame.address));
            }
            Ok(frames)
        };
        read().unwrap_or_default()
    }

    /// Sets whether the runtime reports each handler that catches this exception, even if
    /// no user code sees it.
    ///
    /// # Errors
    /// From `ICorDebugExceptionObjectValue2::ForceCatchHandlerFoundEvents`; also if the value is not an
    /// exception, and before .NET 9.
    pub fn report_each_handler(&self, enabled: bool) -> Result<()> {
        let exception: ComPtr<raw::ICorDebugExceptionObjectValue2> = self.0.cast()?;
        let enabled = i32::from(enabled);
        call!(exception, ICorDebugExceptionObjectValue2.ForceCatchHandlerFoundEvents(enabled)).map(drop)
    }

    /// Whether this is a string that Tandem reads from the program's memory. The library knows no type of it.
    pub fn is_long_string(&self) -> bool {
        self.1.is_some()
    }

    /// The value as a string, if it is one.
    pub fn as_string(&self) -> Option<StringValue> {
        match &self.1 {
            Some(long) => Some(StringValue(StringContents::Long(long.clone()))),
            None => self.0.cast().ok().map(|string| StringValue(StringContents::Copied(string))),
        }
    }

    /// The value as an array, if it is one.
    pub fn as_array(&self) -> Option<Array> {
        self.0.cast().ok().map(Array)
    }

    /// A field of an object or struct; `class` is the one that declares the field.
    ///
    /// # Errors
    /// From `ICorDebugObjectValue::GetFieldValue`; also if the value is not an object.
    pub fn field(&self, class: &Class, token: u32) -> Result<Value> {
        let object: ComPtr<raw::ICorDebugObjectValue> = self.0.cast()?;
        get!(object, ICorDebugObjectValue.GetFieldValue(class.0.as_ptr(), token)).map(Value::from)
    }

    /// Target and method of a delegate; `None` if the value is not a delegate, or before .NET 8.
    pub fn as_delegate(&self) -> Option<(Result<Value>, Result<Function>)> {
        let delegate: ComPtr<raw::ICorDebugDelegateObjectValue> = self.0.cast().ok()?;
        let target: Result<ComPtr<raw::ICorDebugReferenceValue>> =
            get!(delegate, ICorDebugDelegateObjectValue.GetTarget());
        let function = get!(delegate, ICorDebugDelegateObjectValue.GetFunction()).map(Function);
        Some((target.and_then(|target| target.cast()).map(Value::from), function))
    }

    /// The bytes of a primitive or struct, at most 64 KiB.
    ///
    /// # Errors
    /// From `ICorDebugGenericValue::GetValue`; also if the value is larger or of another kind.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        if self.1.is_some() {
            return Err(crate::hresult::CorError::null("ICorDebugGenericValue::GetValue"));
        }
        let generic: ComPtr<raw::ICorDebugGenericValue> = self.0.cast()?;
        let size = self.size()? as usize;
        if size > 64 * 1024 {
            return Err(crate::hresult::CorError::null("ICorDebugGenericValue::GetValue"));
        }
        let mut bytes = vec![0u8; size.max(8)];
        call!(generic, ICorDebugGenericValue.GetValue(bytes.as_mut_ptr().cast::<c_void>()))?;
        bytes.truncate(size);
        Ok(bytes)
    }

    /// Overwrites a primitive or struct; `bytes` must have its size.
    ///
    /// # Errors
    /// From `ICorDebugGenericValue::SetValue`; also if the size differs.
    pub fn set_bytes(&self, bytes: &[u8]) -> Result<()> {
        let generic: ComPtr<raw::ICorDebugGenericValue> = self.0.cast()?;
        if bytes.len() != self.size()? as usize {
            return Err(crate::hresult::CorError::null("ICorDebugGenericValue::SetValue"));
        }
        let mut copy = bytes.to_vec();
        call!(generic, ICorDebugGenericValue.SetValue(copy.as_mut_ptr().cast::<c_void>())).map(drop)
    }

    /// A handle to this object on the heap that survives resumes; release it with [`Handle::dispose`].
    ///
    /// # Errors
    /// From `ICorDebugHeapValue2::CreateHandle`; also if the object is not on the heap.
    pub fn handle(&self) -> Result<Handle> {
        self.handle_of(STRONG)
    }

    /// The same, but the program may collect the object. The value of the handle is null then.
    ///
    /// # Errors
    /// From `ICorDebugHeapValue2::CreateHandle`; also if the object is not on the heap.
    pub fn weak_handle(&self) -> Result<Handle> {
        self.handle_of(WEAK)
    }

    fn handle_of(&self, kind: u32) -> Result<Handle> {
        let object: ComPtr<raw::ICorDebugValue> = match &self.1 {
            // Only a dereferenced object can create a handle, so the library copies the string.
            Some(_) => get!(self.0, ICorDebugReferenceValue.Dereference())?,
            None => self.0.clone(),
        };
        let heap: ComPtr<raw::ICorDebugHeapValue2> = object.cast()?;
        get!(heap, ICorDebugHeapValue2.CreateHandle(kind)).map(Handle)
    }
}

/// A value that refers to another.
pub struct Reference(ComPtr<raw::ICorDebugReferenceValue>);

impl Reference {
    /// Whether the reference is null.
    ///
    /// # Errors
    /// From `ICorDebugReferenceValue::IsNull`.
    pub fn is_null(&self) -> Result<bool> {
        let mut null = 0;
        call!(self.0, ICorDebugReferenceValue.IsNull(&raw mut null))?;
        Ok(null != 0)
    }

    /// The object that it refers to. A long string is not copied.
    ///
    /// # Errors
    /// From `ICorDebugValue::GetType` or `ICorDebugReferenceValue::Dereference`.
    pub fn dereference(&self) -> Result<Value> {
        let mut kind = 0;
        call!(self.0, ICorDebugValue.GetType(&raw mut kind))?;
        if matches!(kind, element::STRING | element::CLASS | element::OBJECT)
            && let Some(long) = LongString::at(self.target()?)
        {
            return Ok(Value(self.0.cast()?, Some(long)));
        }
        get!(self.0, ICorDebugReferenceValue.Dereference()).map(Value::from)
    }

    /// The address of the object that it refers to; 0 for null.
    ///
    /// # Errors
    /// From `ICorDebugReferenceValue::GetValue`.
    pub fn target(&self) -> Result<u64> {
        let mut target = 0;
        call!(self.0, ICorDebugReferenceValue.GetValue(&raw mut target))?;
        Ok(target)
    }

    /// Makes it refer to the object at this address, which must have a matching type, or to null (0).
    ///
    /// # Errors
    /// From `ICorDebugReferenceValue::SetValue`.
    pub fn set_target(&self, target: u64) -> Result<()> {
        call!(self.0, ICorDebugReferenceValue.SetValue(target)).map(drop)
    }
}

/// A handle to an object, strong or weak.
pub struct Handle(ComPtr<raw::ICorDebugHandleValue>);

impl Handle {
    /// The object as a reference value, which is valid until the next resume.
    ///
    /// # Errors
    /// `E_NOINTERFACE` from `QueryInterface`.
    pub fn value(&self) -> Result<Value> {
        self.0.cast().map(Value::from)
    }

    /// Lets the program collect the object.
    ///
    /// # Errors
    /// From `ICorDebugHandleValue::Dispose`; harmless when the process has ended.
    pub fn dispose(&self) -> Result<()> {
        call!(self.0, ICorDebugHandleValue.Dispose()).map(drop)
    }
}
