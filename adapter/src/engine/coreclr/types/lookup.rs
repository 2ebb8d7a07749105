//! Types by name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use clr_metadata::imports::Imports;
use cordebug::frame::Frame;
use cordebug::module::Class;
use cordebug::value::Value as ClrValue;

use super::Ty;
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::names::is_generated;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::values::{Root, Step};

/// A type's module and TypeDef token.
type Place = (usize, u32);

/// Frames of a thread at one stop, from the top.
pub(crate) struct Stack {
    /// `Process::resumes` when they were walked.
    pub(crate) resumes: u64,
    pub(crate) thread: u32,
    /// How many were asked for.
    pub(crate) asked: usize,
    pub(crate) frames: Vec<Frame>,
}

/// The values on the way to the one fetched last: rows of one object or array are fetched one after the other.
pub(crate) struct Holder {
    /// `Process::resumes` when it was fetched.
    pub(crate) resumes: u64,
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    /// Where it starts and after each step, behind references and out of boxes.
    pub(crate) values: Vec<ClrValue>,
    /// The class so many base types up from the last, which declares the field fetched last.
    pub(crate) class: Option<(usize, Class)>,
}

/// What was looked up before. Modules never change; new ones only add.
#[derive(Default)]
pub(crate) struct Known {
    /// (module, TypeRef) to (module, TypeDef).
    pub(crate) references: RefCell<HashMap<Place, Place>>,
    /// Full name to (module, TypeDef), with how many modules there were when it was not found.
    names: RefCell<HashMap<String, Result<Place, usize>>>,
    pub(crate) stack: RefCell<Option<Stack>>,
    /// Types whose display took too long, or broke: they are not asked again.
    pub(crate) mute: RefCell<std::collections::HashSet<String>>,
    /// Classes whose static constructors were run.
    pub(crate) initialised: RefCell<std::collections::HashSet<Ty>>,
    /// What the value fetched last is in.
    pub(crate) holder: RefCell<Option<Holder>>,
    /// How deep members that are shown as their own members are in each other.
    pub(crate) rooted: std::cell::Cell<usize>,
    /// How deep displays are in displays.
    pub(crate) depth: std::cell::Cell<u32>,
    /// IL of short getters.
    pub(crate) getters: RefCell<HashMap<Place, Option<Vec<u8>>>>,
}

/// Namespaces that are searched besides those of the code.
const NAMESPACES: [&str; 8] = [
    "System",
    "System.Collections.Generic",
    "System.Linq",
    "System.Text",
    "System.Threading",
    "System.Threading.Tasks",
    "System.IO",
    "System.Collections",
];

impl Session {
    /// A type by its full name, in any module: the core library first, then the user's.
    pub(crate) fn type_named(&self, full: &str) -> Option<(Rc<Loaded>, u32)> {
        let count = self.modules.count();
        match self.known.names.borrow().get(full) {
            Some(Ok((module, token))) => return Some((self.modules.by_id(*module)?, *token)),
            Some(Err(then)) if *then == count => return None,
            _ => {}
        }
        let all = self.modules.all();
        let ordered = all.iter().filter(|loaded| loaded.is_core());
        let ordered = ordered.chain(all.iter().filter(|loaded| loaded.pdb.is_ok()));
        let mut ordered = ordered.chain(all.iter().filter(|loaded| !loaded.is_core() && loaded.pdb.is_err()));
        let found =
            ordered.find_map(|loaded| Some((loaded.clone(), loaded.image()?.metadata.find_type(full)?)));
        let entry = found.as_ref().map(|(loaded, token)| (loaded.id, *token)).ok_or(count);
        self.known.names.borrow_mut().insert(full.to_owned(), entry);
        found
    }

    /// A type of an assembly, wherever it moved to.
    pub(crate) fn type_in(&self, assembly: Option<&str>, full: &str) -> Option<(Rc<Loaded>, u32)> {
        if let Some(assembly) = assembly
            && !matches!(assembly, "System.Runtime" | "netstandard" | "mscorlib")
        {
            let all = self.modules.all();
            let loaded =
                all.iter().find(|loaded| loaded.path.file_stem().is_some_and(|stem| stem == assembly));
            if let Some(loaded) = loaded
                && let Some(token) = loaded.image().and_then(|image| image.metadata.find_type(full))
            {
                return Some((loaded.clone(), token));
            }
        }
        self.type_named(full)
    }

