// The ways to compile an expression: the next one is tried when one fails.

using System;
using System.Collections.Generic;
using System.Linq;

namespace Tandem.Compiler
{
    sealed class Attempt
    {
        static readonly string[] Unknown = { "CS0103", "CS0246", "CS0234", "CS1061", "CS1935", "CS1936", "CS0305", "CS0308", "CS1503", "CS1929" };
        /// The language version; empty for the newest.
        public string Language;
        /// With the namespaces people expect to see.
        public bool Usual;
        /// Private and internal members of all modules are visible; otherwise only those of the user's modules.
        public bool IgnoresAccess;

        /// Chooses another way because of the findings; returns whether there is one.
        public bool Otherwise(List<Finding> findings)
        {
            if (Language.Length > 0 && findings.Any(IsOfLanguage))
            {
                Language = "";
                return true;
            }
            if (!Usual && findings.Any(finding => Unknown.Contains(finding.Id)))
            {
                Usual = true;
                return true;
            }
            // An internal member of another module may have hidden a visible one.
            if (IgnoresAccess)
            {
                IgnoresAccess = false;
                return true;
            }
            return false;
        }

        /// Whether a newer version of the language has what was found.
        public static bool IsOfLanguage(Finding finding) =>
            finding.Message.Contains("not available in C#", StringComparison.Ordinal) || finding.Message.Contains("'preview' language version", StringComparison.Ordinal);
    }
}
