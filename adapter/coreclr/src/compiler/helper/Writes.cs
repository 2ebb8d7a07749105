// Which variables of the frame an expression uses, and which of them it may change: those are passed by reference.

using System.Collections.Generic;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    static class Writes
    {
        public static void Find(SemanticModel model, ExpressionSyntax expression, List<Variable> variables, ISet<Variable> used, ISet<Variable> written)
        {
            foreach (var node in expression.DescendantNodesAndSelf().OfType<IdentifierNameSyntax>())
            {
                var name = node.Identifier.ValueText;
                var variable = variables.FirstOrDefault(known => known.Name == name);
                if (variable == null || !IsVariable(node, model, expression)) continue;
                used.Add(variable);
                if (variable.Constant == null && Changes(model, node)) written.Add(variable);
            }
        }

        /// Whether it means a variable that is declared around the expression.
        static bool IsVariable(IdentifierNameSyntax node, SemanticModel model, ExpressionSyntax expression)
        {
            if (node.Parent is MemberAccessExpressionSyntax access && access.Name == node) return false;
            var info = model.GetSymbolInfo(node);
            var symbols = info.Symbol == null ? info.CandidateSymbols : System.Collections.Immutable.ImmutableArray.Create(info.Symbol);
            return symbols.Any(symbol => (symbol is ILocalSymbol || symbol is IParameterSymbol)
                && symbol.DeclaringSyntaxReferences.All(place => !expression.FullSpan.Contains(place.Span)));
        }

        /// Whether it waits for tasks, as far as that can be seen: for what other threads do.
        public static bool Waits(SemanticModel model, ExpressionSyntax expression)
        {
            var names = new[] { "Result", "Wait", "WaitAll", "WaitAny", "GetResult", "Join", "WaitOne" };
            return expression.DescendantNodesAndSelf().Any(node =>
                node is AwaitExpressionSyntax
                || node is IdentifierNameSyntax name && System.Array.IndexOf(names, name.Identifier.ValueText) >= 0
                    && model.GetSymbolInfo(name).Symbol?.ContainingNamespace?.ToDisplayString() is string space && space.StartsWith("System.", System.StringComparison.Ordinal));
        }

        static bool Changes(SemanticModel model, ExpressionSyntax node)
        {
            switch (node.Parent)
            {
                case ParenthesizedExpressionSyntax outer:
                    return Changes(model, outer);
                case AssignmentExpressionSyntax assignment:
                    return assignment.Left == node;
                case PrefixUnaryExpressionSyntax prefix:
                    return prefix.IsKind(SyntaxKind.PreIncrementExpression) || prefix.IsKind(SyntaxKind.PreDecrementExpression) || prefix.IsKind(SyntaxKind.AddressOfExpression);
                case PostfixUnaryExpressionSyntax postfix when postfix.IsKind(SyntaxKind.SuppressNullableWarningExpression):
                    return Changes(model, postfix);
                case PostfixUnaryExpressionSyntax postfix:
                    return postfix.IsKind(SyntaxKind.PostIncrementExpression) || postfix.IsKind(SyntaxKind.PostDecrementExpression);
                case RefExpressionSyntax _:
                    return true;
                case ArgumentSyntax argument when argument.Parent is TupleExpressionSyntax tuple:
                    return Changes(model, tuple);
                case ArgumentSyntax argument:
                    return argument.RefKindKeyword.IsKind(SyntaxKind.RefKeyword) || argument.RefKindKeyword.IsKind(SyntaxKind.OutKeyword);
                case MemberAccessExpressionSyntax access when access.Expression == node && CanChange(model.GetTypeInfo(node).Type):
                    return model.GetSymbolInfo(access).Symbol is IFieldSymbol ? Changes(model, access) : true;
                case ElementAccessExpressionSyntax access when access.Expression == node:
                    return CanChange(model.GetTypeInfo(node).Type);
                default:
                    return false;
            }
        }

        /// Whether a method called on a value of the type may change it.
        static bool CanChange(ITypeSymbol type)
        {
            if (type == null || type.IsReferenceType) return false;
            if (type is ITypeParameterSymbol) return true;
            return type.SpecialType == SpecialType.None && type.TypeKind == TypeKind.Struct && !type.IsReadOnly
                && type.OriginalDefinition.SpecialType != SpecialType.System_Nullable_T;
        }
    }
}
