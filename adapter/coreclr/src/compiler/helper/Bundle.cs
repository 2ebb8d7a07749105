// The assemblies in a single-file program: those that are not loaded yet can be read only from there. The format is that of the host, which
// unpacks it (Microsoft.NET.HostModel, versions 1 to 6).

using System;
using System.Collections.Generic;
using System.IO;
using System.IO.Compression;
using System.Text;

namespace Tandem.Compiler
{
    static class Bundle
    {
        /// SHA-256 of ".net core bundle": behind it no more, before it the place of the header.
        static readonly byte[] Mark =
        {
            0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
            0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
        };
        const int MostFiles = 20_000;
        const long Largest = 256 << 20;
        const byte KindAssembly = 1;

        /// Simple names, and how to read them.
        public static IEnumerable<(string, Func<byte[]>)> Assemblies(string path)
        {
            var found = new List<(string, Func<byte[]>)>();
            using var file = File.OpenRead(path);
            var header = Header(file);
            if (header <= 0 || header >= file.Length) return found;
            file.Position = header;
            using var reader = new BinaryReader(file, Encoding.UTF8);
            try
            {
                var version = reader.ReadUInt32();
                reader.ReadUInt32();
                var count = reader.ReadInt32();
                reader.ReadString();
                if (version >= 2) file.Position += 5 * 8;
                for (var i = 0; i < Math.Min(count, MostFiles); i++)
                {
                    var (offset, size) = (reader.ReadInt64(), reader.ReadInt64());
                    var compressed = version >= 6 ? reader.ReadInt64() : 0;
                    var kind = reader.ReadByte();
                    var name = reader.ReadString();
                    if (kind == KindAssembly && size > 0 && size < Largest && offset > 0)
                    {
                        found.Add((Path.GetFileNameWithoutExtension(name), () => Read(path, offset, size, compressed)));
                    }
                }
            }
            catch (Exception error) when (error is IOException || error is ArgumentException || error is FormatException)
            {
                // A damaged one has no more than was read.
            }
            return found;
        }

        static byte[] Read(string path, long offset, long size, long compressed)
        {
            using var file = File.OpenRead(path);
            file.Position = offset;
            using var stream = compressed > 0 ? new DeflateStream(file, CompressionMode.Decompress) : (Stream)file;
            var bytes = new byte[size];
            for (var at = 0; at < bytes.Length;)
            {
                var count = stream.Read(bytes, at, bytes.Length - at);
                if (count == 0) throw new InvalidDataException("an assembly in the program's file is cut off");
                at += count;
            }
            return bytes;
        }

        /// Where the header is; 0 when the file is no such program.
        static long Header(FileStream file)
        {
            var block = new byte[1 << 20];
            var kept = 0;
            for (int count; (count = file.Read(block, kept, block.Length - kept)) > 0;)
            {
                var have = kept + count;
                var at = block.AsSpan(0, have).IndexOf(Mark);
                if (at >= 8) return BitConverter.ToInt64(block, at - 8);
                kept = Math.Min(have, Mark.Length + 8);
                Array.Copy(block, have - kept, block, 0, kept);
            }
            return 0;
        }
    }
}
