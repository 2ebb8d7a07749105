// Compiler options for expressions. Some exist only for debuggers: they are looked up by name, and left out if a version does not have them.

using System;
using System.Reflection;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    static class Options
    {
        public static readonly CSharpCompilationOptions Plain = new CSharpCompilationOptions(
            OutputKind.DynamicallyLinkedLibrary,
            optimizationLevel: OptimizationLevel.Release,
            allowUnsafe: true,
            warningLevel: 0,
            concurrentBuild: false,
            metadataImportOptions: MetadataImportOptions.All);

        /// Private members can be used.
        public static CSharpCompilationOptions For(bool ignoreAccess, bool isChecked)
        {
            // A copy in any case: what follows must not reach the others.
            var options = Plain.WithOverflowChecks(!isChecked).WithOverflowChecks(isChecked);
            if (!ignoreAccess) return options;
            try
            {
                var flags = typeof(CSharpCompilationOptions).GetProperty("TopLevelBinderFlags", BindingFlags.NonPublic | BindingFlags.Instance);
                if (flags != null) flags.SetValue(options, Enum.Parse(flags.PropertyType, "IgnoreAccessibility"));
            }
            catch (Exception error) when (error is ArgumentException || error is TargetException || error is TargetInvocationException)
            {
                // Then the compiler refuses private members.
            }
            return options;
        }

        /// A language version by its number; the newest when it is none.
        public static CSharpParseOptions Language(string version)
        {
            var found = LanguageVersionFacts.TryParse(version, out var parsed) ? parsed : LanguageVersion.Preview;
            return new CSharpParseOptions(found);
        }
    }
}
