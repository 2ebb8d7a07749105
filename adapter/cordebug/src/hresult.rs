//! Error codes of ICorDebug, each with its meaning in one sentence. Not here: the failure that a client gets
//! (`tandem-coreclr`).

/// An error of a COM call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorError {
    /// The method that failed: `Interface::Method`.
    pub call: &'static str,
    /// The HRESULT that it returned.
    pub hresult: u32,
}

impl std::error::Error for CorError {}

impl std::fmt::Display for CorError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.meaning() {
            Some((name, sentence)) => {
                write!(formatter, "{sentence} ({name} from {}, 0x{:08x})", self.call, self.hresult)
            }
            None => write!(formatter, "{} answered 0x{:08x}", self.call, self.hresult),
        }
    }
}

macro_rules! hresults {
    ($($name:ident = $value:literal $sentence:literal;)*) => {
        $(#[doc = $sentence] pub const $name: u32 = $value;)*

        impl CorError {
            /// The symbolic name and the meaning, if known.
            pub fn meaning(&self) -> Option<(&'static str, &'static str)> {
                match self.hresult { $($value => Some((stringify!($name), $sentence)),)* _ => None }
            }
        }
    };
}

hresults! {
    E_NOTIMPL = 0x8000_4001 "the runtime does not offer this";
    E_NOINTERFACE = 0x8000_4002 "the object is not of that kind";
    E_POINTER = 0x8000_4003 "the runtime returned nothing";
    E_FAIL = 0x8000_4005 "the runtime failed without a reason";
    E_INVALIDARG = 0x8007_0057 "the runtime does not accept an argument";
    E_ACCESSDENIED = 0x8007_0005 "access to the process was denied";
    ERROR_PARTIAL_COPY = 0x8007_012b "only a part of the memory can be read";
    ERROR_INVALID_ADDRESS = 0x8007_01e7 "the memory is read-only or not mapped";
    CORDBG_E_UNRECOVERABLE_ERROR = 0x8013_1300 "the debugging services of the runtime failed";
    CORDBG_E_PROCESS_TERMINATED = 0x8013_1301 "the process has ended";
    CORDBG_E_PROCESS_NOT_SYNCHRONIZED = 0x8013_1302 "the process runs; it must be stopped for this";
    CORDBG_E_CLASS_NOT_LOADED = 0x8013_1303 "the class is not loaded yet";
    CORDBG_E_IL_VAR_NOT_AVAILABLE = 0x8013_1304 "the variable is not available here; the code is optimised \
        or it is out of scope";
    CORDBG_E_BAD_REFERENCE_VALUE = 0x8013_1305 "the reference is bad";
    CORDBG_E_FIELD_NOT_AVAILABLE = 0x8013_1306 "the field is not available";
    CORDBG_E_NON_NATIVE_FRAME = 0x8013_1307 "the frame has no native code";
    CORDBG_E_CODE_NOT_AVAILABLE = 0x8013_1309 "the code is not available";
    CORDBG_E_FUNCTION_NOT_IL = 0x8013_130a "the function has no IL";
    CORDBG_E_CANT_SET_IP_INTO_FINALLY = 0x8013_130e "the next statement cannot be set into a finally block";
    CORDBG_E_CANT_SET_IP_OUT_OF_FINALLY = 0x8013_130f "the next statement cannot be set out of a finally \
        block";
    CORDBG_E_CANT_SET_IP_INTO_CATCH = 0x8013_1310 "the next statement cannot be set into a catch block";
    CORDBG_E_FUNC_EVAL_BAD_START_POINT = 0x8013_1313 "the thread cannot run an evaluation at its current \
        location";
    CORDBG_E_INVALID_OBJECT = 0x8013_1314 "the object is not valid any more";
    CORDBG_E_FUNC_EVAL_NOT_COMPLETE = 0x8013_1315 "the evaluation is not complete";
    CORDBG_E_STATIC_VAR_NOT_AVAILABLE = 0x8013_131a "the static field is not available yet";
    CORDBG_E_CANT_SET_IP_OUT_OF_FINALLY_ON_WIN64 = 0x8013_131e "the next statement cannot be set out of a \
        finally block";
    CORDBG_E_CANT_SET_IP_OUT_OF_CATCH_ON_WIN64 = 0x8013_131f "the next statement cannot be set out of a \
        catch block";
    CORDBG_E_OBJECT_NEUTERED = 0x8013_134f "the object belongs to an earlier stop";
    CORDBG_E_PROCESS_DETACHED = 0x8013_1c00 "the debugger has detached";
    CORDBG_E_TIMEOUT = 0x8013_1c08 "the process did not answer the debugger in time";
    CORDBG_E_CANNOT_BE_ON_ATTACH = 0x8013_1c13 "not possible after attaching to a running process";
    CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS = 0x8013_1c18 "an evaluation still runs in the process";
    CORDBG_E_ILLEGAL_IN_STACK_OVERFLOW = 0x8013_1c22 "the thread has no stack left";
    CORDBG_E_ILLEGAL_AT_GC_UNSAFE_POINT = 0x8013_1c23 "no evaluation is safe at the thread's current \
        location";
    CORDBG_E_ILLEGAL_IN_PROLOG = 0x8013_1c24 "the thread is at the very start of a method";
    CORDBG_E_ILLEGAL_IN_NATIVE_CODE = 0x8013_1c25 "the thread is in native code";
    CORDBG_E_ILLEGAL_IN_OPTIMIZED_CODE = 0x8013_1c26 "not possible in optimised code";
    CORDBG_E_DEBUGGING_DISABLED = 0x8013_1c35 "debugging is switched off in the process";
}

impl CorError {
    /// Whether the error means that a thread is at a location where it cannot run an evaluation.
    pub fn is_unsafe_location(&self) -> bool {
        matches!(
            self.hresult,
            CORDBG_E_FUNC_EVAL_BAD_START_POINT
                | CORDBG_E_ILLEGAL_IN_STACK_OVERFLOW
                | CORDBG_E_ILLEGAL_AT_GC_UNSAFE_POINT
                | CORDBG_E_ILLEGAL_IN_PROLOG
                | CORDBG_E_ILLEGAL_IN_NATIVE_CODE
                | CORDBG_E_ILLEGAL_IN_OPTIMIZED_CODE
        )
    }

    /// Returns success codes, which are not negative; any other becomes an error.
    pub(crate) fn check(call: &'static str, hresult: i32) -> Result<i32, Self> {
        if hresult < 0 { Err(Self { call, hresult: hresult as u32 }) } else { Ok(hresult) }
    }

    pub(crate) fn null(call: &'static str) -> Self {
        Self { call, hresult: E_POINTER }
    }
}
