// Types: from how the debugger names them (a module and a token) to the compiler's, and from there to C# that means exactly them.

using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    sealed class Types
    {
        /// Deepest nesting of a type's parts.
        const int Deepest = 64;

        readonly References references;
        readonly CSharpCompilation compilation;
        readonly ImmutableArray<ITypeParameterSymbol> parameters;

        /// Aliases of assemblies that what was spelled needs.
        public readonly SortedSet<string> Aliases = new SortedSet<string>(StringComparer.Ordinal);

        /// Whether a type that was read is or has a function pointer.
        public bool HasFunctionPointer;

        public Types(References references, CSharpCompilation compilation, ImmutableArray<ITypeParameterSymbol> parameters)
        {
            this.references = references;
            this.compilation = compilation;
            this.parameters = parameters;
        }

        /// A type that a module defines (TypeDef) or refers to (TypeRef); null when the compiler does not see it.
        public static INamedTypeSymbol Definition(References references, CSharpCompilation compilation, int module, int token)
        {
            var found = references[module];
            var row = token & 0xffffff;
            if (found == null || row == 0) return null;
            if (token >> 24 == 2 && row <= found.Reader.TypeDefinitions.Count)
            {
                var assembly = compilation.GetAssemblyOrModuleSymbol(found.Reference) as IAssemblySymbol;
                return assembly?.GetTypeByMetadataName(Name(found.Reader, MetadataTokens.TypeDefinitionHandle(row)));
            }
            return token >> 24 == 1 && row <= found.Reader.TypeReferences.Count ? Referred(references, compilation, found.Reader, row) : null;
        }

        static INamedTypeSymbol Referred(References references, CSharpCompilation compilation, MetadataReader reader, int row)
        {
            var type = reader.GetTypeReference(MetadataTokens.TypeReferenceHandle(row));
            var name = reader.GetString(type.Name);
            for (var deeper = Deepest; type.ResolutionScope.Kind == HandleKind.TypeReference && deeper > 0; deeper--)
            {
                type = reader.GetTypeReference((TypeReferenceHandle)type.ResolutionScope);
                name = reader.GetString(type.Name) + "+" + name;
            }
            var space = reader.GetString(type.Namespace);
            if (space.Length > 0) name = space + "." + name;
            if (type.ResolutionScope.Kind != HandleKind.AssemblyReference) return null;
            var assembly = references.Named(reader.GetString(reader.GetAssemblyReference((AssemblyReferenceHandle)type.ResolutionScope).Name), compilation);
            return assembly?.GetTypeByMetadataName(name) ?? assembly?.ResolveForwardedType(name);
        }

        static string Name(MetadataReader reader, TypeDefinitionHandle handle)
        {
            var type = reader.GetTypeDefinition(handle);
            var name = reader.GetString(type.Name);
            var outer = type.GetDeclaringType();
            if (!outer.IsNil && outer != handle) return Name(reader, outer) + "+" + name;
            var space = reader.GetString(type.Namespace);
            return space.Length == 0 ? name : space + "." + name;
        }

        /// Reads a type. Names of tuples' elements and which `object`s are `dynamic` come in the order in which attributes have them.
        public ITypeSymbol Read(Reader reader, Marks marks = null) => Read(reader, marks ?? new Marks(), Deepest);

        ITypeSymbol Read(Reader reader, Marks marks, int deeper)
        {
            if (deeper == 0) throw new FormatException("a type is nested too deeply");
            var isDynamic = marks.NextIsDynamic();
            switch ((char)reader.Byte())
            {
                case 'P':
                    var special = Primitive(reader.Byte());
                    return isDynamic && special == SpecialType.System_Object ? compilation.DynamicType : (ITypeSymbol)compilation.GetSpecialType(special);
                case 'V':
                    return Read(reader, marks, deeper - 1) is ITypeSymbol item ? compilation.CreateArrayTypeSymbol(item) : null;
                case 'A':
                    var rank = reader.Number();
                    return Read(reader, marks, deeper - 1) is ITypeSymbol part ? compilation.CreateArrayTypeSymbol(part, rank) : null;
                case '*':
                    return Read(reader, marks, deeper - 1) is ITypeSymbol target ? compilation.CreatePointerTypeSymbol(target) : null;
                case '&':
                    return Read(reader, marks, deeper - 1);
                case 'T':
                    var at = reader.Number();
                    return at >= 0 && at < parameters.Length ? parameters[at] : null;
                case 'N':
                    return Named(reader, marks, deeper);
                case 'F':
                    HasFunctionPointer = true;
                    return null;
                default:
                    return null;
            }
        }

        ITypeSymbol Named(Reader reader, Marks marks, int deeper)
        {
            var definition = Definition(references, compilation, reader.Number(), reader.Number());
            var names = definition != null && definition.MetadataName.StartsWith("ValueTuple`") && definition.ContainingNamespace.Name == "System"
                ? marks.NextNames(definition.Arity)
                : default;
            var arguments = reader.List(() => Read(reader, marks, deeper - 1));
            if (definition == null || arguments.Contains(null)) return null;
            var type = Construct(definition, arguments.ToArray());
            return names.IsDefaultOrEmpty || type == null ? type : compilation.CreateTupleTypeSymbol(type, names);
        }

        /// A type with its arguments, those of the types around it first.
        static INamedTypeSymbol Construct(INamedTypeSymbol definition, ITypeSymbol[] arguments)
        {
            var chain = new Stack<INamedTypeSymbol>();
            for (var type = definition; type != null; type = type.ContainingType) chain.Push(type);
            if (chain.Sum(type => type.Arity) != arguments.Length) return null;
            INamedTypeSymbol made = null;
            var from = 0;
            foreach (var type in chain)
            {
                var open = made == null ? type : made.GetTypeMembers(type.Name, type.Arity).FirstOrDefault(member => member.OriginalDefinition.Equals(type));
                if (open == null) return null;
                made = type.Arity == 0 ? open : open.Construct(arguments.Skip(from).Take(type.Arity).ToArray());
                from += type.Arity;
            }
            return made;
        }

        /// CorElementType, ECMA-335 II.23.1.16.
        static SpecialType Primitive(byte kind)
        {
            switch (kind)
            {
                case 0x01: return SpecialType.System_Void;
                case 0x02: return SpecialType.System_Boolean;
                case 0x03: return SpecialType.System_Char;
                case 0x04: return SpecialType.System_SByte;
                case 0x05: return SpecialType.System_Byte;
                case 0x06: return SpecialType.System_Int16;
                case 0x07: return SpecialType.System_UInt16;
                case 0x08: return SpecialType.System_Int32;
                case 0x09: return SpecialType.System_UInt32;
                case 0x0a: return SpecialType.System_Int64;
                case 0x0b: return SpecialType.System_UInt64;
                case 0x0c: return SpecialType.System_Single;
                case 0x0d: return SpecialType.System_Double;
                case 0x0e: return SpecialType.System_String;
                case 0x18: return SpecialType.System_IntPtr;
                case 0x19: return SpecialType.System_UIntPtr;
                default: return SpecialType.System_Object;
            }
        }

        /// A type in C#, whatever is visible in its scope; null when C# has no name for it.
        public string Spell(ITypeSymbol type)
        {
            var text = new StringBuilder();
            return Spell(type, text, Deepest) ? text.ToString() : null;
        }

        bool Spell(ITypeSymbol type, StringBuilder text, int deeper)
        {
            if (deeper == 0) return false;
            switch (type)
            {
                case IArrayTypeSymbol array:
                    // `int[][,]` is an array of `int[,]`: brackets read from the outside in.
                    var brackets = new StringBuilder();
                    ITypeSymbol of = array;
                    for (; of is IArrayTypeSymbol part; of = part.ElementType) brackets.Append('[').Append(',', part.Rank - 1).Append(']');
                    if (!Spell(of, text, deeper - 1)) return false;
                    text.Append(brackets);
                    return true;
                case IPointerTypeSymbol pointer:
                    if (!Spell(pointer.PointedAtType, text, deeper - 1)) return false;
                    text.Append('*');
                    return true;
                case IDynamicTypeSymbol _:
                    text.Append("dynamic");
                    return true;
                case ITypeParameterSymbol parameter:
                    text.Append('@').Append(parameter.Name);
                    return true;
                case INamedTypeSymbol named when named.SpecialType == SpecialType.System_Void:
                    text.Append("void");
                    return true;
                case INamedTypeSymbol named when named.IsTupleType:
                    return SpellTuple(named, text, deeper);
                case INamedTypeSymbol named:
                    return SpellNamed(named, text, deeper);
                default:
                    return false;
            }
        }

        bool SpellTuple(INamedTypeSymbol tuple, StringBuilder text, int deeper)
        {
            var elements = tuple.TupleElements;
            if (elements.Length < 2) return SpellNamed(tuple.TupleUnderlyingType ?? tuple, text, deeper);
            text.Append('(');
            for (var i = 0; i < elements.Length; i++)
            {
                if (i > 0) text.Append(", ");
                if (!Spell(elements[i].Type, text, deeper - 1)) return false;
                if (!SymbolEqualityComparer.Default.Equals(elements[i], elements[i].CorrespondingTupleField ?? elements[i])) text.Append(" @").Append(elements[i].Name);
            }
            text.Append(')');
            return true;
        }

        bool SpellNamed(INamedTypeSymbol type, StringBuilder text, int deeper)
        {
            if (type.TypeKind == TypeKind.Error || type.IsAnonymousType || !SyntaxFacts.IsValidIdentifier(type.Name)) return false;
            if (type.ContainingType != null)
            {
                if (!SpellNamed(type.ContainingType, text, deeper - 1)) return false;
                text.Append('.');
            }
            else
            {
                var alias = references.Alias(type.ContainingAssembly);
                if (alias == null) return false;
                Aliases.Add(alias);
                text.Append(alias).Append("::").Append(Namespace(type.ContainingNamespace));
            }
            text.Append('@').Append(type.Name);
            if (type.Arity == 0) return true;
            text.Append('<');
            for (var i = 0; i < type.Arity; i++)
            {
                if (i > 0) text.Append(", ");
                if (!Spell(type.TypeArguments[i], text, deeper - 1)) return false;
            }
            text.Append('>');
            return true;
        }

        /// With a dot behind it; empty for the one without a name.
        static string Namespace(INamespaceSymbol space) =>
            space == null || space.IsGlobalNamespace ? "" : Namespace(space.ContainingNamespace) + "@" + space.Name + ".";

        /// The same without its own generic arguments.
        public string SpellOpen(INamedTypeSymbol type) => Spell(type) is string text && text.LastIndexOf('<') is int at && type.Arity > 0 ? text.Substring(0, at) : Spell(type);

        /// The `where` clauses of type parameters. Constraints that C# cannot express are left out.
        public string Constraints(IEnumerable<ITypeParameterSymbol> parameters)
        {
            var text = new StringBuilder();
            foreach (var parameter in parameters)
            {
                var parts = new List<string>();
                if (parameter.HasUnmanagedTypeConstraint) parts.Add("unmanaged");
                else if (parameter.HasValueTypeConstraint) parts.Add("struct");
                else if (parameter.HasReferenceTypeConstraint) parts.Add("class");
                parts.AddRange(parameter.ConstraintTypes.Where(type => type.SpecialType != SpecialType.System_ValueType).Select(Spell).Where(type => type != null));
                if (parameter.HasConstructorConstraint && !parameter.HasValueTypeConstraint) parts.Add("new()");
                if (AllowsRefStructs(parameter)) parts.Add("allows ref struct");
                if (parts.Count > 0) text.Append(" where @").Append(parameter.Name).Append(" : ").Append(string.Join(", ", parts));
            }
            return text.ToString();
        }

        // Older compilers do not know of it.
        static bool AllowsRefStructs(ITypeParameterSymbol parameter) =>
            typeof(ITypeParameterSymbol).GetProperty("AllowsRefLikeType")?.GetValue(parameter) is true;
    }

    /// Information from attributes about the parts of a type, consumed part by part.
    sealed class Marks
    {
        readonly List<string> names;
        readonly byte[] dynamics;
        int name, flag;

        public Marks() : this(new List<string>(), new byte[0])
        {
        }

        public Marks(List<string> names, byte[] dynamics)
        {
            this.names = names;
            this.dynamics = dynamics;
        }

        public bool NextIsDynamic() => flag < dynamics.Length && dynamics[flag++] != 0;

        /// The names of a tuple's elements; none where it has none, or so many that a part of it is another tuple.
        public ImmutableArray<string> NextNames(int arity)
        {
            if (arity > 7 || name + arity > names.Count) return default;
            var own = names.Skip(name).Take(arity).Select(text => text.Length == 0 ? null : text).ToImmutableArray();
            name += arity;
            return own.All(text => text == null) ? default : own;
        }
    }
}
