// The protocol: each message is its length in four bytes, then so many bytes; in them numbers are four bytes, texts and lists begin
// with their length. Little-endian.

using System;
using System.Buffers.Binary;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Tandem.Compiler
{
    static class Frames
    {
        /// Longest message, bytes.
        const int Longest = 256 << 20;

        /// The next message; null at the end of the input.
        public static byte[] Read(Stream input)
        {
            var length = new byte[4];
            if (!Fill(input, length)) return null;
            var count = BinaryPrimitives.ReadInt32LittleEndian(length);
            if (count < 0 || count > Longest) throw new InvalidDataException("a message is too long");
            var message = new byte[count];
            return Fill(input, message) ? message : null;
        }

        static bool Fill(Stream input, byte[] bytes)
        {
            for (var at = 0; at < bytes.Length;)
            {
                var count = input.Read(bytes, at, bytes.Length - at);
                if (count == 0) return false;
                at += count;
            }
            return true;
        }

        public static void Write(Stream output, byte[] message)
        {
            var whole = new byte[message.Length + 4];
            BinaryPrimitives.WriteInt32LittleEndian(whole, message.Length);
            message.CopyTo(whole, 4);
            output.Write(whole, 0, whole.Length);
            output.Flush();
        }
    }

    sealed class Reader
    {
        readonly byte[] bytes;
        int at;

        public Reader(byte[] bytes) => this.bytes = bytes;

        public byte Byte() => bytes[at++];

        public bool Flag() => Byte() != 0;

        public int Number()
        {
            var number = BinaryPrimitives.ReadInt32LittleEndian(bytes.AsSpan(at, 4));
            at += 4;
            return number;
        }

        public byte[] Bytes()
        {
            var count = Number();
            var part = bytes.AsSpan(at, count).ToArray();
            at += count;
            return part;
        }

        public string Text()
        {
            var count = Number();
            var text = Encoding.UTF8.GetString(bytes, at, count);
            at += count;
            return text;
        }

        public List<T> List<T>(Func<T> read)
        {
            var count = Number();
            if (count < 0 || count > bytes.Length) throw new InvalidDataException("a list is too long");
            var list = new List<T>(count);
            for (var i = 0; i < count; i++) list.Add(read());
            return list;
        }
    }

    sealed class Writer
    {
        readonly MemoryStream stream = new MemoryStream();

        public Writer Byte(byte value)
        {
            stream.WriteByte(value);
            return this;
        }

        public Writer Number(int value)
        {
            var bytes = new byte[4];
            BinaryPrimitives.WriteInt32LittleEndian(bytes, value);
            stream.Write(bytes, 0, 4);
            return this;
        }

        public Writer Bytes(byte[] value)
        {
            Number(value.Length);
            stream.Write(value, 0, value.Length);
            return this;
        }

        public Writer Text(string value) => Bytes(Encoding.UTF8.GetBytes(value));

        public byte[] Done() => stream.ToArray();
    }
}
