//! Build options of a launch's project, which also select one of its outputs. Runs nothing.

use std::path::Path;

use tandem_wire::Failure;

use super::super::attributes::Attributes;

/// Build options of a project, which also select one of its outputs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BuildOptions {
    pub configuration: Option<String>,
    pub framework: Option<String>,
    /// A runtime identifier (`linux-x64`).
    pub runtime: Option<String>,
    pub no_build: bool,
    /// Further arguments of `dotnet build`.
    pub arguments: Vec<String>,
}

impl BuildOptions {
    /// Reads the build options of a launch.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, naming the invalid attribute.
    pub fn of(attributes: &Attributes<'_>) -> Result<Self, Failure> {
        let text = |key: &str| Ok(attributes.text(key)?.map(str::to_owned));
        Ok(Self {
            configuration: text("configuration")?,
            framework: text("framework")?,
            runtime: text("runtimeIdentifier")?,
            no_build: attributes.flag("noBuild", false)?,
            arguments: attributes.texts("buildArguments")?,
        })
    }

    /// The command of `dotnet` that builds a project or solution.
    ///
    /// `dotnet build` leaves two empty folders behind in the folder for temporary files at each call, which
    /// MSBuild does not. MSBuild knows neither its options nor C# files without a project, and would restore
    /// only the framework of a build for one framework.
    pub fn build_command(&self, target: &Path) -> Vec<String> {
        let is_plain = self.framework.is_none() && self.runtime.is_none() && self.arguments.is_empty();
        if is_plain && !is_source(target) {
            return ["msbuild", "-restore"].map(String::from).into_iter().chain(self.properties()).collect();
        }
        ["build".to_owned()].into_iter().chain(self.flags()).chain(self.arguments.iter().cloned()).collect()
    }

    /// The command of `dotnet` that evaluates a project's properties without building it.
    pub fn evaluation_command(&self, project: &Path) -> Vec<String> {
        let sets = |argument: &&String| {
            ["-p:", "--property:", "-property:", "/p:", "/property:"]
                .iter()
                .any(|begin| argument.starts_with(begin))
        };
        let given = self.arguments.iter().filter(sets);
        if is_source(project) {
            return ["build".to_owned()].into_iter().chain(self.flags()).chain(given.cloned()).collect();
        }
        // MSBuild does not know the form with two hyphens.
        let given = given.map(|argument| match argument.strip_prefix("--") {
            Some(rest) => format!("-{rest}"),
            None => argument.clone(),
        });
        ["msbuild".to_owned()].into_iter().chain(self.properties()).chain(given).collect()
    }

    /// The options of `dotnet build`.
    fn flags(&self) -> impl Iterator<Item = String> {
        let options = [("-c", &self.configuration), ("-f", &self.framework), ("-r", &self.runtime)];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
        given.flatten()
    }

    /// The properties that these options set.
    fn properties(&self) -> impl Iterator<Item = String> {
        let runtime = self.runtime.as_ref().map(|_| "true".to_owned());
        let set = [
            ("Configuration", self.configuration.clone()),
            ("TargetFramework", self.framework.clone()),
            ("RuntimeIdentifier", self.runtime.clone()),
            ("_CommandLineDefinedRuntimeIdentifier", runtime),
        ];
        set.into_iter().filter_map(|(name, value)| Some(format!("-p:{name}={}", value?)))
    }

    /// The requested options, for people.
    pub fn describe(&self) -> String {
        let parts = [&self.configuration, &self.framework, &self.runtime].into_iter().flatten();
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        if parts.is_empty() { String::new() } else { format!(" for {}", parts.join(", ")) }
    }
}

/// Whether a target is a C# file without a project.
fn is_source(target: &Path) -> bool {
    target.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("cs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluation_commands_build_nothing_and_set_the_same_properties() {
        let options = BuildOptions {
            configuration: Some("Release".into()),
            framework: Some("net10.0".into()),
            arguments: ["-p:X=1", "--property:Y=2", "--no-restore", "-t:Clean"].map(String::from).to_vec(),
            ..BuildOptions::default()
        };
        let (project, source) = (Path::new("/w/a.csproj"), Path::new("/w/a.cs"));
        let evaluation =
            ["msbuild", "-p:Configuration=Release", "-p:TargetFramework=net10.0", "-p:X=1", "-property:Y=2"];
        assert_eq!(options.evaluation_command(project), evaluation);
        assert_eq!(options.evaluation_command(source)[0], "build");
        assert_eq!(options.build_command(project).len(), 9);
        assert_eq!(options.describe(), " for Release, net10.0");
    }

    #[test]
    fn a_build_without_options_of_its_own_leaves_no_temporary_folders() {
        let plain = BuildOptions { configuration: Some("Release".into()), ..BuildOptions::default() };
        let command = |options: &BuildOptions, target: &str| options.build_command(Path::new(target));
        assert_eq!(command(&plain, "/w/a.csproj"), ["msbuild", "-restore", "-p:Configuration=Release"]);
        assert_eq!(command(&plain, "/w"), ["msbuild", "-restore", "-p:Configuration=Release"]);
        assert_eq!(command(&plain, "/w/a.cs"), ["build", "-c", "Release"]);
        let runtime = BuildOptions { runtime: Some("linux-x64".into()), ..BuildOptions::default() };
        let arguments = BuildOptions { arguments: vec!["--no-restore".into()], ..BuildOptions::default() };
        for options in [runtime, arguments] {
            assert_eq!(command(&options, "/w/a.csproj")[0], "build");
        }
    }
}
