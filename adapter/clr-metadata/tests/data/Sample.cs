// Built once into Sample.dll and Sample.pdb (Debug, portable): see tests/data/README.md.
using System;
using System.Linq;
using System.Threading.Tasks;

namespace Sample
{
    enum Color { Red = 3, Green = 7 }

    class Shape
    {
        int sides = 4;
        public const int Count = 1;
        public int Sides => sides;
        public class Inner<T> { public T Item; }
    }

    static class Program
    {
        static int Sum(int limit)
        {
            int total = 0;
            for (int index = 0; index < limit; index++)
            {
                total += index; // BP sum
            }
            // slides
            return total; // BP after comment
        }

        static async Task<int> Later(int x)
        {
            await Task.Delay(x); // BP await
            return x;
        }

        static void Main()
        {
            var doubled = new[] { 1, 2 }.Select(n => n * 2).ToArray(); // BP lambda
            Console.WriteLine( // BP long
                Sum(3) + // within
                Later(1).GetAwaiter().GetResult());
        }
    }
}
