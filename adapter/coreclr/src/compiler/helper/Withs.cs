// `with` on the program's own anonymous types: to the compiler, which sees them in metadata, they are classes like any other, so it is written
// as a call of a function that makes a new one.

using System.Collections.Generic;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    static class Withs
    {
        const string Function = "__tandemWith";

        /// Changes the expressions in `edited`, whose text was bound with the expression at `start`. Returns the functions that they call.
        public static List<string> Edit(SemanticModel model, ExpressionSyntax expression, int start, Frame frame, Edited edited)
        {
            var functions = new List<string>();
            // As it was bound.
            var bound = edited.Copy();
            int Place(int at) => bound.Original(at - start);
            // Older compilers do not know them.
            foreach (var node in expression.DescendantNodesAndSelf().Where(node => node.GetType().Name == "WithExpressionSyntax"))
            {
                var of = node.ChildNodes().OfType<ExpressionSyntax>().First();
                var list = node.ChildNodes().OfType<InitializerExpressionSyntax>().First();
                if (!(model.GetTypeInfo(of).Type is INamedTypeSymbol type) || !Speakable.IsAnonymous(type) || !(frame.Types.Spell(type) is string spelled)) continue;
                var changes = list.Expressions.OfType<AssignmentExpressionSyntax>().Where(change => change.Left is IdentifierNameSyntax).ToList();
                if (changes.Count != list.Expressions.Count || !(Declared(type, spelled, changes, frame, functions.Count) is string function)) continue;
                functions.Add(function);
                edited.Insert(Place(node.SpanStart), Function + (functions.Count - 1) + "(");
                var before = of.Span.End;
                var comma = changes.Count > 0 ? ", " : " ";
                edited.Replace(Place(before), Place(list.OpenBraceToken.Span.End) - Place(before), comma);
                foreach (var change in changes) edited.Replace(Place(change.OperatorToken.SpanStart), 1, ":");
                edited.Replace(Place(list.CloseBraceToken.SpanStart), 1, ")");
            }
            return functions;
        }

        static string Declared(INamedTypeSymbol type, string spelled, List<AssignmentExpressionSyntax> changes, Frame frame, int number)
        {
            var changed = changes.Select(change => ((IdentifierNameSyntax)change.Left).Identifier.ValueText).ToList();
            var made = type.InstanceConstructors.OrderByDescending(constructor => constructor.Parameters.Length).First().Parameters;
            var properties = changed.Select(name => type.GetMembers(name).OfType<IPropertySymbol>().FirstOrDefault()).ToList();
            if (properties.Contains(null)) return null;
            var parameters = properties.Select(property => (frame.Types.Spell(property.Type), property.Name)).ToList();
            if (parameters.Any(parameter => parameter.Item1 == null)) return null;
            var takes = string.Concat(parameters.Select(parameter => ", " + parameter.Item1 + " @" + parameter.Name));
            var arguments = made.Select(parameter => changed.Contains(parameter.Name) ? "@" + parameter.Name : "__it.@" + parameter.Name);
            return $"{spelled} {Function}{number}({spelled} __it{takes}) => new {spelled}({string.Join(", ", arguments)});\n";
        }
    }
}
