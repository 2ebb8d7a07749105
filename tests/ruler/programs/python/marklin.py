"""Averages of marks. Names with missing marks do not count."""

PAPERS = {
    "tilda": {"parts": [{"craft": 71, "lore": 64}, {"craft": 80, "lore": 77}]},
    "orrin": {"parts": [{"craft": 55, "lore": None}, {"craft": 62, "lore": 70}]},
    "wenda": {"parts": [{"craft": 90, "lore": 88}, {"craft": 93}]},
    "hasko": {"parts": [{"craft": 40, "lore": 52}, {"craft": 47, "lore": 0}]},
    "bevin": {"parts": []},
}


def whole(paper):
    return all(mark is not None for part in paper["parts"] for mark in part.values())


def mean(paper):
    marks = [mark for part in paper["parts"] for mark in part.values()]
    return sum(marks) / len(marks) if marks else 0.0


def ranking():
    rows = []
    for name, paper in PAPERS.items():
        counted = whole(paper)
        if counted:
            score = mean(paper)
            rows.append((name, score))
    return sum(score for _, score in rows) / len(rows)


print(f"{ranking():.2f}")
