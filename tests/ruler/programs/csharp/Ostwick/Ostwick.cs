// Weighs sacks that stdin names, one a line: `NAME MASS`.
using System;
using System.Collections.Generic;
using System.Threading;

namespace Ostwick
{
    class Sack
    {
        public string Name = "";
        public int Mass;
        public Sack? Next;
    }

    class Bellows
    {
        private int pressure = 30;
        public int Pressure => pressure;
        public void Heave(int by) { pressure = (pressure * 3 + by) % 173; }
        public void Vent() { pressure -= pressure / 4; }
        public void Seal(int at) { if (at % 3 == 1) pressure += at; }
    }

    static class Program
    {
        static readonly List<Sack> sacks = new List<Sack>();

        static int Weigh(Sack sack, int turns)
        {
            int heft = sack.Mass;
            for (int turn = 0; turn < turns; turn++)
            {
                heft = (heft * 11 + turn * 5 + sack.Name.Length) % 607;
                if (heft % 7 == 0)
                    heft += 2;
            }
            return heft;
        }

        static Sack? Seek(int mass, int slack)
        {
            foreach (var sack in sacks)
                if (Math.Abs(sack.Mass - mass) <= slack)
                    return sack;
            return null;
        }

        static int Dig(int depth, int seed)
        {
            if (seed % 97 < 4)
                return depth * seed;
            return Dig(depth + 1, (seed * 29 + 7) % 1009) + 1;
        }

        static int Sift(int grain)
        {
            int kept = 0;
            for (int pass = 1; pass <= 12; pass++)
            {
                try { kept += Grade(grain * pass % 31); }
                catch (ArgumentException) { kept -= 1; }
                catch (InvalidOperationException) { kept -= 2; }
            }
            return kept;
        }

        static int Grade(int size)
        {
            if (size % 6 == 1)
                throw new ArgumentException("too fine: " + size);
            if (size > 27)
                throw new InvalidOperationException("too coarse");
            return size / 2;
        }

        static int Take(string line, Bellows bellows)
        {
            var words = line.Split(' ');
            var sack = new Sack { Name = words[0], Mass = int.Parse(words[1]) };
            var near = Seek(sack.Mass * 2 % 50, 3);
            sack.Next = near ?? sack;
            sacks.Add(sack);
            bellows.Heave(Weigh(sack, 9));
            if (sack.Mass % 2 == 0) bellows.Vent();
            bellows.Seal(sack.Mass);
            return 1000 / (bellows.Pressure % 19);
        }

        static int Main()
        {
            var bellows = new Bellows();
            int taken = 0, sifted = Sift(17), dug = Dig(0, 5);
            string? line;
            while ((line = Console.ReadLine()) != null)
                taken += Take(line, bellows);
            Console.WriteLine($"{taken} {sifted} {dug}");
            return 0;
        }
    }
}
