"""A walk whose steps depend on the seed that is the argument."""
import sys


def braid(seed):
    strand, knots = 7, []
    for lap in range(40):
        strand = (strand * 57 + lap) % 1009
        if strand % 19 == seed:
            strand = strand // 2 + seed
        turn = strand % 4
        knots.append("NESW"[turn])
    return "".join(sorted(knots))


print(braid(int(sys.argv[1])))
