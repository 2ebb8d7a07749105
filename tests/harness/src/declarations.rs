//! Macros that declare one test for several runtimes, or with several arguments.
//!
//! Not here: which of them a run of the checks leaves out (`scripts/lib/checks/rust_tests.py`).

/// Declares tests on one runtime, in a module that `check` can leave out by its name.
#[macro_export]
macro_rules! tests_on {
    ($module:ident, $runtime:ident: $($test:ident),* $(,)?) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() -> anyhow::Result<()> {
                super::$test($crate::fixture::Runtime::$runtime.ensure_installed()?).await
            })*
        }
    };
}

/// Declares tests on .NET Core 3.1 and .NET 9, which set-up installs, and on .NET 10. If no SDK 10 is
/// installed, `check` leaves the modules `on_net10` out, and the runner counts their tests as skipped.
#[macro_export]
macro_rules! dotnet_tests {
    ($($test:ident),* $(,)?) => {
        $crate::tests_on! { on_net31, Net31: $($test),* }
        $crate::tests_on! { on_net9, Net9: $($test),* }
        $crate::tests_on! { on_net10, Net10: $($test),* }
    };
}

/// Declares tests on the runtimes that set-up installs only. Each use says why .NET 10 makes no difference.
#[macro_export]
macro_rules! older_dotnet_tests {
    ($($test:ident),* $(,)?) => {
        $crate::tests_on! { older_on_net31, Net31: $($test),* }
        $crate::tests_on! { older_on_net9, Net9: $($test),* }
    };
}

/// Declares those tests of a file that also run on .NET 8: some of every area. If no runtime 8 is installed,
/// `check` leaves the modules `on_net8` out.
#[macro_export]
macro_rules! net8_tests {
    ($($test:ident),* $(,)?) => {
        $crate::tests_on! { on_net8, Net8: $($test),* }
    };
}

/// Declares tests with programs of `fixtures/programs/modern`, which only .NET 10 runs. `check` leaves them
/// out as it does those of `dotnet_tests!`.
#[macro_export]
macro_rules! net10_tests {
    ($($test:ident),* $(,)?) => {
        $crate::tests_on! { modern_on_net10, Net10: $($test),* }
    };
}

/// Declares tests that run one scenario with different arguments: `name: scenario(argument, …)`.
#[macro_export]
macro_rules! parameterized_tests {
    ($($name:ident: $scenario:ident($($argument:expr),*)),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            $scenario($($argument),*).await
        })*
    };
}
