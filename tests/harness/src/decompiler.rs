//! A program that behaves as documented for `ilspycmd`, as far as a debugger needs it: its options, the PDB
//! that it writes and how it ends. Its output is built in advance.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::distant::{DistantSources, with_id_of};

/// The options of ilspycmd 9 that matter.
const HELP: &str = "Usage: ilspycmd [options] <Assembly file name(s)>
  -o|--outputdir <directory>   The output directory
  -genpdb|--generate-pdb       Generate PDB.
  -usepdb|--use-varnames-from-pdb  Use variable names from PDB.
  -r|--referencepath <path>    Path to a directory containing dependencies
  --nested-directories         Use nested directories for namespaces.
  --disable-updatecheck        Do without the automatic update check.";

/// The program, in the test's folder.
pub struct Decompiler {
    folder: PathBuf,
}

impl Decompiler {
    /// Puts it into a folder `tools`. `does` is what it does for an assembly, as a shell's commands: `$out`
    /// is the folder it is to write to, `$name` the assembly's name, `$all` all arguments, `$made` a PDB with
    /// sources for the library of [`DistantSources`] that was built with `own`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(distant: &DistantSources, own: &[u8], does: &str) -> anyhow::Result<Self> {
        Self::with_help(distant, own, does, HELP)
    }

    /// As [`new`](Self::new), with other options.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn with_help(distant: &DistantSources, own: &[u8], does: &str, help: &str) -> anyhow::Result<Self> {
        let folder = distant.path("tools");
        std::fs::create_dir_all(&folder)?;
        let made = folder.join("made.pdb");
        std::fs::write(&made, with_id_of(&std::fs::read(distant.path("made/distantlib.pdb"))?, own)?)?;
        std::fs::write(folder.join("help"), help)?;
        let (log, help, pids, made) =
            (folder.join("log"), folder.join("help"), folder.join("pids"), made.display().to_string());
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\necho $$ >> '{}'\nmade='{made}' all=\"$*\"\n\
             while [ $# -gt 0 ]; do\n  case \"$1\" in\n  --help) cat '{}'; exit 0;;\n  --outputdir) out=$2; \
             shift;;\n  \
             --referencepath) shift;;\n  -*) ;;\n  *) name=$(basename \"$1\" .dll);;\n  esac\n  shift\n\
             done\n{does}\n",
            log.display(),
            pids.display(),
            help.display(),
        );
        let program = folder.join("ilspycmd");
        std::fs::write(&program, script)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { folder })
    }

    /// The path of the program.
    pub fn program(&self) -> PathBuf {
        self.folder.join("ilspycmd")
    }

    /// `PATH` with its folder in front.
    pub fn path(&self) -> String {
        format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap_or_default())
    }

    /// The arguments of each call so far.
    pub fn calls(&self) -> Vec<String> {
        lines(&self.folder.join("log"))
    }

    /// The processes that it was so far.
    pub fn processes(&self) -> Vec<u64> {
        lines(&self.folder.join("pids")).iter().filter_map(|line| line.parse().ok()).collect()
    }
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
