//! What `launch` and `attach` say of how to debug: set once, before the program runs, and read by many. Not what to start
//! ([`super::program`]), nor where sources and symbols are ([`super::sources`], [`super::retrieval`]).

use dap_wire::Failure;
use serde_json::Value;

use super::logging::Logging;
use super::program::Attributes;

/// Options of a launch or attach that apply to the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) just_my_code: bool,
    /// Steps into calls leave out accessors and operators.
    pub(super) step_filters: bool,
    /// Rows may run the `ToString` of what they show.
    pub(super) allow_to_string: bool,
    /// Modules are compiled without optimisation, also those that are not the user's.
    pub(super) suppress_optimizations: bool,
    pub(super) logging: Logging,
}

impl Default for Options {
    /// Before a program is launched or attached to.
    fn default() -> Self {
        Self {
            just_my_code: true,
            step_filters: true,
            allow_to_string: false,
            suppress_optimizations: false,
            logging: Logging::default(),
        }
    }
}

impl Options {
    /// Reads the attributes; `ignored` gets what means nothing here.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, with what is wrong.
    pub(super) fn parse(arguments: &Value, ignored: &mut Vec<String>) -> Result<Self, Failure> {
        let attributes = Attributes(arguments);
        Ok(Self {
            just_my_code: attributes.flag("justMyCode", true)?,
            step_filters: attributes.flag("enableStepFiltering", true)?,
            allow_to_string: match &arguments["expressionEvaluationOptions"] {
                Value::Null => true,
                options @ Value::Object(_) => Attributes(options).flag("allowToString", true)?,
                other => {
                    let text = format!("`expressionEvaluationOptions` must be an object, not {other}");
                    return Err(Failure::invalid(text));
                }
            },
            suppress_optimizations: attributes.flag("suppressJITOptimizations", false)?,
            logging: Logging::parse(&arguments["logging"], ignored)?,
        })
    }
}
