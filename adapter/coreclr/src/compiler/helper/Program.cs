// The process that asks the C# compiler of an SDK for the debugger: requests come on stdin and answers go to stdout, one after the
// other. It ends when its stdin does, and after some time without a request. Of the debugged program it sees only names of files
// and copies of metadata.
//
// Everything here is C# 8 on .NET Core 3.1 and Roslyn 3.4: older SDKs compile it too.

using System;
using System.Collections.Concurrent;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace Tandem.Compiler
{
    static class Program
    {
        /// The compiler recurses into deeply nested expressions; it stops by itself before a stack of this size is full.
        const int StackSize = 16 << 20;

        /// Arguments: the folder of the compiler, and after how many seconds without a request to end.
        static int Main(string[] arguments)
        {
            var folder = arguments[0];
            var patience = TimeSpan.FromSeconds(int.Parse(arguments[1]));
            AssemblyLoadContext.Default.Resolving += (context, name) =>
            {
                var file = Path.Combine(folder, name.Name + ".dll");
                return File.Exists(file) ? context.LoadFromAssemblyPath(file) : null;
            };
            // Whatever prints would break the protocol.
            Console.SetOut(TextWriter.Null);
            var requests = new BlockingCollection<byte[]>();
            var worker = new Thread(() => Work(requests, patience), StackSize) { IsBackground = true };
            worker.Start();
            using var input = Console.OpenStandardInput();
            while (Frames.Read(input) is byte[] request)
            {
                requests.Add(request);
            }
            // No client waits for the current request.
            Environment.Exit(0);
            return 0;
        }

        static void Work(BlockingCollection<byte[]> requests, TimeSpan patience)
        {
            using var output = Console.OpenStandardOutput();
            try
            {
                Answer(requests, output, patience);
            }
            catch (Exception error)
            {
                Console.Error.WriteLine(error);
                Environment.Exit(3);
            }
            Environment.Exit(0);
        }

        // Not before the compiler's folder is known.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Answer(BlockingCollection<byte[]> requests, Stream output, TimeSpan patience)
        {
            var server = new Server();
            Frames.Write(output, server.Hello());
            while (requests.TryTake(out var request, patience))
            {
                if (server.Answer(request) is byte[] answer)
                {
                    Frames.Write(output, answer);
                }
            }
        }
    }
}
