//! Whether Node loads code that it compiles in memory, by the attributes of a launch. Not here: the loader
//! that Tandem itself chooses for a TypeScript file ([`crate::typescript`]).

use std::path::Path;

use serde_json::Value;

use crate::target::Target;

/// Whether the launch itself sets a loader for TypeScript.
pub(super) fn loads_by_itself(target: &Target) -> bool {
    let runtime = target.attribute("runtimeExecutable").as_str().unwrap_or("node");
    let is_node = Path::new(runtime).file_name().is_some_and(|name| name == "node" || name == "nodejs");
    let given = target.attribute("runtimeArgs").as_array().map(Vec::as_slice);
    !is_node || has_loader_argument(given.unwrap_or_default())
}

fn has_loader_argument(runtime_args: &[Value]) -> bool {
    let loading = ["--import", "--loader", "--require", "-r", "--experimental-"];
    let mut given = runtime_args.iter().filter_map(Value::as_str);
    given.any(|word| loading.iter().any(|option| word.starts_with(option)))
}

/// Whether Node may run code that no file has, such as what jest, vitest and tsx compile. js-debug learns the
/// source map of a script when Node has loaded it, and maps breakpoints while the script runs already, unless
/// the script waits for it. A file that Node runs as it is, or a compiled file, does not need to wait:
/// js-debug reads its map before the launch.
pub(super) fn may_transform_in_memory(target: &Target, runtime_args: &[Value]) -> bool {
    is_of_a_package(&target.program) || loads_by_itself(target) || has_loader_argument(runtime_args)
}

pub(super) fn is_of_a_package(program: &Path) -> bool {
    program.components().any(|part| part.as_os_str() == "node_modules")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scripts_wait_for_source_maps_where_code_is_compiled_in_memory() {
        let waits = |attributes: Value, runtime_args: &[&str]| {
            let runtime_args: Vec<Value> = runtime_args.iter().map(|word| json!(word)).collect();
            may_transform_in_memory(&Target::parse(&attributes).unwrap(), &runtime_args)
        };
        assert!(!waits(json!({ "program": "/app/main.js" }), &[]));
        assert!(!waits(json!({ "program": "/app/main.js" }), &["--enable-source-maps"]));
        let tsx = ["--import", "file:///app/node_modules/tsx/x.mjs"];
        assert!(waits(json!({ "program": "/app/main.ts" }), &tsx));
        assert!(waits(json!({ "program": "/app/node_modules/jest/bin/jest.js" }), &[]));
        assert!(waits(json!({ "runtimeExecutable": "tsx", "program": "/app/main.ts" }), &[]));
    }
}
