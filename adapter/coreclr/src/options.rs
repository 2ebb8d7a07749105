//! Options of `launch` and `attach` for debugging: set once, before the program runs, and read in many
//! places. Not the program ([`tandem_dotnet_launch::program`]), nor the locations of sources and symbols
//! ([`super::sources`], [`super::retrieval`]).

use serde_json::Value;
use tandem_wire::Failure;

use super::logging::LoggingOptions;
use tandem_dotnet_launch::Attributes;

/// Options of a launch or attach that apply to the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionOptions {
    pub(super) just_my_code: bool,
    /// Steps into calls skip accessors and operators.
    pub(super) step_filters: bool,
    /// Rows may call the `ToString` of their values.
    pub(super) allow_to_string: bool,
    /// All modules are compiled without optimisation, even libraries.
    pub(super) suppress_optimizations: bool,
    pub(super) logging: LoggingOptions,
}

impl Default for SessionOptions {
    /// Defaults, before a program is launched or attached to.
    fn default() -> Self {
        Self {
            just_my_code: true,
            step_filters: true,
            allow_to_string: false,
            suppress_optimizations: false,
            logging: LoggingOptions::default(),
        }
    }
}

impl SessionOptions {
    /// Reads the attributes; `ignored` receives unknown names.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, naming the invalid attribute.
    pub(super) fn parse(arguments: &Value, ignored: &mut Vec<String>) -> Result<Self, Failure> {
        let attributes = Attributes(arguments);
        Ok(Self {
            just_my_code: attributes.flag("justMyCode", true)?,
            step_filters: attributes.flag("enableStepFiltering", true)?,
            allow_to_string: match &arguments["expressionEvaluationOptions"] {
                Value::Null => true,
                options @ Value::Object(map) => {
                    let unknown = map.keys().filter(|name| *name != "allowToString");
                    ignored.extend(unknown.map(|name| format!("expressionEvaluationOptions.{name}")));
                    Attributes(options).flag("allowToString", true)?
                }
                other => {
                    let text = format!("`expressionEvaluationOptions` must be an object, not {other}");
                    return Err(Failure::invalid(text));
                }
            },
            suppress_optimizations: attributes.flag("suppressJITOptimizations", false)?,
            logging: LoggingOptions::parse(&arguments["logging"], ignored)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_evaluation_options_are_reported() {
        let mut ignored = Vec::new();
        let options =
            json!({ "expressionEvaluationOptions": { "allowToString": false, "showRawValues": true } });
        let read = SessionOptions::parse(&options, &mut ignored);
        assert!(read.is_ok_and(|options| !options.allow_to_string));
        assert_eq!(ignored, ["expressionEvaluationOptions.showRawValues"]);
    }
}
