//! Native code that calls back: breakpoints and steps on both sides of it, and the stack across it.

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_callback_from_native_code_stops_with_the_stack_across_it,
    steps_go_through_native_code_into_what_it_calls_back_and_past_it,
}

net8_tests! {
    a_callback_from_native_code_stops_with_the_stack_across_it,
    steps_go_through_native_code_into_what_it_calls_back_and_past_it,
}

/// A callback from native code: markers of its statements, of the native call and the line
/// after it, and its methods.
struct NativeCallback {
    statements: [&'static str; 2],
    call: [&'static str; 2],
    methods: [&'static str; 2],
}

/// Callbacks by a delegate; and where the runtime supports it, by an `UnmanagedCallersOnly` method.
fn ways(runtime: Runtime) -> Vec<NativeCallback> {
    let mut ways = vec![NativeCallback {
        statements: ["compare", "compared"],
        call: ["sort", "sorted"],
        methods: [
            "Program.ByValue(nint one, nint other)",
            "Program.Sort(int[] numbers, Program.Comparison compare)",
        ],
    }];
    if runtime != Runtime::Net31 {
        ways.push(NativeCallback {
            statements: ["backwards", "turned"],
            call: ["sort back", "sorted back"],
            methods: [
                "Program.Backwards(nint one, nint other)",
                "Program.SortBackwards(int[] numbers, nint compare)",
            ],
        });
    }
    ways
}

async fn launch_to_stop(runtime: Runtime, marker: &str) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("native", &[marker], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("native", marker));
    editor.break_at("native", &[]).await?;
    Ok((editor, json!({ "threadId": thread })))
}

async fn a_callback_from_native_code_stops_with_the_stack_across_it(runtime: Runtime) -> anyhow::Result<()> {
    for way in ways(runtime) {
        let (mut editor, thread) = launch_to_stop(runtime, way.statements[1]).await?;
        let stack = editor.ok("stackTrace", thread.clone()).await?;
        let names: Vec<&str> = stack["stackFrames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|row| row["name"].as_str())
            .collect();
        let at = |name: &str| names.iter().position(|found| *found == name);
        let (callback, caller) = (at(way.methods[0]), at(way.methods[1]));
        let transition = at("[Managed to Native Transition]");
        assert!(callback == Some(0) && callback < transition && transition < caller, "{names:?}");
        // The caller is a method that was generated at run time for this call.
        assert_eq!(transition.and_then(|at| names.get(at + 1)), Some(&"[Lightweight Function]"), "{names:?}");
        assert_eq!(names.last(), Some(&"Program.Main()"));
        // On both sides there are variables, and code can be run.
        let caller = &stack["stackFrames"][caller.unwrap_or_default()];
        for (frame, expression) in
            [(&stack["stackFrames"][0], "left + right > 1"), (caller, "numbers.Length == 3")]
        {
            let arguments = json!({ "expression": expression, "frameId": frame["id"] });
            assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true", "{expression}");
        }
        let top = &stack["stackFrames"][0]["id"];
        let arguments = json!({ "expression": "left.ToString() + right.CompareTo(left)", "frameId": top });
        assert!(editor.ask("evaluate", arguments).await?.success);
        editor.ok("continue", thread).await?;
        editor.event("exited").await?;
        assert!(editor.output[0].starts_with("1 2 3\n"), "{}", editor.output[0]);
        editor.finish().await?;
    }
    Ok(())
}

async fn steps_go_through_native_code_into_what_it_calls_back_and_past_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for way in ways(runtime) {
        let first = fixture::line("native", way.statements[0]);
        let last = fixture::line("native", way.statements[1]);
        for (from, step, method, line) in [
            // Over it, though it calls back; into the callback, to its first brace.
            (way.call[0], "next", way.methods[1], fixture::line("native", way.call[1])),
            (way.call[0], "stepIn", way.methods[0], first - 1),
            // A step out of a callback ends after the call of the native code, even if
            // that calls more callbacks.
            (way.statements[0], "stepOut", way.methods[1], fixture::line("native", way.call[0])),
            (way.statements[1], "next", way.methods[0], last + 1),
        ] {
            let (mut editor, thread) = launch_to_stop(runtime, from).await?;
            editor.ok(step, thread).await?;
            let (_, frame) = editor.stop().await?;
            assert_eq!(
                (&frame["name"], &frame["line"]),
                (&json!(method), &json!(line)),
                "{step} from {from}"
            );
            editor.finish().await?;
        }
    }
    Ok(())
}
