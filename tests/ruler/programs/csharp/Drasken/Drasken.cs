// A till with rebates, and two porters who take two keys each; `Drasken till` or `Drasken porters`.
using System;
using System.Collections.Generic;
using System.Threading;

namespace Drasken
{
    class Ware
    {
        public string Name = "";
        public decimal Price;
        public decimal Due;
    }

    class Till
    {
        private readonly List<Ware> wares = new List<Ware>();
        private decimal rebate;

        public void Put(string name, decimal price) => wares.Add(new Ware { Name = name, Price = price, Due = price });

        public void Rebate(decimal share)
        {
            rebate = share;
            foreach (var ware in wares)
                ware.Due = ware.Price * (1 - rebate);
        }

        public decimal Sum()
        {
            decimal sum = 0;
            foreach (var ware in wares)
                sum += ware.Due;
            return sum;
        }
    }

    static class Program
    {
        static readonly object cellar = new object(), attic = new object(), larder = new object();
        static readonly Barrier ready = new Barrier(2);

        static void Porter(object first, object second)
        {
            lock (first)
            {
                ready.SignalAndWait();
                lock (second)
                    Console.WriteLine("carried");
            }
        }

        static int Main(string[] args)
        {
            if (args.Length > 0 && args[0] == "porters")
            {
                object[] keys = { cellar, attic, larder };
                int pick = 0;
                for (int draw = 0; draw < 9; draw++)
                    pick = (pick * 5 + draw) % 7;
                object left = keys[pick % 3], right = keys[(pick + 1) % 3];
                var nessa = new Thread(() => Porter(left, right)) { Name = "nessa", IsBackground = true };
                var torben = new Thread(() => Porter(right, left)) { Name = "torben", IsBackground = true };
                nessa.Start();
                torben.Start();
                nessa.Join();
                torben.Join();
            }
            var till = new Till();
            till.Put("hemple", 40m);
            till.Put("scrip", 12.5m);
            till.Put("lorrel", 8m);
            till.Rebate(0.2m);
            till.Put("quill", 20m);
            till.Put("dram", 5m);
            Console.WriteLine(till.Sum());
            return 0;
        }
    }
}
