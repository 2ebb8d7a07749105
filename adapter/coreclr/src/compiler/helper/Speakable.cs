// Names that C# cannot express. The compiler gives them to generated types (anonymous types, closures), to parameters of primary constructors,
// to local functions and to types of one file. In a copy of the metadata each gets a name of the same length that C# can express; code
// compiled against the copy gets the old names back.

using System.Collections.Generic;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Text;

namespace Tandem.Compiler
{
    static class Speakable
    {
        /// Gives speakable names to what is in the metadata at `start`. Adds to `names`: the old name by the new one.
        public static void Rename(byte[] image, int start, MetadataReader reader, Dictionary<string, string> names)
        {
            var heap = start + reader.GetHeapMetadataOffset(HeapIndex.String);
            void Patch(StringHandle handle)
            {
                var old = reader.GetString(handle);
                var speakable = MakeSpeakable(old);
                if (speakable == old) return;
                names[speakable] = old;
                Overwrite(image, heap + reader.GetHeapOffset(handle), speakable);
            }
            foreach (var handle in reader.TypeDefinitions)
            {
                var type = reader.GetTypeDefinition(handle);
                var name = reader.GetString(type.Name);
                if (IsAnonymous(name) || IsClosure(name) || IsOfFile(name)) Patch(type.Name);
            }
            foreach (var handle in reader.FieldDefinitions)
            {
                var field = reader.GetFieldDefinition(handle);
                if (IsParameter(reader.GetString(field.Name))) Patch(field.Name);
            }
            foreach (var handle in reader.MethodDefinitions)
            {
                var method = reader.GetMethodDefinition(handle);
                if (IsLocalFunction(reader.GetString(method.Name))) Patch(method.Name);
            }
        }

        /// Puts old names back into what was compiled.
        public static void Restore(byte[] image, Dictionary<string, string> names)
        {
            if (names.Count == 0) return;
            using var file = new System.Reflection.PortableExecutable.PEReader(System.Collections.Immutable.ImmutableArray.Create(image));
            var reader = file.GetMetadataReader();
            var heap = file.PEHeaders.MetadataStartOffset + reader.GetHeapMetadataOffset(HeapIndex.String);
            void Patch(StringHandle handle)
            {
                if (names.TryGetValue(reader.GetString(handle), out var old)) Overwrite(image, heap + reader.GetHeapOffset(handle), old);
            }
            foreach (var handle in reader.TypeReferences) Patch(reader.GetTypeReference(handle).Name);
            foreach (var handle in reader.MemberReferences) Patch(reader.GetMemberReference(handle).Name);
        }

        static void Overwrite(byte[] image, int at, string name) => Encoding.UTF8.GetBytes(name, 0, name.Length, image, at);

        /// The same name with other characters where C# cannot express it; all replaced characters have one byte.
        public static string MakeSpeakable(string name)
        {
            var speakable = new StringBuilder(name);
            for (var i = 0; i < speakable.Length; i++)
            {
                if (speakable[i] < 128 && !char.IsLetterOrDigit(speakable[i]) && speakable[i] != '`') speakable[i] = '_';
            }
            return speakable.ToString();
        }

        /// The method that a lambda or local function is in, however deep: `<Main>b__0_1` is in `Main`.
        public static string Outermost(string method)
        {
            while (method.StartsWith("<"))
            {
                var (at, open) = (1, 1);
                for (; at < method.Length && open > 0; at++) open += method[at] == '<' ? 1 : method[at] == '>' ? -1 : 0;
                var rest = method.Substring(at);
                if (open > 0 || !(rest.StartsWith("b__") || rest.StartsWith("g__"))) break;
                method = method.Substring(1, at - 2);
            }
            return method;
        }

        /// Whether a type was anonymous before it got a speakable name.
        public static bool IsAnonymous(Microsoft.CodeAnalysis.INamedTypeSymbol type) => type.Name.StartsWith(MakeSpeakable("<>f__AnonymousType"), System.StringComparison.Ordinal);

        static bool IsAnonymous(string name) => name.StartsWith("<>f__AnonymousType") || name.StartsWith("VB$AnonymousType_");

        static bool IsClosure(string name) => name.StartsWith("<>c__DisplayClass");

        /// `<File>F0123…__Name`
        public static bool IsOfFile(string name)
        {
            var end = name.IndexOf('>');
            return name.StartsWith("<") && end > 1 && end + 1 < name.Length && name[end + 1] == 'F' && name.IndexOf("__", end) > 0;
        }

        /// `<name>P`
        static bool IsParameter(string name) => name.StartsWith("<") && name.EndsWith(">P");

        /// `<Method>g__Name|0_1`
        public static bool IsLocalFunction(string name) => name.StartsWith("<") && name.Contains(">g__") && name.IndexOf('|') > 0;
    }
}
