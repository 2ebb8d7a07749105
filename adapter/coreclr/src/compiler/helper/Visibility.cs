// A copy of metadata in which everything is public (ECMA-335 II.22.37, II.22.15, II.22.26): private members of the user's code can be used
// then, and internal members of other modules do not hide visible ones.

using System;
using System.Buffers.Binary;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;

namespace Tandem.Compiler
{
    static class Visibility
    {
        const int TypeMask = 7, Public = 1, NestedPublic = 2;
        const int MemberMask = 7, MemberPublic = 6;

        public static void Open(byte[] metadata, MetadataReader reader)
        {
            // The flags are the first column of types and fields, and the third of methods.
            Each(metadata, reader, TableIndex.TypeDef, 0, flags => (flags & ~TypeMask) | ((flags & TypeMask) > Public ? NestedPublic : Public));
            Each(metadata, reader, TableIndex.Field, 0, flags => (flags & ~MemberMask) | MemberPublic);
            Each(metadata, reader, TableIndex.MethodDef, 6, flags => (flags & ~MemberMask) | MemberPublic);
        }

        static void Each(byte[] metadata, MetadataReader reader, TableIndex table, int column, Func<int, int> change)
        {
            var start = reader.GetTableMetadataOffset(table) + column;
            var size = reader.GetTableRowSize(table);
            for (var row = 0; row < reader.GetTableRowCount(table); row++)
            {
                // The bits are in the lower half of types' flags, too.
                var flags = metadata.AsSpan(start + row * size, 2);
                BinaryPrimitives.WriteUInt16LittleEndian(flags, (ushort)change(BinaryPrimitives.ReadUInt16LittleEndian(flags)));
            }
        }
    }
}
