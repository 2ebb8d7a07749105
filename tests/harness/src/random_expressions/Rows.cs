// Prints the values of random expressions as the debugger shows them: the type, a tab, the value; for an exception `!`, a tab, its name.
using System;
using System.Globalization;
using System.Text;

static class RandomRows
{
    public static void Row<T>(Func<T> expression)
    {
        string line;
        try
        {
            line = Spell(typeof(T)) + "\t" + Show(expression());
        }
        catch (Exception e)
        {
            line = "!\t" + e.GetType().Name;
        }
        Console.Out.Write(line + "\n");
    }

    static string Spell(Type type)
    {
        var inner = Nullable.GetUnderlyingType(type);
        if (inner != null) return Spell(inner) + "?";
        switch (Type.GetTypeCode(type))
        {
            case TypeCode.Boolean: return "bool";
            case TypeCode.Char: return "char";
            case TypeCode.SByte: return "sbyte";
            case TypeCode.Byte: return "byte";
            case TypeCode.Int16: return "short";
            case TypeCode.UInt16: return "ushort";
            case TypeCode.Int32: return "int";
            case TypeCode.UInt32: return "uint";
            case TypeCode.Int64: return "long";
            case TypeCode.Single: return "float";
            case TypeCode.Double: return "double";
            case TypeCode.String: return "string";
            default: return type.FullName;
        }
    }

    static string Show(object value)
    {
        switch (value)
        {
            case null: return "null";
            case bool truth: return truth ? "true" : "false";
            case char letter: return (int)letter + " '" + Escaped(letter, '\'') + "'";
            case IFormattable number: return number.ToString(null, CultureInfo.InvariantCulture);
        }
        var shown = new StringBuilder();
        foreach (var unit in (string)value) shown.Append(Escaped(unit, '"'));
        return "\"" + shown + "\"";
    }

    static string Escaped(char unit, char quote)
    {
        switch (unit)
        {
            case '\\': return "\\\\";
            case '\n': return "\\n";
            case '\r': return "\\r";
            case '\t': return "\\t";
            case '\0': return "\\0";
        }
        if (unit == quote) return "\\" + unit;
        return char.IsControl(unit) ? "\\u" + ((int)unit).ToString("x4") : unit.ToString();
    }
}
