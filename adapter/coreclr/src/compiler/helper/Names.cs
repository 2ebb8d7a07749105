// Names that the code of the frame can use and the emitted code cannot: members of its class, of the classes around it, parameters of a primary
// constructor, local functions. Each is written out: `Total` becomes `this.Total`.

using System.Collections.Generic;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    /// An expression with its changes, and where each part of it comes from.
    sealed class Edited
    {
        readonly string original;
        readonly List<(int at, int length, string text)> edits = new List<(int, int, string)>();

        public Edited(string original) => this.original = original;

        public Edited Copy()
        {
            var copy = new Edited(original);
            copy.edits.AddRange(edits);
            return copy;
        }

        /// Of two edits at one place the later one comes first.
        public void Insert(int at, string text) => edits.Insert(0, (at, 0, text));

        public void Replace(int at, int length, string text) => edits.Insert(0, (at, length, text));

        public string Text()
        {
            var text = new StringBuilder();
            var from = 0;
            foreach (var (at, length, put) in edits.OrderBy(edit => edit.at))
            {
                text.Append(original, from, at - from).Append(put);
                from = at + length;
            }
            return text.Append(original, from, original.Length - from).ToString();
        }

        /// The place in the original of a place in the text.
        public int Original(int place)
        {
            var shift = 0;
            foreach (var (at, length, put) in edits.OrderBy(edit => edit.at))
            {
                if (at + shift + put.Length > place) return place < at + shift ? place - shift : at;
                shift += put.Length - length;
            }
            return System.Math.Min(place - shift, original.Length);
        }
    }

    sealed class Names
    {
        const string This = "@this";

        /// Those that the functions it calls need.
        public readonly HashSet<Variable> Closures = new HashSet<Variable>();

        readonly Frame frame;
        readonly SemanticModel model;
        readonly bool hasThis;
        /// Names that are the class's or the type's own, though there is a member too: by their places in the original.
        readonly ISet<int> statics;
        readonly ISet<int> unchanged;

        public Names(Frame frame, SemanticModel model, bool hasThis, ISet<int> statics, ISet<int> unchanged)
        {
            this.frame = frame;
            this.model = model;
            this.hasThis = hasThis;
            this.statics = statics;
            this.unchanged = unchanged;
        }

        /// The changes to an expression at `start` of the model's text.
        public Edited Edit(ExpressionSyntax expression, int start)
        {
            var edited = new Edited(frame.Text);
            foreach (var node in expression.DescendantNodesAndSelf())
            {
                var place = node.SpanStart - start;
                if (node is ThisExpressionSyntax self) edited.Replace(place, self.Token.Span.Length, This);
                if (node is BaseExpressionSyntax) throw new Refusal("`base` cannot be used here: what is compiled for the debugger is not a member of the class");
                if (node is SimpleNameSyntax name && IsSimple(name) && !unchanged.Contains(place)) Edit(name, place, edited);
                if (node is InterpolationSyntax hole) Parenthesize(hole, start, edited);
            }
            return edited;
        }

        /// A format would begin at the first colon of `global::`.
        static void Parenthesize(InterpolationSyntax hole, int start, Edited edited)
        {
            var open = hole.OpenBraceToken;
            var end = hole.AlignmentClause?.CommaToken ?? hole.FormatClause?.ColonToken ?? hole.CloseBraceToken;
            edited.Replace(open.SpanStart - start, open.Span.Length, open.Text + "(");
            edited.Replace(end.SpanStart - start, end.Span.Length, ")" + end.Text);
        }

        void Edit(SimpleNameSyntax node, int place, Edited edited)
        {
            var name = node.Identifier.ValueText;
            if (name == "_" || IsNearer(node, name)) return;
            var isType = SyntaxFacts.IsInTypeOnlyContext(node);
            var isCalled = node.Parent is InvocationExpressionSyntax call && call.Expression == node;
            if (!isType && Named(node) is InvocationExpressionSyntax inside && IsFunction(name))
            {
                edited.Replace(place - (node.SpanStart - inside.SpanStart), inside.Span.Length, "\"" + name + "\"");
                return;
            }
            if (!isType && CallsFunction(node, name, place, edited)) return;
            for (var type = frame.Class; type != null; type = type.ContainingType)
            {
                for (var from = type; from != null; from = from.BaseType)
                {
                    if (Qualify(node, name, place, type, from, isType, isCalled, edited)) return;
                }
                if (type.TypeKind != TypeKind.Interface) continue;
                if (type.AllInterfaces.Any(from => Qualify(node, name, place, type, from, isType, isCalled, edited))) return;
            }
            var arity = node is GenericNameSyntax generic ? generic.Arity : 0;
            if ((frame.LocalFile(name) ?? Only(node, name, arity)) is INamedTypeSymbol own && frame.Types.SpellOpen(own) is string spelled)
            {
                // A type of one file has another name in the metadata.
                if (Named(node) is InvocationExpressionSyntax of) edited.Replace(place - (node.SpanStart - of.SpanStart), of.Span.Length, "\"" + name + "\"");
                else edited.Replace(place, node.Identifier.Span.Length, spelled);
            }
        }

        /// The only type of the user's that has a name which nothing in sight has.
        INamedTypeSymbol Only(SimpleNameSyntax node, string name, int arity)
        {
            if (node.IsVar || model.LookupNamespacesAndTypes(node.SpanStart, name: name).Any() || model.LookupSymbols(node.SpanStart, name: name).Any()) return null;
            var found = frame.UsersTypes(name).Where(type => type.Arity == arity).Take(2).ToList();
            return found.Count == 1 ? found[0] : null;
        }

        /// Whether a declaration of the expression itself, or a variable of the frame, has this name.
        bool IsNearer(SimpleNameSyntax node, string name) => model.LookupSymbols(node.SpanStart, name: name).Any(symbol =>
            symbol is ILocalSymbol || symbol is IParameterSymbol || symbol is IRangeVariableSymbol || symbol is ITypeParameterSymbol
            || symbol is IMethodSymbol method && method.MethodKind == MethodKind.LocalFunction);

        bool Qualify(SimpleNameSyntax node, string name, int place, INamedTypeSymbol owner, INamedTypeSymbol from, bool isType, bool isCalled, Edited edited)
        {
            var arity = node is GenericNameSyntax generic ? generic.Arity : 0;
            var members = from.GetMembers(name).Where(member => Fits(member, arity, isType, isCalled)).ToList();
            string put = null;
            if (members.Count == 0 && !isType)
            {
                members = Parameter(from, name);
                put = members.FirstOrDefault()?.Name;
            }
            if (members.Count == 0) return false;
            var isStatic = members.All(member => member.IsStatic || member is ITypeSymbol);
            var prefix = isStatic || !hasThis || statics.Contains(place) || !SymbolEqualityComparer.Default.Equals(owner, frame.Class) ? Spelled(from) : This;
            if (prefix == null) return false;
            if (put != null && Named(node) is InvocationExpressionSyntax of) edited.Replace(place - (node.SpanStart - of.SpanStart), of.Span.Length, "\"" + name + "\"");
            else if (put == null) edited.Insert(place, prefix + ".");
            else edited.Replace(place, node.Identifier.Span.Length, Inferred(node, name) + prefix + "." + put);
            return true;
        }

        /// A local function is a method of the class, or of a closure with variables of the method around it; or it is handed such closures.
        bool CallsFunction(SimpleNameSyntax node, string name, int place, Edited edited)
        {
            if (frame.Method.Length == 0) return false;
            var closures = frame.Variables.Where(variable => variable.IsClosure && variable.Spelled != null).ToList();
            for (var type = frame.Class; type != null; type = type.ContainingType)
            {
                if (!(Function(type, name) is IMethodSymbol method)) continue;
                var handed = method.Parameters.Where(parameter => parameter.RefKind == RefKind.Ref && parameter.Type.Name.StartsWith(Speakable.MakeSpeakable("<>c__DisplayClass"), System.StringComparison.Ordinal)).ToList();
                var found = handed.Select(parameter => closures.FirstOrDefault(variable => Same(variable.Type, parameter.Type))).ToList();
                if (found.Contains(null) || !method.IsStatic && !hasThis) return false;
                if (found.Count > 0)
                {
                    if (!(node.Parent is InvocationExpressionSyntax call && call.Expression == node)) throw new Refusal($"`{name}` uses variables of the method around it, so it can be called here, but not passed on");
                    var end = call.ArgumentList.CloseParenToken.SpanStart - node.SpanStart + place;
                    var comma = call.ArgumentList.Arguments.Count > 0 ? ", " : "";
                    edited.Insert(end, comma + string.Join(", ", found.Select(variable => "ref " + variable.Name)));
                    Closures.UnionWith(found);
                }
                edited.Replace(place, node.Identifier.Span.Length, (method.IsStatic ? Spelled(type) : This) + "." + method.Name);
                return true;
            }
            foreach (var closure in closures)
            {
                if (!(closure.Type is INamedTypeSymbol type) || !(Function(type, name) is IMethodSymbol method)) continue;
                Closures.Add(closure);
                edited.Replace(place, node.Identifier.Span.Length, closure.Name + "." + method.Name);
                return true;
            }
            return false;
        }

        /// Whether a local function in sight has this name, which is another one in the metadata.
        bool IsFunction(string name)
        {
            if (frame.Method.Length == 0) return false;
            for (var type = frame.Class; type != null; type = type.ContainingType)
            {
                if (Function(type, name) != null) return true;
            }
            return frame.Variables.Any(variable => variable.IsClosure && variable.Type is INamedTypeSymbol type && Function(type, name) != null);
        }

        static bool Same(ITypeSymbol one, ITypeSymbol other) => SymbolEqualityComparer.Default.Equals(one.OriginalDefinition, other.OriginalDefinition);

        /// The local function of this name; none when there are several.
        IMethodSymbol Function(INamedTypeSymbol type, string name)
        {
            var begin = Speakable.MakeSpeakable("<" + frame.Method + ">g__" + name + "|");
            var found = type.GetMembers().OfType<IMethodSymbol>().Where(method =>
                method.Name.StartsWith(begin, System.StringComparison.Ordinal) && method.Name.Skip(begin.Length).All(letter => letter == '_' || char.IsDigit(letter))).Take(2).ToList();
            return found.Count == 1 ? found[0] : null;
        }

        /// The name that an element of a tuple or a property of an anonymous object gets from the expression, written before it.
        static string Inferred(SimpleNameSyntax node, string name)
        {
            switch (node.Parent)
            {
                case AnonymousObjectMemberDeclaratorSyntax property when property.NameEquals == null:
                    return "@" + name + " = ";
                case ArgumentSyntax element when element.NameColon == null && element.Parent is TupleExpressionSyntax:
                    return "@" + name + ": ";
                default:
                    return "";
            }
        }

        /// The `nameof` that a name is in.
        static InvocationExpressionSyntax Named(SimpleNameSyntax node) =>
            node.Parent is ArgumentSyntax argument && argument.Parent?.Parent is InvocationExpressionSyntax call
                && call.Expression is IdentifierNameSyntax called && called.Identifier.ValueText == "nameof" ? call : null;

        /// A parameter of a primary constructor lives in a field under a name of the compiler's.
        static List<ISymbol> Parameter(INamedTypeSymbol type, string name) =>
            type.GetMembers(Speakable.MakeSpeakable("<" + name + ">P")).OfType<IFieldSymbol>().Cast<ISymbol>().ToList();

        static bool Fits(ISymbol member, int arity, bool isType, bool isCalled)
        {
            switch (member)
            {
                case INamedTypeSymbol type:
                    return type.Arity == arity;
                case IMethodSymbol method:
                    return !isType && method.MethodKind == MethodKind.Ordinary && (arity == 0 || method.Arity == arity);
                case IFieldSymbol field:
                    return !isType && arity == 0 && (!isCalled || CanBeCalled(field.Type));
                case IPropertySymbol property:
                    return !isType && arity == 0 && (!isCalled || CanBeCalled(property.Type));
                case IEventSymbol _:
                    return !isType && arity == 0;
                default:
                    return false;
            }
        }

        static bool CanBeCalled(ITypeSymbol type) => type.TypeKind == TypeKind.Delegate || type.TypeKind == TypeKind.Dynamic || type.TypeKind == TypeKind.Error || type is ITypeParameterSymbol || type.TypeKind == TypeKind.Unknown;

        string Spelled(INamedTypeSymbol type) => frame.Types.Spell(type);

        /// Whether a name is simple: nothing before it qualifies it.
        static bool IsSimple(SimpleNameSyntax node)
        {
            switch (node.Parent)
            {
                case MemberAccessExpressionSyntax access when access.Name == node:
                case MemberBindingExpressionSyntax _:
                case QualifiedNameSyntax qualified when qualified.Right == node:
                case AliasQualifiedNameSyntax _:
                case NameColonSyntax _:
                case NameEqualsSyntax _:
                    return false;
                // `new T { Name = … }`, `x with { Name = … }`
                case AssignmentExpressionSyntax assignment when assignment.Left == node && assignment.Parent is InitializerExpressionSyntax list && !list.IsKind(SyntaxKind.ArrayInitializerExpression):
                    return false;
                default:
                    return !IsInPattern(node);
            }
        }

        /// `{ Name.Length: 3 }`: its first name is a member of the matched value.
        static bool IsInPattern(SimpleNameSyntax node)
        {
            SyntaxNode outer = node;
            while (outer.Parent is MemberAccessExpressionSyntax access && access.Expression == outer) outer = access;
            return outer.Parent?.GetType().Name == "ExpressionColonSyntax";
        }
    }
}
