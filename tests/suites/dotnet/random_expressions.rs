//! Random expressions: the values that the debugger computes itself, and those that the compiler of an SDK
//! computes, equal the output of the compiled program.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::compiled::{any_compiler, modern};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::random_expressions::oracle::{OracleProgram, OracleResult};
use tandem_harness::random_expressions::{Expression, Expressions, Grammar};
use tandem_harness::transcript::Transcript;

/// Expressions that are evaluated together by the compiler.
const BATCH: usize = 40;
/// One of this many expressions is also evaluated alone, where there is a compiler.
const ALONE_EVERY: usize = 8;
/// Texts of this length may be shown in part.
const MAX_SHOWN: usize = 4_000;
/// Minimum number of comparisons of each construct in a long run.
const MIN_COMPARED: usize = 50;

dotnet_tests! {
    random_expressions_have_the_values_that_the_program_prints,
}

net10_tests! {
    random_expressions_of_today_have_the_values_that_the_program_prints,
}

async fn random_expressions_have_the_values_that_the_program_prints(runtime: Runtime) -> anyhow::Result<()> {
    Language::Older.agrees(runtime, &[1], 240).await.map(drop)
}

async fn random_expressions_of_today_have_the_values_that_the_program_prints(
    runtime: Runtime,
) -> anyhow::Result<()> {
    Language::Modern.agrees(runtime, &[1], 240).await.map(drop)
}

#[tokio::test]
#[ignore = "long: 20,000 expressions; `./check --long` runs it"]
async fn long_random_expressions_on_net31() -> anyhow::Result<()> {
    run_long(Language::Older, Runtime::Net31).await
}

#[tokio::test]
#[ignore = "long: 20,000 expressions; `./check --long` runs it"]
async fn long_random_expressions_on_net9() -> anyhow::Result<()> {
    run_long(Language::Older, Runtime::Net9).await
}

#[tokio::test]
#[ignore = "long: 20,000 expressions; `./check --long` runs it"]
async fn long_random_expressions_on_net10() -> anyhow::Result<()> {
    run_long(Language::Older, Runtime::Net10).await
}

#[tokio::test]
#[ignore = "long: 20,000 expressions; `./check --long` runs it"]
async fn long_random_expressions_of_today() -> anyhow::Result<()> {
    run_long(Language::Modern, Runtime::Net10).await
}

#[test]
fn a_seed_makes_the_same_expressions_and_uses_every_construct() {
    for grammar in [Grammar::OLDER, Grammar::MODERN] {
        let (mut one, mut other) = (Expressions::new(grammar, 7), Expressions::new(grammar, 7));
        let mut used: BTreeMap<&str, usize> = BTreeMap::new();
        for _ in 0..6_700 {
            let expression = one.next_expression();
            assert_eq!(expression, other.next_expression());
            for construct in expression.constructs {
                *used.entry(construct).or_default() += 1;
            }
        }
        for construct in grammar.constructs() {
            let count = used.get(construct).copied().unwrap_or(0);
            assert!(count >= 20, "{construct}: {count}");
        }
    }
}

/// Three seeds; prints how often each construct was compared.
#[allow(clippy::print_stderr, reason = "the counts are for the person who runs it")]
async fn run_long(language: Language, runtime: Runtime) -> anyhow::Result<()> {
    let count = std::env::var("TANDEM_RANDOM_EXPRESSIONS").ok().and_then(|count| count.parse().ok());
    let seeds = std::env::var("TANDEM_RANDOM_SEEDS").unwrap_or_else(|_| "11,12,13".into());
    let seeds: Vec<u64> = seeds.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let compared = language.agrees(runtime, &seeds, count.unwrap_or(6_700)).await?;
    let mut counts: Vec<(usize, &str)> = language.grammar().constructs().map(|text| (0, text)).collect();
    for (count, text) in &mut counts {
        *count = compared.get(text).copied().unwrap_or(0);
    }
    counts.sort_unstable();
    for (count, text) in &counts {
        eprintln!("{count:6} {text}");
    }
    let rare: Vec<_> = counts.iter().filter(|(count, _)| *count < MIN_COMPARED).collect();
    anyhow::ensure!(rare.is_empty(), "compared less than {MIN_COMPARED} times: {rare:?}");
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Older,
    Modern,
}

impl Language {
    fn grammar(self) -> Grammar {
        match self {
            Self::Older => Grammar::OLDER,
            Self::Modern => Grammar::MODERN,
        }
    }

