"""Settings that are looked up by attribute: two desks, each with values of its own."""


class Desk:
    _seen = {}

    def __init__(self, values):
        self._values = values

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._seen:
            self._seen[name] = self._values.get(name, 0) * self._scale()
        return self._seen[name]

    def _scale(self):
        return self._values["ratch"] % 5 + 1

    def put(self, name, value):
        self._values[name] = value


def bill(desk):
    return sum(getattr(desk, name) for name in ("ostle", "brack", "fennet", "quorl"))


north = Desk({"ratch": 13, "ostle": 4, "brack": 9, "quorl": 2})
south = Desk({"ratch": 7, "ostle": 6, "fennet": 5, "quorl": 8})
first = bill(north)
north.put("fennet", 11)
second = bill(south)
third = bill(north)
print(first, second, third)
