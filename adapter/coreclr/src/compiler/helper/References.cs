// The program's assemblies for the compiler: the modules that the debugger reported, and those that the program could still load.

using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Runtime.InteropServices;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    sealed class Module : IDisposable
    {
        public readonly string Name;
        /// How its types are distinguished from those of other modules: `alias::Type`.
        public readonly string Alias;
        public readonly MetadataReference Reference;
        public readonly MetadataReader Reader;
        readonly AssemblyMetadata metadata;
        readonly IntPtr memory;

        public Module(ModuleMetadata module, string alias, IntPtr memory)
        {
            this.memory = memory;
            metadata = AssemblyMetadata.Create(module);
            Alias = alias;
            Reader = module.GetMetadataReader();
            Name = Reader.GetString(Reader.GetAssemblyDefinition().Name);
            Reference = metadata.GetReference(aliases: ImmutableArray.Create("global", alias));
        }

        public void Dispose()
        {
            metadata.Dispose();
            Marshal.FreeHGlobal(memory);
        }
    }

    /// A compilation of nothing, and what it knows.
    sealed class Made
    {
        public string Key;
        public CSharpCompilation Compilation;
        public Dictionary<IAssemblySymbol, string> Aliases;
        public Dictionary<string, Module> ByName;
        public Dictionary<int, Module> ById;
    }

    sealed class References
    {
        /// How many references a program can have.
        const int Most = 20_000;

        readonly Dictionary<int, Module> loaded = new Dictionary<int, Module>();
        /// The same with everything public, made when it is first needed.
        readonly Dictionary<int, Module> opened = new Dictionary<int, Module>();
        readonly Dictionary<int, byte[]> images = new Dictionary<int, byte[]>();
        readonly Dictionary<string, Module> platform = new Dictionary<string, Module>(StringComparer.OrdinalIgnoreCase);
        /// As it is, and opened.
        readonly Made[] kept = { new Made(), new Made() };
        Made made = new Made();

        /// Names that were made speakable: the old one by the new one.
        public readonly Dictionary<string, string> Renamed = new Dictionary<string, string>();

        /// A module of the compilation made last.
        public Module this[int id] => made.ById != null && made.ById.TryGetValue(id, out var module) ? module : null;

        /// A module in a file.
        public void AddFile(int id, string path) => loaded[id] = new Module(ModuleMetadata.CreateFromFile(path), "m" + id, IntPtr.Zero);

        /// A module whose metadata was read from the program's memory.
        public unsafe void AddMetadata(int id, byte[] metadata)
        {
            fixed (byte* start = metadata)
            {
                Speakable.Rename(metadata, 0, new MetadataReader(start, metadata.Length), Renamed);
            }
            images[id] = metadata;
            loaded[id] = OfMetadata(id, metadata);
        }

        static Module OfMetadata(int id, byte[] metadata)
        {
            var memory = Marshal.AllocHGlobal(metadata.Length);
            Marshal.Copy(metadata, 0, memory, metadata.Length);
            return new Module(ModuleMetadata.CreateFromMetadata(memory, metadata.Length), "m" + id, memory);
        }

        /// A module of which everything is public; as it is, where it has a file.
        unsafe Module Opened(int id)
        {
            if (opened.TryGetValue(id, out var known) || !images.TryGetValue(id, out var metadata)) return known ?? loaded[id];
            var open = (byte[])metadata.Clone();
            fixed (byte* start = open)
            {
                Visibility.Open(open, new MetadataReader(start, open.Length));
            }
            return opened[id] = OfMetadata(id, open);
        }

        public void Remove(int id)
        {
            images.Remove(id);
            foreach (var modules in new[] { loaded, opened })
            {
                if (modules.Remove(id, out var module)) module.Dispose();
            }
            Forget();
        }

        void Forget()
        {
            kept[0] = new Made();
            kept[1] = new Made();
            made = new Made();
        }

        /// Other assemblies that the program can load: by their paths, and those in an executable.
        public void SetPlatform(List<string> paths, string bundle)
        {
            foreach (var path in paths.Take(Most))
            {
                var name = Path.GetFileNameWithoutExtension(path);
                if (!platform.ContainsKey(name)) TryAdd(name, alias => new Module(ModuleMetadata.CreateFromFile(path), alias, IntPtr.Zero));
            }
            if (bundle.Length == 0) return;
            foreach (var (name, read) in Bundle.Assemblies(bundle).Take(Most))
            {
                if (!platform.ContainsKey(name)) TryAdd(name, alias => new Module(ModuleMetadata.CreateFromImage(read()), alias, IntPtr.Zero));
            }
            Forget();
        }

        void TryAdd(string name, Func<string, Module> make)
        {
            try
            {
                platform[name] = make("p" + platform.Count);
            }
            catch (Exception error) when (error is IOException || error is BadImageFormatException || error is UnauthorizedAccessException || error is InvalidOperationException)
            {
                // Native code has such names too.
            }
        }

        /// A compilation of nothing against the modules with these ids, the most important first: of two with one name the first
        /// counts. Of those in `open` everything is public.
        public CSharpCompilation Compilation(List<int> ids, List<int> open)
        {
            var key = string.Join(",", ids) + ";" + string.Join(",", open);
            made = kept[open.Count > 0 ? 1 : 0];
            if (made.Key == key) return made.Compilation;
            var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
            made = new Made { Key = key, ById = new Dictionary<int, Module>(), Aliases = new Dictionary<IAssemblySymbol, string>(SymbolEqualityComparer.Default) };
            foreach (var id in ids.Where(loaded.ContainsKey))
            {
                var module = open.Contains(id) ? Opened(id) : loaded[id];
                if (names.Add(module.Name)) made.ById[id] = module;
            }
            var modules = made.ById.Values.Concat(platform.Values.Where(module => names.Add(module.Name))).ToList();
            made.ByName = modules.ToDictionary(module => module.Name, StringComparer.OrdinalIgnoreCase);
            made.Compilation = CSharpCompilation.Create("TandemExpression", references: modules.Select(module => module.Reference), options: Options.Plain);
            foreach (var module in modules)
            {
                if (made.Compilation.GetAssemblyOrModuleSymbol(module.Reference) is IAssemblySymbol assembly) made.Aliases[assembly] = module.Alias;
            }
            kept[open.Count > 0 ? 1 : 0] = made;
            return made.Compilation;
        }

        /// The assembly of this name in the compilation made last.
        public IAssemblySymbol Named(string name, CSharpCompilation compilation) =>
            made.ByName.TryGetValue(name, out var module) ? compilation.GetAssemblyOrModuleSymbol(module.Reference) as IAssemblySymbol : null;

        /// The alias of an assembly in the compilation made last; null when it is none of it.
        public string Alias(IAssemblySymbol assembly) => assembly != null && made.Aliases.TryGetValue(assembly, out var alias) ? alias : null;
    }
}