    /// A session that is stopped where the variables are.
    async fn stopped(self, runtime: Runtime, compiler: Value) -> anyhow::Result<(DapClient, Value)> {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let frame = match self {
            Self::Older => {
                editor.launch("expressions", &["here"], json!({ "expressionCompiler": compiler })).await?;
                editor.stop().await?.1
            }
            Self::Modern => {
                let more = json!({ "args": ["table"], "expressionCompiler": compiler });
                let place = (modern("Table.cs"), "table");
                editor.launch_to(&fixture::modern_program("compiled"), place, more).await?.frame
            }
        };
        Ok((editor, frame["id"].clone()))
    }

    /// Checks random expressions; tells how often each construct was compared.
    async fn agrees(
        self,
        runtime: Runtime,
        seeds: &[u64],
        count: usize,
    ) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        let program = match self {
            Self::Older => OracleProgram::older(runtime),
            Self::Modern => OracleProgram::modern(),
        };
        let (mut own, own_frame) = self.stopped(runtime, json!("off")).await?;
        let (mut compiler, frame) = self.stopped(runtime, any_compiler()).await?;
        let mut found = ExpressionMismatches::default();
        for seed in seeds {
            let mut expressions = Expressions::new(self.grammar(), *seed);
            let expressions: Vec<Expression> = (0..count).map(|_| expressions.next_expression()).collect();
            let printed = program.run(&expressions).await?;
            let rows: Vec<(&Expression, &OracleResult)> = expressions.iter().zip(&printed).collect();
            for batch in rows.chunks(BATCH) {
                compare_with_compiler(&mut compiler, &frame, batch, &mut found).await?;
            }
            for (at, (expression, printed)) in rows.iter().enumerate() {
                let text = &expression.text;
                found.all += 1;
                if !matches!(printed, OracleResult::Error(_)) {
                    for construct in &expression.constructs {
                        *found.compared.entry(construct).or_default() += 1;
                    }
                }
                let result = evaluate_in_debugger(&mut own, text, &own_frame).await?;
                if let (OracleResult::Error(_), DebuggerResult::Value(_, value)) = (printed, &result) {
                    // Newer than the program's C#: the compiler of today knows.
                    let today = evaluate_batch(&mut compiler, &frame, &[text]).await?;
                    if today.as_ref().is_none_or(|values| values[..] != [value.clone()]) {
                        found.wrong.push(format!(
                            "{text}\n    own: {value}\n    today's compiler: {today:?}\n    \
                                printed: {printed:?}"
                        ));
                    }
                    continue;
                }
                let is_for_compiler = |construct: &&str| self.grammar().is_for_compiler(construct);
                match &result {
                    DebuggerResult::Refused(_) if result.is(printed) => {}
                    DebuggerResult::Refused(_) if expression.constructs.iter().any(is_for_compiler) => {}
                    DebuggerResult::Refused(message) if is_refusal(message) => {
                        found.refused.push(format!("{text}\n    {message}"));
                    }
                    _ => found.compare("own", text, &result, printed),
                }
                // The SDK's C# may accept an expression that C# 8 refuses.
                if at % ALONE_EVERY == 0 && !matches!(printed, OracleResult::Error(_)) {
                    let result = evaluate_in_debugger(&mut compiler, text, &frame).await?;
                    found.compare("with a compiler", text, &result, printed);
                }
            }
        }
        found.check()?;
        own.finish().await?;
        compiler.finish().await?;
        Ok(found.compared)
    }
}

/// The differences, and the counts of compared constructs.
#[derive(Debug, Default)]
struct ExpressionMismatches {
    all: usize,
    wrong: Vec<String>,
    refused: Vec<String>,
    compared: BTreeMap<&'static str, usize>,
}

