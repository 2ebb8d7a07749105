using System;
using System.Collections.Generic;

class Order
{
    public string Item;
    public int Count;
    public decimal Price;
}

static class Program
{
    static decimal Total(List<Order> orders)
    {
        decimal total = 0;
        foreach (Order order in orders)
        {
            total += order.Count * order.Price;
        }
        return total;
    }

    static int Main()
    {
        Console.WriteLine("\x1b[1;33mThe corner shop\x1b[0m");
        Console.Write("your name? ");
        string name = Console.ReadLine();
        List<Order> orders = new List<Order>
        {
            new Order { Item = "tea", Count = 2, Price = 4.50m },
            new Order { Item = "milk", Count = 1, Price = 1.20m },
        };
        decimal total = Total(orders);
        Console.WriteLine($"{name} pays {total}");
        return 3;
    }
}