    /// A type without generic arguments, by its full name.
    pub(crate) fn ty_named(&self, full: &str) -> Option<Ty> {
        let (loaded, token) = self.type_named(full)?;
        Some(self.defined(&loaded, token, None, Vec::new()))
    }

    /// A generic type with arguments, by its full name with arity.
    pub(crate) fn ty_generic(&self, full: &str, arguments: Vec<Ty>) -> Option<Ty> {
        let (loaded, token) = self.type_named(full)?;
        Some(self.defined(&loaded, token, None, arguments))
    }

    /// The class whose method a frame runs, as people mean it: not a closure or state machine inside it.
    pub(crate) fn class_at(&self, thread: u32, frame: usize) -> Option<Ty> {
        let (loaded, method, arguments) = self.code_at(thread, frame)?;
        let metadata = &loaded.image()?.metadata;
        let mut owner = metadata.owner_of(method);
        while is_generated(metadata.simple_name(owner)) {
            owner = metadata.enclosing_type(owner)?;
        }
        let wanted = metadata.generic_parameters(owner).len();
        let arguments = arguments.into_iter().take(wanted).collect();
        Some(self.defined(&loaded, owner, None, arguments))
    }

    /// A type by the name code in a frame would use, with this many generic arguments.
    pub(crate) fn type_visible(
        &self,
        name: &str,
        arity: usize,
        class: Option<&Ty>,
        imports: &Imports,
    ) -> Option<(Rc<Loaded>, u32)> {
        let name = if arity > 0 { format!("{name}`{arity}") } else { name.to_owned() };
        // Classes around the code, then its namespaces from the inside out, then those in common use.
        let mut prefixes: Vec<String> = Vec::new();
        if let Some(class) = class {
            let mut full = self.full_name(class);
            loop {
                prefixes.push(full.clone());
                match full.rfind('.') {
                    Some(at) => full.truncate(at),
                    None => break,
                }
            }
            // Nested types of base classes are visible too.
            let mut base = self.base_of(class);
            while let Some(ty) = base {
                prefixes.push(self.full_name(&ty));
                base = self.base_of(&ty);
            }
        }
        prefixes.push(String::new());
        prefixes.extend(imports.namespaces.iter().cloned());
        prefixes.extend(NAMESPACES.map(str::to_owned));
        let found = prefixes.iter().find_map(|prefix| {
            let full = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            self.type_named(&full)
        });
        // Last, the only type of the user's that has this name, wherever it is.
        found.or_else(|| {
            let mut all =
                self.modules.all().iter().filter(|loaded| !loaded.is_framework()).flat_map(|loaded| {
                    let metadata = loaded.image().map(|image| &image.metadata);
                    let tokens = metadata.into_iter().flat_map(|metadata| {
                        metadata.type_tokens().filter(|token| metadata.simple_name(*token) == name)
                    });
                    tokens.map(|token| (loaded.clone(), token)).collect::<Vec<_>>()
                });
            let only = all.next();
            if all.next().is_some() { None } else { only }
        })
    }

    /// The `using` directives around a frame's code, with the module they are in.
    pub(crate) fn imports_at(&self, thread: u32, frame: usize) -> Option<(Rc<Loaded>, Imports)> {
        let (loaded, method, _) = self.code_at(thread, frame)?;
        let pdb = loaded.pdb.as_ref().ok()?;
        let imports = pdb.imports(pdb.kickoff(method).unwrap_or(method));
        Some((loaded, imports))
    }

    /// Whether any type lies in this namespace.
    pub(crate) fn is_namespace(&self, name: &str) -> bool {
        if NAMESPACES.contains(&name) {
            return true;
        }
        let prefix = format!("{name}.");
        self.modules.all().iter().any(|loaded| {
            loaded.image().is_some_and(|image| {
                image.metadata.type_tokens().any(|token| {
                    let space = image.metadata.namespace(token);
                    space == name || space.starts_with(&prefix)
                })
            })
        })
    }
}
