//! Build options of a launch's project, which also select one of its outputs. Runs nothing.

use dap_wire::Failure;

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

    /// As arguments of `dotnet build`.
    pub fn of_build(&self) -> Vec<String> {
        let options = [("-c", &self.configuration), ("-f", &self.framework), ("-r", &self.runtime)];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
        given.flatten().chain(self.arguments.iter().cloned()).collect()
    }

    /// As arguments of an evaluation without a build: those that set properties.
    pub fn of_question(&self) -> Vec<String> {
        let sets = |argument: &&String| {
            ["-p:", "--property:", "-property:", "/p:", "/property:"]
                .iter()
                .any(|begin| argument.starts_with(begin))
        };
        let own = Self { arguments: Vec::new(), ..self.clone() };
        own.of_build().into_iter().chain(self.arguments.iter().filter(sets).cloned()).collect()
    }

    /// The requested options, for people.
    pub fn describe(&self) -> String {
        let parts = [&self.configuration, &self.framework, &self.runtime].into_iter().flatten();
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        if parts.is_empty() { String::new() } else { format!(" for {}", parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluation_arguments_build_nothing_and_set_the_same_properties() {
        let options = BuildOptions {
            configuration: Some("Release".into()),
            framework: Some("net10.0".into()),
            arguments: ["-p:X=1", "--no-restore", "-t:Clean"].map(String::from).to_vec(),
            ..BuildOptions::default()
        };
        assert_eq!(options.of_question(), ["-c", "Release", "-f", "net10.0", "-p:X=1"]);
        assert_eq!(options.of_build().len(), 7);
        assert_eq!(options.describe(), " for Release, net10.0");
    }
}
