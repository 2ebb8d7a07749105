//! Evaluations, which run code of the program: ICorDebugEval. One that is set up at a stop runs after
//! `Process::resume` until a callback reports its end. Not here: when to abort one, which the engine decides
//! (`tandem-coreclr`).

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::frame::Function;
use crate::module::Class;
use crate::raw;
use crate::types::Type;
use crate::value::Value;

/// An evaluation on a thread of the program.
#[derive(Clone)]
pub struct Eval(pub(crate) ComPtr<raw::ICorDebugEval>);

impl Eval {
    fn second(&self) -> Result<ComPtr<raw::ICorDebugEval2>> {
        self.0.cast()
    }

    /// Calls a method. `types` are the generic arguments of its class, then those of the method; `this`
    /// is the first argument.
    ///
    /// # Errors
    /// From `ICorDebugEval2::CallParameterizedFunction`, for example when no evaluation is safe at the
    /// thread's current location.
    pub fn call(&self, function: &Function, types: &[Type], arguments: &[Value]) -> Result<()> {
        let mut types: Vec<_> = types.iter().map(|kind| kind.0.as_ptr()).collect();
        let mut values: Vec<_> = arguments.iter().map(|value| value.0.as_ptr()).collect();
        call!(
            self.second()?,
            ICorDebugEval2.CallParameterizedFunction(
                function.0.as_ptr(),
                types.len() as u32,
                types.as_mut_ptr(),
                values.len() as u32,
                values.as_mut_ptr(),
            )
        )
        .map(drop)
    }

    /// Creates an object with a constructor. `types` are the generic arguments of the class.
    ///
    /// # Errors
    /// From `ICorDebugEval2::NewParameterizedObject`.
    pub fn new_object(&self, constructor: &Function, types: &[Type], arguments: &[Value]) -> Result<()> {
        let mut types: Vec<_> = types.iter().map(|kind| kind.0.as_ptr()).collect();
        let mut values: Vec<_> = arguments.iter().map(|value| value.0.as_ptr()).collect();
        call!(
            self.second()?,
            ICorDebugEval2.NewParameterizedObject(
                constructor.0.as_ptr(),
                types.len() as u32,
                types.as_mut_ptr(),
                values.len() as u32,
                values.as_mut_ptr(),
            )
        )
        .map(drop)
    }

    /// Creates an object of zeros without running a constructor. A struct is boxed.
    ///
    /// # Errors
    /// From `ICorDebugEval2::NewParameterizedObjectNoConstructor`.
    pub fn new_zeroed(&self, class: &Class, types: &[Type]) -> Result<()> {
        let mut types: Vec<_> = types.iter().map(|kind| kind.0.as_ptr()).collect();
        call!(
            self.second()?,
            ICorDebugEval2.NewParameterizedObjectNoConstructor(
                class.0.as_ptr(),
                types.len() as u32,
                types.as_mut_ptr()
            )
        )
        .map(drop)
    }

    /// Creates an array of zeros with one dimension.
    ///
    /// # Errors
    /// From `ICorDebugEval2::NewParameterizedArray`.
    pub fn new_array(&self, element: &Type, length: u32) -> Result<()> {
        let (mut length, mut lowest) = (length, 0);
        call!(
            self.second()?,
            ICorDebugEval2.NewParameterizedArray(element.0.as_ptr(), 1, &raw mut length, &raw mut lowest)
        )
        .map(drop)
    }

    /// Creates a string in the program.
    ///
    /// # Errors
    /// From `ICorDebugEval2::NewStringWithLength`.
    pub fn new_string(&self, text: &str) -> Result<()> {
        let units: Vec<u16> = text.encode_utf16().collect();
        call!(self.second()?, ICorDebugEval2.NewStringWithLength(units.as_ptr(), units.len() as u32))
            .map(drop)
    }

    /// Creates a zero of a primitive type, to be filled with `Value::set_bytes`; for `CLASS` a null
    /// reference. The program runs no code for this.
    ///
    /// # Errors
    /// From `ICorDebugEval::CreateValue`.
    pub fn create_value(&self, element_type: u32) -> Result<Value> {
        get!(self.0, ICorDebugEval.CreateValue(element_type, core::ptr::null_mut())).map(Value::from)
    }

    /// The returned value, or the exception that was thrown. `None` for void.
    pub fn result(&self) -> Option<Value> {
        get!(self.0, ICorDebugEval.GetResult()).ok().map(Value::from)
    }

    /// Requests the evaluation to abort. Its callback still follows.
    ///
    /// # Errors
    /// From `ICorDebugEval::Abort`.
    pub fn abort(&self) -> Result<()> {
        call!(self.0, ICorDebugEval.Abort()).map(drop)
    }

    /// Aborts the evaluation without running `catch` and `finally` blocks. The program may be left in
    /// an inconsistent state.
    ///
    /// # Errors
    /// From `ICorDebugEval2::RudeAbort`.
    pub fn rude_abort(&self) -> Result<()> {
        call!(self.second()?, ICorDebugEval2.RudeAbort()).map(drop)
    }
}
