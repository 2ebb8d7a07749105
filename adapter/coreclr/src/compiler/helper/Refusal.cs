// Why an expression is not compiled, for people; the compiler's own reasons come as diagnostics.

using System;

namespace Tandem.Compiler
{
    sealed class Refusal : Exception
    {
        public Refusal(string message) : base(message)
        {
        }
    }
}
