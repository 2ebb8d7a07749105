//! Folders of Delve's settings, which it creates and writes before it gets a request.
//!
//! Not here: such folders of other adapters ([`crate::connection`]); they do not start programs themselves.

use serde_json::Value;
use tandem_wire::types;

use crate::target::Target;
use crate::user_folders;

/// Relative folders of settings, below which Delve would write its own: only the program gets them, by the
/// attribute `env`, which Delve applies after it has read its settings.
pub(super) fn withhold_relative_folders(
    target: &Target,
    env: &mut Vec<(String, Option<String>)>,
    arguments: &mut Value,
) {
    let unset: Vec<_> =
        user_folders::without_relative(|name| target.variable(name).map(Into::into)).collect();
    if unset.is_empty() {
        return;
    }
    let relative = unset.iter().map(|(name, _)| (name.clone(), target.variable(name)));
    let variables = target.env.iter().cloned().chain(relative);
    let variables: Value = variables.map(|(name, value)| (name, Value::from(value))).collect();
    types::set(arguments, "env", variables);
    env.extend(unset);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relative_folders_of_settings_reach_the_program_and_not_delve() {
        let target = |env: Value| Target::parse(&json!({ "program": "/bin/ls", "env": env })).unwrap();
        let changed = |target: &Target| {
            let (mut env, mut arguments) = (target.env.clone(), target.for_adapter(json!({})));
            withhold_relative_folders(target, &mut env, &mut arguments);
            (env, arguments)
        };
        let given = json!({ "XDG_CONFIG_HOME": "settings", "XDG_CACHE_HOME": "/c", "A": "b" });
        let (env, arguments) = changed(&target(given.clone()));
        assert_eq!(env.last(), Some(&("XDG_CONFIG_HOME".to_owned(), None)));
        assert_eq!(arguments["env"], given);
        let absolute = target(json!({ "XDG_CONFIG_HOME": "/settings", "A": null }));
        assert_eq!(changed(&absolute), (absolute.env.clone(), absolute.for_adapter(json!({}))));
    }
}
