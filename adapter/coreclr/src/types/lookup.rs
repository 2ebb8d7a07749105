//! Types by name.
//!
//! Not here: types for the binder ([`super::library`]).

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use tandem_csharp::types::Def;

use super::Ty;
use crate::modules::LoadedModule;
use crate::names::is_anonymous;
use crate::types::ClrTypeSystem;

/// Namespaces that are searched in addition to those of the code.
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

impl ClrTypeSystem {
    /// A type by its full name, in any module: the core library first, then the user's.
    pub(crate) fn type_named(&self, full: &str) -> Option<(Rc<LoadedModule>, u32)> {
        let count = self.modules.count();
        match self.names.borrow().get(full) {
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
        self.names.borrow_mut().insert(full.to_owned(), entry);
        found
    }

    /// A type by its full name, as code of a module resolves it: its own types hide those of other modules,
    /// and those of assemblies that it references hide those that are only loaded.
    pub(crate) fn type_seen_from(&self, module: usize, full: &str) -> Option<(Rc<LoadedModule>, u32)> {
        let anywhere = self.type_named(full)?;
        let Some(from) = self.modules.by_id(module).filter(|from| from.id != anywhere.0.id) else {
            return Some(anywhere);
        };
        if let Some(own) = find_declared(&from, full) {
            return Some(own);
        }
        if anywhere.0.is_core() {
            return Some(anywhere);
        }
        let names = from.image().map(|image| image.metadata.assembly_references()).unwrap_or_default();
        let mut found = names
            .into_iter()
            .filter_map(|name| find_declared(&self.resolve_assembly(&from, name)?, full))
            .peekable();
        let first = found.peek().cloned();
        let visible = found.find(|(loaded, token)| self.is_visible_from(module, loaded.id, *token));
        visible.or(first).or(Some(anywhere))
    }

    /// Whether code of a module may name a type of a module: one of the same module, a public one, or one of
    /// an assembly that makes its internals visible to the code's (`InternalsVisibleTo`).
    pub(crate) fn is_visible_from(&self, from: usize, module: usize, token: u32) -> bool {
        if from == module {
            return true;
        }
        let (Some(from), Some(loaded)) = (self.modules.by_id(from), self.modules.by_id(module)) else {
            return false;
        };
        let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return false };
        metadata.is_public_type(token)
            || from.path.file_stem().is_some_and(|name| {
                metadata.friend_assemblies().iter().any(|friend| name.eq_ignore_ascii_case(friend))
            })
    }

    /// A type of one file (`file class`), by its full name in the source, for code of a class in that file.
    pub(crate) fn file_type(&self, from: Def, full: &str) -> Option<Def> {
        let loaded = self.modules.by_id(from.module)?;
        let (metadata, pdb) = (&loaded.image()?.metadata, loaded.pdb.as_ref().ok()?);
        let named = metadata.file_types().get(full)?;
        let documents = |ty: u32| {
            // The code of a state machine is in a class inside.
            let classes = [ty].into_iter().chain(metadata.nested_types(ty));
            let methods = classes.flat_map(|class| metadata.methods(class));
            methods
                .flat_map(|method| pdb.points(method).first().map(|point| point.document))
                .collect::<Vec<_>>()
        };
        let own = documents(from.token);
        let is_near = |ty: &&u32| match documents(**ty).as_slice() {
            // Without code, only its name says which file it is in.
            [] => own.iter().any(|document| is_of_file(metadata.simple_name(**ty), pdb.document(*document))),
            all => all.iter().any(|document| own.contains(document)),
        };
        named.iter().find(is_near).map(|token| Def { module: from.module, token: *token })
    }

    /// The anonymous type with these properties, in this order, that code of a module creates. If the module
    /// has none, that of another module of the user, whose objects differ from its own only in their type.
    pub(crate) fn anonymous_type(&self, module: Option<usize>, properties: &[Rc<str>]) -> Option<Def> {
        let own = module.and_then(|module| self.modules.by_id(module));
        let all = self.modules.all().iter().filter(|loaded| !loaded.is_framework());
        own.iter().chain(all).find_map(|loaded| {
            let metadata = &loaded.image()?.metadata;
            let names = |token: u32| metadata.property_infos(token).into_iter().map(|info| info.name);
            let is_it = |token: &u32| {
                is_anonymous(metadata.simple_name(*token))
                    && names(*token).eq(properties.iter().map(|name| &**name))
            };
            let token = metadata.type_tokens().find(is_it)?;
            Some(Def { module: loaded.id, token })
        })
    }

    /// A type that a module references in another assembly, even if it has moved.
    pub(crate) fn type_in(
        &self,
        from: &LoadedModule,
        assembly: Option<&str>,
        full: &str,
    ) -> Option<(Rc<LoadedModule>, u32)> {
        let named = assembly.filter(|name| !matches!(*name, "System.Runtime" | "netstandard" | "mscorlib"));
        let found = named.and_then(|name| find_declared(&self.resolve_assembly(from, name)?, full));
        found.or_else(|| self.type_named(full))
    }

    /// The module that a module's assembly reference means: of several, the one that the
    /// runtime has bound it to.
    fn resolve_assembly(&self, from: &LoadedModule, assembly: &str) -> Option<Rc<LoadedModule>> {
        let is_named =
            |loaded: &&Rc<LoadedModule>| loaded.path.file_stem().is_some_and(|stem| stem == assembly);
        let named: Vec<_> = self.modules.all().iter().filter(is_named).cloned().collect();
        let first = named.first()?.clone();
        let reference = from.image().and_then(|image| image.metadata.assembly_reference(assembly));
        let (Some(reference), [_, _, ..]) = (reference, named.as_slice()) else { return Some(first) };
        let is_bound =
            |loaded: &Rc<LoadedModule>| from.module.refers_to(reference, &loaded.module).unwrap_or(false);
        Some(named.into_iter().find(is_bound).unwrap_or(first))
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

    /// The first parts of the names of the namespaces below one; of the framework's only those with public
    /// types.
    pub(crate) fn namespaces_in(&self, space: &str) -> Vec<String> {
        let prefix = if space.is_empty() { String::new() } else { format!("{space}.") };
        let mut found = BTreeSet::new();
        for loaded in self.modules.all() {
            let Some(metadata) = loaded.image().map(|image| &image.metadata) else { continue };
            let is_visible = |token: &u32| !loaded.is_framework() || metadata.is_public_type(*token);
            let names = metadata.type_tokens().filter(is_visible).map(|token| metadata.namespace(token));
            let below = names.filter_map(|name| name.strip_prefix(&prefix)?.split('.').next());
            found.extend(below.filter(|name| !name.is_empty() && !name.starts_with('<')).map(str::to_owned));
        }
        found.into_iter().collect()
    }

    /// Whether any type is in this namespace.
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

/// Whether a type of one file has the name of this file in its own: `<Program>F…__Name`.
fn is_of_file(name: &str, path: &str) -> bool {
    let file = name.strip_prefix('<').and_then(|name| name.split_once(">F"));
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    file.is_some_and(|(file, _)| {
        let mut letters = stem.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' });
        file.chars().all(|letter| letters.next() == Some(letter)) && letters.next().is_none()
    })
}

/// A type that a module declares.
fn find_declared(loaded: &Rc<LoadedModule>, full: &str) -> Option<(Rc<LoadedModule>, u32)> {
    let token = loaded.image()?.metadata.find_type(full)?;
    Some((loaded.clone(), token))
}
