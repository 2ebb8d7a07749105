// The source around an expression. Variables of the frame are locals around a local function, so lambdas capture them, names that the
// expression declares hide them, and no type is too private for them.
//
//     static R Run(ref int given) {
//         int n = given;
//         R Body() { return EXPRESSION; }
//         try { return Body(); } finally { given = n; }
//     }

using System.Collections.Generic;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    /// What becomes of the expression's value.
    enum Ending
    {
        /// It is returned.
        Value,
        /// There is none.
        Statement,
        /// A span cannot leave the code it is in; its items can.
        Items,
        /// As can the text of a span of characters.
        Text,
        /// It is returned as what it is by itself.
        Natural,
    }

    sealed class Wrapper
    {
        public const string Class = "__TandemExpression";
        public const string Run = "Run";
        const string Body = "__tandemBody";
        const string Task = "global::System.Threading.Tasks.Task";
        /// The name by which the debugger recognizes an `await` that takes too long.
        const string Late = "__tandemLate";
        /// How long it waits at a time, milliseconds.
        const int Wait = 50;
        /// Before the names of parameters.
        const string Given = "__tandem_";

        /// Namespaces people expect to see, for code whose own `using` directives are not known or are few.
        static readonly string[] Usual =
        {
            "System", "System.Collections.Generic", "System.Linq", "System.Text", "System.Threading", "System.Threading.Tasks", "System.IO", "System.Collections",
        };

        readonly Frame frame;
        readonly StringBuilder text = new StringBuilder();

        /// Functions that the expression calls.
        public List<string> Functions = new List<string>();

        /// Where the expression begins.
        public int Start { get; private set; }

        public Wrapper(Frame frame) => this.frame = frame;

        /// The source. `written` are the variables that the expression may change.
        public string Around(string expression, string result, Ending ending, bool isAsync, bool isUnsafe, bool usual, List<Variable> variables, ISet<Variable> written)
        {
            OpenNamespace(usual);
            text.Append("static ").Append(isUnsafe ? "unsafe " : "").Append("class ").Append(Class).Append(" {\n");
            var parameters = variables.Where(variable => variable.Constant == null).Select(variable => Parameter(variable, written, Given + variable.Name));
            // Its frame shows how far a call has come.
            text.Append("[global::System.Runtime.CompilerServices.MethodImpl(global::System.Runtime.CompilerServices.MethodImplOptions.NoOptimization)]\n");
            text.Append("static ").Append(result).Append(' ').Append(Run).Append(Parameters());
            text.Append('(').Append(string.Join(", ", parameters)).Append(')').Append(frame.Types.Constraints(frame.Parameters)).Append(" {\n");
            foreach (var variable in variables.Where(variable => !variable.IsOnStack)) Local(variable);
            foreach (var function in Functions) text.Append(function);
            var onStack = variables.Where(variable => variable.IsOnStack).ToList();
            var task = Task + (result == "void" ? "" : "<" + result + ">");
            text.Append(isAsync ? "async " + task : result).Append(' ').Append(Body);
            text.Append('(').Append(string.Join(", ", onStack.Select(variable => Parameter(variable, written, variable.Field)))).Append(") {\n");
            text.Append(ending == Ending.Statement ? "" : ending == Ending.Natural ? "var __tandemValue = " : "return ").Append(ending == Ending.Items || ending == Ending.Text ? "(" : "").Append('\n');
            Start = text.Length;
            text.Append(expression);
            text.Append('\n').Append(ending == Ending.Items ? ").ToArray()" : ending == Ending.Text ? ").ToString()" : "").Append(ending == Ending.Natural ? ";\nreturn __tandemValue;\n}\n" : ";\n}\n");
            Call(result, isAsync, variables, onStack, written);
            text.Append("}\n}\n");
            if (Namespace.Length > 0) text.Append("}\n");
            // Only now all aliases are known.
            var aliases = string.Concat(frame.Types.Aliases.Select(alias => "extern alias " + alias + ";\n"));
            Start += aliases.Length;
            return aliases + text;
        }

        void Local(Variable variable)
        {
            if (variable.Constant == null) text.Append(variable.Spelled).Append(' ').Append(variable.Field).Append(" = ").Append(Given).Append(variable.Name).Append(";\n");
            else text.Append("const ").Append(variable.Spelled).Append(' ').Append(variable.Field).Append(" = unchecked((").Append(variable.Spelled).Append(")(").Append(variable.Constant).Append("));\n");
        }

        static string Parameter(Variable variable, ISet<Variable> written, string name) => (written.Contains(variable) ? "ref " : "") + variable.Spelled + " " + name;

        void Call(string result, bool isAsync, List<Variable> variables, List<Variable> onStack, ISet<Variable> written)
        {
            // What waits must not wait for the thread that waits for it.
            if (isAsync)
            {
                text.Append("var __tandemContext = global::System.Threading.SynchronizationContext.Current;\n");
                text.Append("global::System.Threading.SynchronizationContext.SetSynchronizationContext(null);\n");
            }
            var call = Body + "(" + string.Join(", ", onStack.Select(variable => (written.Contains(variable) ? "ref " : "") + Given + variable.Name)) + ")";
            text.Append("try {\n");
            if (isAsync)
            {
                text.Append(Task).Append(" __tandemRuns = global::System.Threading.Tasks.TaskScheduler.Current == global::System.Threading.Tasks.TaskScheduler.Default ? ")
                    .Append(call).Append(" : global::System.Threading.Tasks.Task.Run(").Append(Body).Append(");\n");
                // In short waits: between them the call can be aborted.
                text.Append("for (var __tandemWaits = 0; !__tandemRuns.IsCompleted; __tandemWaits++) {\n")
                    .Append("if (__tandemWaits >= ").Append(frame.Waits).Append(") throw new global::System.TimeoutException(\"").Append(Late).Append("\");\n")
                    .Append("((global::System.IAsyncResult)__tandemRuns).AsyncWaitHandle.WaitOne(").Append(Wait).Append(");\n}\n");
                call = "((" + (result == "void" ? Task : Task + "<" + result + ">") + ")__tandemRuns).GetAwaiter().GetResult()";
            }
            text.Append(result == "void" ? "" : "return ").Append(call).Append(";\n}\nfinally {\n");
            foreach (var variable in variables.Where(variable => written.Contains(variable) && !variable.IsOnStack))
            {
                text.Append(Given).Append(variable.Name).Append(" = ").Append(variable.Field).Append(";\n");
            }
            if (isAsync) text.Append("global::System.Threading.SynchronizationContext.SetSynchronizationContext(__tandemContext);\n");
            text.Append("}\n");
        }

        /// `<T, U>`
        string Parameters() => frame.Parameters.Length == 0 ? "" : "<" + string.Join(", ", frame.Parameters.Select(parameter => "@" + parameter.Name)) + ">";

        string Namespace => frame.Class?.ContainingNamespace is INamespaceSymbol space && !space.IsGlobalNamespace ? Escaped(space.ToDisplayString()) : "";

        /// The outermost directives are the whole assembly's, then come the file's; the others are within its namespaces.
        void OpenNamespace(bool usual)
        {
            var known = frame.Usings.SelectMany(usings => usings.Namespaces).ToHashSet();
            var files = Namespace.Length == 0 ? frame.Usings.Count : 2;
            foreach (var usings in frame.Usings.Take(files)) Directives(usings);
            if (usual)
            {
                foreach (var name in Usual.Where(name => known.Add(name))) Directive(name);
            }
            if (Namespace.Length > 0) text.Append("namespace ").Append(Namespace).Append(" {\n");
            foreach (var usings in frame.Usings.Skip(files)) Directives(usings);
        }

        void Directives(Usings usings)
        {
            foreach (var name in usings.Namespaces.Distinct()) Directive(name);
            foreach (var type in usings.Statics.Select(Spelled).Where(type => type != null).Distinct()) text.Append("using static ").Append(type).Append(";\n");
            foreach (var (name, space) in usings.NamespaceAliases)
            {
                if (Exists(space)) text.Append("using @").Append(name).Append(" = global::").Append(Escaped(space)).Append(";\n");
            }
            foreach (var (name, type) in usings.TypeAliases)
            {
                // A type with pointers in it, which are the only `*`.
                if (Spelled(type) is string spelled) text.Append(spelled.Contains("*") ? "using unsafe @" : "using @").Append(name).Append(" = ").Append(spelled).Append(";\n");
            }
        }

        void Directive(string name)
        {
            if (Exists(name)) text.Append("using global::").Append(Escaped(name)).Append(";\n");
        }

        string Spelled(ITypeSymbol type) => type == null ? null : frame.Types.Spell(type);

        static string Escaped(string name) => string.Join(".", name.Split('.').Select(part => "@" + part.TrimStart('@')));

        /// Whether anything the program has loaded is in a namespace.
        bool Exists(string name)
        {
            INamespaceSymbol space = frame.Compilation.GlobalNamespace;
            foreach (var part in name.Split('.'))
            {
                if (!SyntaxFacts.IsValidIdentifier(part)) return false;
                space = space.GetNamespaceMembers().FirstOrDefault(inner => inner.Name == part);
                if (space == null) return false;
            }
            return true;
        }
    }
}
