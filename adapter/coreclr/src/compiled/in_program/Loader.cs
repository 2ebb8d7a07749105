// Loads compiled expressions into the program. They are bound to the very assemblies that the code around them uses, whichever load
// context those are in, and can be unloaded. They do not keep a context of the program that is otherwise unused.

using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

static class TandemLoader
{
    static ConditionalWeakTable<AssemblyLoadContext, Context> contexts = new ConditionalWeakTable<AssemblyLoadContext, Context>();

    /// Loads an assembly for code beside `anchor`, an array of a type of that code's assembly.
    static void Load(byte[] image, object anchor)
    {
        var element = anchor == null ? null : anchor.GetType().GetElementType();
        var beside = element == null ? null : AssemblyLoadContext.GetLoadContext(element.Assembly);
        var context = contexts.GetValue(beside ?? AssemblyLoadContext.Default, key => new Context(key));
        context.LoadFromStream(new MemoryStream(image));
    }

    /// Unloads everything that was loaded; a context that is still in use stays until it is released.
    static void Unload()
    {
        var old = contexts;
        contexts = new ConditionalWeakTable<AssemblyLoadContext, Context>();
        foreach (var entry in old) entry.Value.Unload();
    }

    sealed class Context : AssemblyLoadContext
    {
        readonly AssemblyLoadContext beside;

        internal Context(AssemblyLoadContext beside) : base("Tandem expressions", true)
        {
            this.beside = beside;
        }

        protected override Assembly Load(AssemblyName name)
        {
            foreach (var loaded in beside.Assemblies)
            {
                if (loaded.GetName().Name == name.Name) return loaded;
            }
            try
            {
                return beside.LoadFromAssemblyName(name);
            }
            catch (FileNotFoundException)
            {
            }
            foreach (var loaded in AppDomain.CurrentDomain.GetAssemblies())
            {
                if (!loaded.IsDynamic && loaded.GetName().Name == name.Name) return loaded;
            }
            return null;
        }
    }
}
