"""Averages of marks. Names with missing marks do not count."""

SHEETS = {
    "tilda": {"parts": [{"craft": 71, "lore": 64}, {"craft": 80, "lore": 77}]},
    "orrin": {"parts": [{"craft": 55, "lore": None}, {"craft": 62, "lore": 70}]},
    "wenda": {"parts": [{"craft": 90, "lore": 88}, {"craft": 93}]},
    "hasko": {"parts": [{"craft": 40, "lore": 52}, {"craft": 47, "lore": 0}]},
    "bevin": {"parts": []},
}


def whole(sheet):
    return all(mark is not None for part in sheet["parts"] for mark in part.values())


def mean(sheet):
    marks = [mark for part in sheet["parts"] for mark in part.values()]
    return sum(marks) / len(marks) if marks else 0.0


def ranking():
    rows = []
    for name, sheet in SHEETS.items():
        counted = whole(sheet)
        if counted:
            score = mean(sheet)
            rows.append((name, score))
    return sum(score for _, score in rows) / len(rows)


print(f"{ranking():.2f}")
