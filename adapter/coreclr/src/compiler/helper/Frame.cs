// Where an expression is evaluated: the code around it, its `using` directives, the variables it can use.

using System.Collections.Generic;
using System.Collections.Immutable;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    sealed class Variable
    {
        /// Its number at the debugger.
        public int Index;
        public string Name;
        /// Null when the compiler cannot name it.
        public ITypeSymbol Type;
        public string Spelled;
        /// Of a constant its value in C#; else null.
        public string Constant;
        public bool IsFunctionPointer;
        /// What it is called around the expression.
        public string Field => "@" + Name;
        /// It holds variables of the method for its local functions, and has no name.
        public bool IsClosure => Name.StartsWith("__tandemClosure");
        /// It cannot be captured: a ref struct, or a closure that must stay where it is.
        public bool IsOnStack => Type != null && (Type.IsRefLikeType || IsClosure && Type.IsValueType);
    }

    /// `using` directives of one namespace or file.
    sealed class Usings
    {
        public List<string> Namespaces;
        public List<ITypeSymbol> Statics;
        public List<(string name, string space)> NamespaceAliases;
        public List<(string name, ITypeSymbol type)> TypeAliases;
    }

    sealed class Frame
    {
        public string Text;
        public int Number;
        public string Language;
        public bool IsChecked;
        /// How many short waits an `await` may take.
        public int Waits;
        public CSharpCompilation Compilation;
        public Types Types;
        public int Module;
        /// The innermost type that was written; null when there is none.
        public INamedTypeSymbol Class;
        /// The name of the method that was written, which its local functions have in their names.
        public string Method;
        public ImmutableArray<ITypeParameterSymbol> Parameters;
        /// The outermost first.
        public List<Usings> Usings;
        public List<Variable> Variables;
        /// The type that the value must have; null for its own.
        public ITypeSymbol ExpectedType;
        References references;
        List<int> users;

        public static Frame Read(Reader reader, References references, bool open)
        {
            var frame = new Frame { references = references, Number = reader.Number(), Waits = reader.Number(), Text = reader.Text(), Language = reader.Text(), IsChecked = reader.Flag() };
            var ids = reader.List(reader.Number);
            frame.users = reader.List(reader.Number);
            frame.Compilation = references.Compilation(ids, open ? frame.users : new List<int>());
            frame.Module = reader.Number();
            var (type, method, written) = (reader.Number(), reader.Number(), reader.Number());
            frame.Method = Speakable.Outermost(reader.Text());
            var owner = Types.Definition(references, frame.Compilation, frame.Module, type);
            frame.Parameters = TypeParameters(references, frame.Module, owner, method);
            frame.Types = new Types(references, frame.Compilation, frame.Parameters);
            frame.Class = Types.Definition(references, frame.Compilation, frame.Module, written);
            frame.Usings = reader.List(() => ReadUsings(reader, frame.Types));
            frame.Variables = reader.List(() => ReadVariable(reader, frame.Types));
            for (var i = 0; i < frame.Variables.Count; i++) frame.Variables[i].Index = i;
            frame.ExpectedType = reader.Flag() ? frame.Types.Read(reader) : null;
            return frame;
        }

        /// A type that only its file can name, by the name it has there; null when the module has none, or several.
        public INamedTypeSymbol LocalFile(string name)
        {
            if (Class == null) return null;
            var end = "__" + name;
            var found = Class.ContainingNamespace.GetTypeMembers().Where(type =>
                type.Name.EndsWith(end, System.StringComparison.Ordinal)
                && SymbolEqualityComparer.Default.Equals(type.ContainingAssembly, Class.ContainingAssembly)
                && references.Renamed.TryGetValue(type.MetadataName, out var old) && Speakable.IsOfFile(old)).Take(2).ToList();
            return found.Count == 1 ? found[0] : null;
        }

        /// The anonymous type with these properties: of the frame's module, or else of another with symbols.
        public INamedTypeSymbol AnonymousType(List<string> properties) =>
            users.Prepend(Module).Select(id => references[id]).Where(module => module != null)
                .Select(module => Compilation.GetAssemblyOrModuleSymbol(module.Reference) as IAssemblySymbol).Where(assembly => assembly != null)
                .SelectMany(assembly => assembly.GlobalNamespace.GetTypeMembers()).FirstOrDefault(type =>
                    Speakable.IsAnonymous(type) && type.GetMembers().OfType<IPropertySymbol>().Select(property => property.Name).SequenceEqual(properties));

        /// The types of this name in modules with symbols, wherever they are.
        public IEnumerable<INamedTypeSymbol> UsersTypes(string name) =>
            users.Select(id => references[id]).Where(module => module != null)
                .Select(module => Compilation.GetAssemblyOrModuleSymbol(module.Reference) as IAssemblySymbol).Where(assembly => assembly != null && assembly.TypeNames.Contains(name))
                .SelectMany(assembly => All(assembly.GlobalNamespace)).Where(type => type.Name == name);

        static IEnumerable<INamedTypeSymbol> All(INamespaceSymbol space) =>
            space.GetTypeMembers().Concat(space.GetNamespaceMembers().SelectMany(All));

        /// The findings, with the reason where a variable is there and cannot be used.
        public List<Finding> Explained(List<Finding> findings)
        {
            foreach (var finding in findings.Where(finding => finding.Id == "CS0103" && finding.End <= Text.Length && finding.Start < finding.End))
            {
                var name = Text.Substring(finding.Start, finding.End - finding.Start);
                var variable = Variables.FirstOrDefault(known => known.Name == name && known.Spelled == null);
                if (variable == null) continue;
                finding.Message = variable.IsFunctionPointer
                    ? $"The variable '{name}' is or contains a function pointer, which a debugger cannot call, convert or pass; evaluate a call of the method it points to"
                    : $"The variable '{name}' is of a type that cannot be used here: a type without a name in C#, or one whose assembly is not loaded";
            }
            foreach (var finding in findings.Where(finding => finding.Message.Contains("__")))
            {
                // As their compiler calls them.
                foreach (var (speakable, old) in references.Renamed) finding.Message = finding.Message.Replace(speakable.Split('`')[0], old.Split('`')[0]);
            }
            return findings;
        }

        static Usings ReadUsings(Reader reader, Types types) => new Usings
        {
            Namespaces = reader.List(reader.Text),
            Statics = reader.List(() => types.Read(reader)),
            NamespaceAliases = reader.List(() => (reader.Text(), reader.Text())),
            TypeAliases = reader.List(() => (reader.Text(), types.Read(reader))),
        };

        static Variable ReadVariable(Reader reader, Types types)
        {
            var variable = new Variable { Name = reader.Text() };
            var marks = new Marks(reader.List(reader.Text), reader.Bytes());
            types.HasFunctionPointer = false;
            variable.Type = types.Read(reader, marks);
            variable.IsFunctionPointer = types.HasFunctionPointer;
            variable.Constant = reader.Flag() ? reader.Text() : null;
            variable.Spelled = variable.Type == null ? null : types.Spell(variable.Type);
            return variable;
        }

        /// The type parameters of a method's types, from the outside in, and its own.
        static ImmutableArray<ITypeParameterSymbol> TypeParameters(References references, int module, INamedTypeSymbol owner, int token)
        {
            var all = new List<ITypeParameterSymbol>();
            for (var type = owner; type != null; type = type.ContainingType) all.InsertRange(0, type.TypeParameters);
            var method = owner == null ? null : FindMethod(references[module].Reader, owner, token);
            if (method != null) all.AddRange(method.TypeParameters);
            return all.ToImmutableArray();
        }

        static IMethodSymbol FindMethod(MetadataReader reader, INamedTypeSymbol owner, int token)
        {
            if (token >> 24 != 6 || (token & 0xffffff) > reader.MethodDefinitions.Count) return null;
            var definition = reader.GetMethodDefinition(MetadataTokens.MethodDefinitionHandle(token & 0xffffff));
            var arity = definition.GetGenericParameters().Count;
            if (arity == 0) return null;
            var named = owner.GetMembers(reader.GetString(definition.Name)).OfType<IMethodSymbol>().Where(method => method.Arity == arity).ToList();
            // Older compilers do not tell tokens; then it is the one at the same place among those of its name and arity.
            var tokens = typeof(ISymbol).GetProperty("MetadataToken");
            if (tokens != null) return named.FirstOrDefault(method => tokens.GetValue(method) is int own && own == token);
            var name = definition.Name;
            var alike = reader.GetTypeDefinition(definition.GetDeclaringType()).GetMethods().Where(handle =>
            {
                var other = reader.GetMethodDefinition(handle);
                return reader.StringComparer.Equals(other.Name, reader.GetString(name)) && other.GetGenericParameters().Count == arity;
            }).ToList();
            return named.ElementAtOrDefault(alike.IndexOf(MetadataTokens.MethodDefinitionHandle(token & 0xffffff)));
        }
    }
}
