// Access to private members: an option makes the compiler ignore accessibility, an attribute of the assembly the runtime.

using System.Collections.Generic;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Tandem.Compiler
{
    static class Access
    {
        const string Declaration =
            "namespace System.Runtime.CompilerServices {\n[System.AttributeUsage(System.AttributeTargets.Assembly, AllowMultiple = true)]\n"
            + "sealed class IgnoresAccessChecksToAttribute : System.Attribute { public IgnoresAccessChecksToAttribute(string name) { } }\n}\n";

        /// The assemblies whose members an expression uses.
        public static SortedSet<string> Assemblies(SemanticModel model, ExpressionSyntax expression, Frame frame)
        {
            var found = new SortedSet<string>();
            void Add(ISymbol symbol)
            {
                if (symbol?.ContainingAssembly is IAssemblySymbol assembly && assembly.Name != frame.Compilation.AssemblyName) found.Add(assembly.Name);
            }
            void AddType(ITypeSymbol type, int deeper)
            {
                if (type == null || deeper == 0) return;
                Add(type);
                if (type is IArrayTypeSymbol array) AddType(array.ElementType, deeper - 1);
                if (type is IPointerTypeSymbol pointer) AddType(pointer.PointedAtType, deeper - 1);
                if (!(type is INamedTypeSymbol named)) return;
                foreach (var argument in named.TypeArguments) AddType(argument, deeper - 1);
                for (var from = named.BaseType; from != null; from = from.BaseType) Add(from);
            }
            foreach (var node in expression.DescendantNodesAndSelf())
            {
                var info = model.GetSymbolInfo(node);
                Add(info.Symbol);
                Add(info.Symbol?.OriginalDefinition.ContainingType);
                if (!(node is ExpressionSyntax part)) continue;
                var types = model.GetTypeInfo(part);
                AddType(types.Type, 16);
                AddType(types.ConvertedType, 16);
            }
            foreach (var variable in frame.Variables.Where(variable => variable.Spelled != null)) AddType(variable.Type, 16);
            Add(frame.Class);
            return found;
        }

        public static string Granted(IEnumerable<string> assemblies)
        {
            var text = new StringBuilder();
            foreach (var assembly in assemblies)
            {
                text.Append("[assembly: System.Runtime.CompilerServices.IgnoresAccessChecksTo(").Append(Microsoft.CodeAnalysis.CSharp.SymbolDisplay.FormatLiteral(assembly, true)).Append(")]\n");
            }
            return text.Append(Declaration).ToString();
        }
    }
}
