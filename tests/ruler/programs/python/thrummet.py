"""Vats of an invented brewery: each line of stdin is an order, `NAME FORCE`."""
import sys


class Vat:
    def __init__(self, name, level):
        self.name = name
        self.level = level
        self.seams = []


def nudge(vat, force):
    vat.level = (vat.level * 31 + force * 17) % 211
    if vat.level % 23 == 5:
        return None
    return vat.level


def settle(vat, rounds):
    drift = vat.level
    for turn in range(rounds):
        drift = (drift * 7 + turn * vat.level + 3) % 997
        if drift % 2:
            vat.seams.append(drift)
    vat.level = drift % 100
    return drift


def leak(vat):
    vat.level -= len(vat.seams) % 4


def skim(vat):
    if vat.level > 40:
        vat.level -= 11


def seal(vat):
    if vat.seams and vat.seams[-1] % 3 == 0:
        vat.level += vat.seams.pop() % 9


def portion(vat, parts):
    return vat.level // (parts - vat.level % 7)


def handle(line, vats):
    name, force = line.split()
    vat = vats[name]
    pushed = nudge(vat, int(force)) or 1
    settle(vat, 9)
    for work in (leak, skim, seal):
        work(vat)
    return portion(vat, pushed % 5 + 2)


def main():
    vats = {name: Vat(name, level) for name, level in (("ambrel", 14), ("corvis", 80), ("dunmow", 31))}
    total = 0
    for line in sys.stdin:
        total += handle(line, vats)
    print("total", total)


main()
