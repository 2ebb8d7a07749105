"""Three workers count into one tally without a lock; gates make the order the same in each run."""
import threading

tally = 0
gates = [threading.Event() for _ in range(6)]
ORDER = {"umber": (0, 3), "sorrel": (1, 2), "russet": (4, 5)}


def add(amount, read_at, write_at):
    global tally
    gates[read_at].wait()
    seen = tally
    if read_at + 1 < len(gates):
        gates[read_at + 1].set()
    gates[write_at].wait()
    tally = seen + amount
    if write_at + 1 < len(gates):
        gates[write_at + 1].set()


workers = [
    threading.Thread(target=add, name=name, args=(amount, *ORDER[name]))
    for name, amount in (("umber", 5), ("sorrel", 30), ("russet", 200))
]
for worker in workers:
    worker.start()
gates[0].set()
for worker in workers:
    worker.join()
print(tally)
