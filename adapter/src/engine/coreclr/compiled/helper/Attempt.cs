// How an expression is compiled, and how else when that fails.

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
        /// What is private and internal can be seen, of everybody; else of the user's own modules alone.
        public bool IgnoresAccess;

        /// Takes another way because of what was found; says whether there is one.
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
            // Something that is internal to somebody else may have been in the way.
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
