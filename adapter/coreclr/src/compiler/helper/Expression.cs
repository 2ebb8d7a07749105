// One expression: parsed, its names written out, bound, emitted.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    /// The compiler's diagnostics for an expression.
    sealed class Finding
    {
        public string Id, Message;
        /// Of the text, in UTF-16 units from 0.
        public int Start, End;
    }

    sealed class Emitted
    {
        public byte[] Image;
        /// Token of the method to call.
        public int Method;
        /// Its parameters, in order, and whether they are passed by reference.
        public List<(int index, bool isReference)> Arguments;
        public bool IsVoid, Waits;
        /// The value is of a type that has no name, or is known only when it is there.
        public bool IsAny;
    }

    sealed class Expression
    {
        const int MostRounds = 4;
        const int MostFindings = 10;

        readonly Frame frame;
        readonly References references;
        readonly Attempt attempt;
        readonly CSharpParseOptions language;
        readonly HashSet<int> statics = new HashSet<int>();
        readonly HashSet<int> unchanged = new HashSet<int>();
        HashSet<Variable> closures = new HashSet<Variable>();
        List<string> functions = new List<string>();
        bool isAsync, isUnsafe;

        public Expression(Frame frame, References references, Attempt attempt)
        {
            this.frame = frame;
            this.references = references;
            this.attempt = attempt;
            language = Options.Language(attempt.Language);
        }

        public Emitted Compile(List<Finding> findings)
        {
            var words = Parse(findings);
            if (findings.Count > 0) return null;
            for (var round = 0; round < MostRounds; round++)
            {
                var edited = Named(words);
                var bound = Bind(edited.Text(), words);
                // One may have a type only after another has got the program's.
                while (Anonymous.Edit(bound.model, bound.node, bound.start, frame, edited)) bound = Bind(edited.Text(), words);
                functions = Withs.Edit(bound.model, bound.node, bound.start, frame, edited);
                if (functions.Count > 0) bound = Bind(edited.Text(), words);
                var type = Natural(bound);
                var (result, ending) = Result(type, bound.node);
                var used = new HashSet<Variable>();
                var written = new HashSet<Variable>();
                Writes.Find(bound.model, bound.node, frame.Variables, used, written);
                var emitted = Emit(edited, result, ending, used, written, bound, findings);
                if (emitted == null && Reconsider(findings)) continue;
                if (emitted != null) emitted.IsAny = result == "object" && type?.SpecialType != SpecialType.System_Object;
                return emitted;
            }
            return null;
        }

        /// Returns the names in the text. Syntax errors are added to the findings.
        HashSet<string> Parse(List<Finding> findings)
        {
            // `await` is a keyword only in async code.
            const string before = "async () =>\n";
            var parsed = SyntaxFactory.ParseExpression(before + frame.Text, options: language);
            var words = parsed.DescendantTokens().Where(token => token.IsKind(SyntaxKind.IdentifierToken)).Select(token => token.ValueText).ToHashSet();
            isAsync = AwaitsItself(parsed);
            // Where pointers are allowed `await` is not.
            isUnsafe = !parsed.DescendantTokens().Any(token => token.IsKind(SyntaxKind.AwaitKeyword));
            foreach (var error in parsed.GetDiagnostics().Where(error => error.Severity == DiagnosticSeverity.Error).Take(MostFindings))
            {
                findings.Add(Of(error, error.Location.SourceSpan.Start - before.Length, error.Location.SourceSpan.End - before.Length));
            }
            return words;
        }

        /// Whether an `await` is not that of a lambda within.
        static bool AwaitsItself(ExpressionSyntax whole) =>
            whole is LambdaExpressionSyntax outer && outer.DescendantNodes(node => node == outer || !(node is AnonymousFunctionExpressionSyntax) && !(node is LocalFunctionStatementSyntax))
                .Any(node => node is AwaitExpressionSyntax);

        Edited Named(HashSet<string> words)
        {
            var hasThis = frame.Variables.Any(variable => variable.Name == "this" && variable.Spelled != null);
            functions.Clear();
            closures.Clear();
            var bound = Bind(frame.Text, words);
            var names = new Names(frame, bound.model, hasThis, statics, unchanged);
            var edited = names.Edit(bound.node, bound.start);
            closures = names.Closures;
            return edited;
        }

        (SemanticModel model, ExpressionSyntax node, int start, CSharpCompilation compilation) Bind(string text, HashSet<string> words)
        {
            var variables = frame.Variables.Where(variable => variable.Spelled != null && (variable.Name == "this" || words.Contains(variable.Name) || closures.Contains(variable))).ToList();
            var wrapper = new Wrapper(frame) { Functions = functions };
            var source = wrapper.Around(text, "object", Ending.Value, isAsync, isUnsafe, attempt.Usual, variables, new HashSet<Variable>());
            var tree = CSharpSyntaxTree.ParseText(source, language);
            var compilation = frame.Compilation.WithOptions(Options.For(attempt.IgnoresAccess, frame.IsChecked)).AddSyntaxTrees(tree);
            return (compilation.GetSemanticModel(tree), Node(tree, wrapper.Start, text), wrapper.Start, compilation);
        }

        /// The expression in a tree: the outermost that begins at its place and is no longer than it.
        static ExpressionSyntax Node(SyntaxTree tree, int start, string text)
        {
            var lead = text.Length - text.TrimStart().Length;
            var token = tree.GetRoot().FindToken(start + lead);
            var found = token.Parent.AncestorsAndSelf().OfType<ExpressionSyntax>().LastOrDefault(node => node.FullSpan.Start >= start - 1 && node.SpanStart >= start);
            return found ?? throw new Refusal("the expression cannot be found in what was made of it");
        }

        static ITypeSymbol Natural((SemanticModel model, ExpressionSyntax node, int, CSharpCompilation) bound) => bound.model.GetTypeInfo(bound.node).Type;

        (string, Ending) Result(ITypeSymbol type, ExpressionSyntax node)
        {
            if (frame.ExpectedType != null && frame.Types.Spell(frame.ExpectedType) is string expected) return (expected, Ending.Value);
            if (type == null && node.Kind().ToString() == "CollectionExpression") return ("object", Ending.Natural);
            if (type == null || type.TypeKind == TypeKind.Error || type is IDynamicTypeSymbol) return ("object", Ending.Value);
            if (type.SpecialType == SpecialType.System_Void) return ("void", Ending.Statement);
            if (type.IsRefLikeType) return ResultOnStack((INamedTypeSymbol)type);
            return (frame.Types.Spell(type) ?? "object", Ending.Value);
        }

        (string, Ending) ResultOnStack(INamedTypeSymbol type)
        {
            var isSpan = (type.Name == "Span" || type.Name == "ReadOnlySpan") && type.Arity == 1 && type.ContainingNamespace.ToDisplayString() == "System";
            if (isSpan && type.Name == "ReadOnlySpan" && type.TypeArguments[0].SpecialType == SpecialType.System_Char) return ("string", Ending.Text);
            if (isSpan && frame.Types.Spell(type.TypeArguments[0]) is string item) return (item + "[]", Ending.Items);
            throw new Refusal($"the value is a `{type.ToDisplayString(SymbolDisplayFormat.CSharpErrorMessageFormat)}`: a ref struct cannot leave the code that makes it");
        }

        Emitted Emit(Edited edited, string result, Ending ending, HashSet<Variable> used, HashSet<Variable> written,
            (SemanticModel model, ExpressionSyntax node, int start, CSharpCompilation) bound, List<Finding> findings)
        {
            var variables = frame.Variables.Where(used.Contains).ToList();
            var wrapper = new Wrapper(frame) { Functions = functions };
            var text = edited.Text();
            var tree = CSharpSyntaxTree.ParseText(wrapper.Around(text, result, ending, isAsync, isUnsafe, attempt.Usual, variables, written), language);
            var access = CSharpSyntaxTree.ParseText(Access.Granted(Access.Assemblies(bound.model, bound.node, frame)), language);
            var compilation = frame.Compilation.WithOptions(Options.For(attempt.IgnoresAccess, frame.IsChecked)).WithAssemblyName("TandemExpression" + frame.Number).AddSyntaxTrees(tree, access);
            var stream = new MemoryStream();
            var outcome = compilation.Emit(stream);
            findings.Clear();
            if (!outcome.Success)
            {
                foreach (var error in outcome.Diagnostics.Where(error => error.Severity == DiagnosticSeverity.Error).Take(MostFindings))
                {
                    var span = error.Location.SourceSpan;
                    var isOurs = error.Location.SourceTree == tree && span.Start >= wrapper.Start && span.End <= wrapper.Start + text.Length;
                    findings.Add(isOurs ? Of(error, edited.Original(span.Start - wrapper.Start), edited.Original(span.End - wrapper.Start)) : Of(error, 0, frame.Text.Length));
                }
                return null;
            }
            var image = stream.ToArray();
            Speakable.Restore(image, references.Renamed);
            return new Emitted
            {
                Image = image,
                Method = MethodIn(image),
                Arguments = variables.Where(variable => variable.Constant == null).Select(variable => (variable.Index, written.Contains(variable))).ToList(),
                IsVoid = result == "void",
                Waits = isAsync || Writes.Waits(bound.model, bound.node),
            };
        }

        /// What of the findings comes from a name that was taken for a member of `this`, and can be taken otherwise.
        bool Reconsider(List<Finding> findings)
        {
            var changed = false;
            foreach (var finding in findings)
            {
                // An instance is not allowed before a static member: first it is the class's, then what it was.
                if (finding.Id == "CS0176") changed |= statics.Add(finding.Start) || unchanged.Add(finding.Start);
            }
            return changed;
        }

        static Finding Of(Diagnostic error, int start, int end) =>
            new Finding { Id = error.Id, Message = error.GetMessage(CultureInfo.InvariantCulture), Start = Math.Max(start, 0), End = Math.Max(end, 0) };

        static int MethodIn(byte[] image)
        {
            using var file = new System.Reflection.PortableExecutable.PEReader(System.Collections.Immutable.ImmutableArray.Create(image));
            var reader = file.GetMetadataReader();
            foreach (var handle in reader.TypeDefinitions)
            {
                var type = reader.GetTypeDefinition(handle);
                if (reader.GetString(type.Name) != Wrapper.Class) continue;
                foreach (var method in type.GetMethods())
                {
                    if (reader.GetString(reader.GetMethodDefinition(method).Name) == Wrapper.Run) return MetadataTokens.GetToken(method);
                }
            }
            throw new InvalidOperationException("the emitted assembly has no such method");
        }
    }
}
