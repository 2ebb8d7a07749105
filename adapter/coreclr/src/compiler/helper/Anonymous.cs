// Anonymous objects become objects of the program's own anonymous types: a type that is compiled for the debugger is another one, whose objects
// are equal to none of the program's.

using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    static class Anonymous
    {
        /// Changes the expressions in `edited`, whose text was bound with the expression at `start`. Returns whether it changed any.
        public static bool Edit(SemanticModel model, ExpressionSyntax expression, int start, Frame frame, Edited edited)
        {
            var created = expression.DescendantNodesAndSelf().OfType<AnonymousObjectCreationExpressionSyntax>().ToList();
            if (created.Count == 0 || IsTree(model, expression)) return false;
            // As it was bound.
            var bound = edited.Copy();
            var changed = false;
            void Replace(int from, int to, string text) => edited.Replace(bound.Original(from - start), bound.Original(to - start) - bound.Original(from - start), text);
            foreach (var node in created)
            {
                var type = Own(model.GetTypeInfo(node).Type, frame);
                if (type == null || type.IsAnonymousType || !(frame.Types.Spell(type) is string spelled)) continue;
                Replace(node.SpanStart, node.OpenBraceToken.Span.End, "new " + spelled + "(");
                foreach (var property in node.Initializers.Where(property => property.NameEquals != null)) Replace(property.SpanStart, property.Expression.SpanStart, "");
                foreach (var comma in node.Initializers.GetSeparators().Skip(node.Initializers.Count - 1)) Replace(comma.SpanStart, comma.Span.End, "");
                Replace(node.CloseBraceToken.SpanStart, node.CloseBraceToken.Span.End, ")");
                changed = true;
            }
            return changed;
        }

        /// Whether a part is a query or a lambda that becomes an expression tree. Only of an anonymous type it says what its members are.
        static bool IsTree(SemanticModel model, ExpressionSyntax expression) => expression.DescendantNodesAndSelf().OfType<ExpressionSyntax>().Any(node =>
            model.GetTypeInfo(node) is var info && (IsQuery(info.Type) || info.ConvertedType?.Name == "Expression"));

        static bool IsQuery(ITypeSymbol type) => type != null && (type.Name == "IQueryable" || type.AllInterfaces.Any(from => from.Name == "IQueryable"));

        /// A type with the program's anonymous types instead of those that are compiled with the expression; null when it has none for one of them.
        static ITypeSymbol Own(ITypeSymbol type, Frame frame)
        {
            switch (type)
            {
                case INamedTypeSymbol named when named.IsAnonymousType:
                    var properties = named.GetMembers().OfType<IPropertySymbol>().ToList();
                    return Construct(frame.AnonymousType(properties.Select(property => property.Name).ToList()), properties.Select(property => property.Type).ToArray(), frame);
                case INamedTypeSymbol named when named.Arity > 0 && named.ContainingType == null && !named.IsTupleType:
                    return Construct(named.OriginalDefinition, named.TypeArguments.ToArray(), frame);
                case IArrayTypeSymbol array:
                    return Own(array.ElementType, frame) is ITypeSymbol item ? frame.Compilation.CreateArrayTypeSymbol(item, array.Rank) : null;
                default:
                    return type;
            }
        }

        static INamedTypeSymbol Construct(INamedTypeSymbol definition, ITypeSymbol[] arguments, Frame frame)
        {
            var own = arguments.Select(argument => Own(argument, frame)).ToArray();
            if (definition == null || own.Contains(null) || definition.Arity != own.Length) return null;
            return own.Length == 0 ? definition : definition.Construct(own);
        }
    }
}