impl ExpressionMismatches {
    fn compare(&mut self, how: &str, text: &str, result: &DebuggerResult, printed: &OracleResult) {
        if !result.is(printed) {
            self.wrong.push(format!("{text}\n    {how}: {result:?}\n    printed: {printed:?}"));
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        let (wrong, refused, all) = (&self.wrong, &self.refused, self.all);
        anyhow::ensure!(wrong.is_empty(), "{} of {all} differ:\n{}", wrong.len(), wrong.join("\n"));
        let many = refused.len() > all / 50;
        anyhow::ensure!(!many, "{} of {all} are refused:\n{}", refused.len(), refused.join("\n"));
        Ok(())
    }
}

/// An answer of the debugger.
#[derive(Debug)]
enum DebuggerResult {
    /// The type and the value.
    Value(String, String),
    Refused(String),
}

impl DebuggerResult {
    fn is(&self, printed: &OracleResult) -> bool {
        match (self, printed) {
            (Self::Value(_, shown), OracleResult::Value(_, value)) if value.len() > MAX_SHOWN => {
                shown.as_bytes().get(..MAX_SHOWN / 2) == value.as_bytes().get(..MAX_SHOWN / 2)
            }
            (Self::Value(kind, shown), OracleResult::Value(ty, value)) => kind == ty && shown == value,
            (Self::Refused(message), OracleResult::Exception(name)) => message.contains(name.as_str()),
            (Self::Refused(_), OracleResult::Error(_)) => true,
            _ => false,
        }
    }
}

async fn evaluate_in_debugger(
    editor: &mut DapClient,
    text: &str,
    frame: &Value,
) -> anyhow::Result<DebuggerResult> {
    let arguments = json!({ "expression": text, "frameId": frame, "context": "repl" });
    let result = editor.ask("evaluate", arguments).await?;
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(match result.success {
        true => DebuggerResult::Value(of(&result.body["type"]), of(&result.body["result"])),
        false => DebuggerResult::Refused(of(&result.body["error"]["variables"]["message"])),
    })
}

/// Whether an expression is left to the compiler, or refused for a documented reason.
fn is_refusal(message: &str) -> bool {
    message.contains("needs the C# compiler")
        || message.contains("which is an expression tree")
        || message.contains("C# does not define")
}

/// Compares what the debugger's compiler makes of those expressions that compile.
async fn compare_with_compiler(
    editor: &mut DapClient,
    frame: &Value,
    rows: &[(&Expression, &OracleResult)],
    found: &mut ExpressionMismatches,
) -> anyhow::Result<()> {
    let rows: Vec<_> =
        rows.iter().filter(|(_, printed)| !matches!(printed, OracleResult::Error(_))).collect();
    let mut waiting = vec![&rows[..]];
    while let Some(rows) = waiting.pop() {
        let texts: Vec<&str> = rows.iter().map(|(expression, _)| expression.text.as_str()).collect();
        match evaluate_batch(editor, frame, &texts).await? {
            Some(values) => {
                for ((expression, printed), value) in rows.iter().zip(values) {
                    let same = match printed {
                        OracleResult::Value(_, text) if text.len() > MAX_SHOWN => true,
                        OracleResult::Value(_, text) => *text == value,
                        OracleResult::Exception(name) => value == format!("\"!{name}\""),
                        OracleResult::Error(_) => false,
                    };
                    if !same {
                        let text = &expression.text;
                        found.wrong.push(format!("{text}\n    compiler: {value}\n    printed: {printed:?}"));
                    }
                }
            }
            None if rows.len() > 1 => {
                let (one, other) = rows.split_at(rows.len() / 2);
                waiting.extend([other, one]);
            }
            None => {
                let result = evaluate_in_debugger(editor, texts[0], frame).await?;
                found.wrong.push(format!("{}\n    does not compile in a batch; alone: {result:?}", texts[0]));
            }
        }
    }
    Ok(())
}

/// The values of expressions that are compiled together, each within a lambda; none when they do not compile.
async fn evaluate_batch(
    editor: &mut DapClient,
    frame: &Value,
    texts: &[&str],
) -> anyhow::Result<Option<Vec<String>>> {
    if texts.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let functions: Vec<String> = texts.iter().map(|text| format!("() => {text}")).collect();
    let all = format!(
        "new System.Func<object>[] {{ {} }}.Select(f => {{ try {{ return f(); }} catch (System.Exception e) \
            {{ return \"!\" + e.GetType().Name; }} }}).ToArray()",
        functions.join(", ")
    );
    let arguments = json!({ "expression": all, "frameId": frame, "context": "repl" });
    let result = editor.ask("evaluate", arguments).await?;
    if !result.success {
        return Ok(None);
    }
    let rows = json!({ "variablesReference": result.body["variablesReference"] });
    let rows = editor.ok("variables", rows).await?;
    let rows = rows["variables"].as_array().context("no rows")?;
    let values = rows.iter().filter(|row| row["name"].as_str().is_some_and(|name| name.starts_with('[')));
    let values: Vec<_> = values.map(|row| row["value"].as_str().unwrap_or_default().to_owned()).collect();
    anyhow::ensure!(values.len() == texts.len(), "{} values for {} expressions", values.len(), texts.len());
    Ok(Some(values))
}
