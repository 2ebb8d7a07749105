// Handles requests and writes their responses.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

namespace Tandem.Compiler
{
    sealed class Server
    {
        /// Increased whenever the messages change.
        const int Protocol = 1;

        readonly References references = new References();

        /// The first message: which protocol, which compiler.
        public byte[] Hello() => new Writer().Number(Protocol).Text(typeof(CSharpCompilation).Assembly.GetName().Version.ToString()).Done();

        /// The answer to a request; null to one that has none.
        public byte[] Answer(byte[] request)
        {
            var reader = new Reader(request);
            var kind = (char)reader.Byte();
            try
            {
                switch (kind)
                {
                    case 'F':
                        references.AddFile(reader.Number(), reader.Text());
                        return null;
                    case 'M':
                        references.AddMetadata(reader.Number(), reader.Bytes());
                        return null;
                    case 'R':
                        references.Remove(reader.Number());
                        return null;
                    case 'P':
                        references.SetPlatform(reader.List(reader.Text), reader.Text());
                        return null;
                    case 'L':
                        return Library(reader);
                    case 'E':
                        return Compiled(request);
                    default:
                        return Refused("the compiler's process does not know the request");
                }
            }
            catch (Refusal refusal)
            {
                return Refused(refusal.Message);
            }
            catch (Exception error) when (!(error is OutOfMemoryException))
            {
                // A module that cannot be read is none of the references; it has no answer either way.
                return kind == 'L' || kind == 'E' ? Refused($"the compiler failed: {error.GetType().Name}: {error.Message}") : null;
            }
        }

        static byte[] Refused(string message) => new Writer().Byte((byte)'N').Text(message).Done();

        static byte[] Found(List<Finding> findings)
        {
            var writer = new Writer().Byte((byte)'D').Number(findings.Count);
            foreach (var finding in findings) writer.Text(finding.Id).Text(finding.Message).Number(finding.Start).Number(finding.End);
            return writer.Done();
        }

        /// Compiles Tandem's code that runs in the program.
        byte[] Library(Reader reader)
        {
            var (name, source) = (reader.Text(), reader.Text());
            var compilation = references.Compilation(reader.List(reader.Number), new List<int>()).WithAssemblyName(name).AddSyntaxTrees(CSharpSyntaxTree.ParseText(source));
            var stream = new MemoryStream();
            var outcome = compilation.Emit(stream);
            if (outcome.Success) return new Writer().Byte((byte)'L').Bytes(stream.ToArray()).Done();
            var errors = outcome.Diagnostics.Where(error => error.Severity == DiagnosticSeverity.Error).Take(3);
            return Refused(string.Join("; ", errors.Select(error => error.ToString())));
        }

        byte[] Compiled(byte[] request)
        {
            Frame Read(bool open) => Frame.Read(new Reader(request.AsSpan(1).ToArray()), references, open);
            var frame = Read(false);
            var attempt = new Attempt { Language = frame.Language, IgnoresAccess = true };
            List<Finding> first = null;
            for (var round = 0; round < 4; round++)
            {
                var findings = new List<Finding>();
                var emitted = new Expression(frame, references, attempt).Compile(findings);
                if (emitted != null) return Success(emitted);
                if (first == null || IsNewer(first) || attempt.Usual && attempt.IgnoresAccess && Start(findings) > Start(first)) first = findings;
                if (!attempt.Otherwise(findings)) break;
                if (!attempt.IgnoresAccess) frame = Read(true);
            }
            return Found(frame.Explained(first));
        }

        /// Where the first of them is: more namespaces may have solved those before it.
        static int Start(List<Finding> findings) => findings.Select(finding => finding.Start).DefaultIfEmpty(-1).Min();

        static bool IsNewer(List<Finding> findings) => findings.Any(Attempt.IsOfLanguage);

        static byte[] Success(Emitted emitted)
        {
            var writer = new Writer().Byte((byte)'E').Bytes(emitted.Image).Number(emitted.Method).Number(emitted.Arguments.Count);
            foreach (var (index, isReference) in emitted.Arguments) writer.Number(index).Byte(isReference ? (byte)1 : (byte)0);
            return writer.Byte(emitted.IsVoid ? (byte)1 : (byte)0).Byte(emitted.Waits ? (byte)1 : (byte)0).Byte(emitted.IsAny ? (byte)1 : (byte)0).Done();
        }
    }
}
