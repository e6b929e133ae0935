"""Random tables of all kinds, as plain lists: ties, constants, copies, magnitudes, offsets, sentinels, gaps, texts."""

import numpy as np

WORDS = ["red", "green", "blue", "", " ", "NA", "é", "0", "-1", "=1+1", "constructor"]


def normal(rng, n):
    return rng.standard_normal(n)


def rounded(rng, n):
    return rng.standard_normal(n).round(int(rng.integers(0, 3)))


def few_integers(rng, n):
    return rng.integers(0, int(rng.integers(2, 6)), n)


def many_integers(rng, n):
    return rng.integers(-50, 50, n)


def mostly_zero(rng, n):
    return np.where(rng.random(n) < 0.8, 0.0, rng.exponential(size=n))


def constant(rng, n):
    return np.full(n, rng.choice([0.0, 1.0, -3.5, 0.1]))


def nearly_constant(rng, n):
    values = np.full(n, 0.1)
    values[rng.integers(n)] = 0.3
    return values


def heavy_tails(rng, n):
    return np.exp(2 * rng.standard_normal(n))


def offset(rng, n):
    """Values far from zero beside their spread."""
    return rng.standard_normal(n) + rng.choice([-1.0, 1.0]) * 10.0 ** rng.integers(1, 7)


def sentinel(rng, n):
    """A number that stands for something else."""
    values = rng.integers(0, 100, n) if rng.random() < 0.5 else rng.standard_normal(n).round(2)
    return np.where(rng.random(n) < 0.1, rng.choice([-999.0, 9999.0, -1e5]), values)


def magnitude(rng, n):
    """Units that nobody expects."""
    return rng.standard_normal(n).round(3) * 10.0 ** int(rng.integers(-290, 290))


def booleans(rng, n):
    return rng.random(n) < 0.4


def texts(rng, n):
    return rng.choice(WORDS[: int(rng.integers(1, len(WORDS) + 1))], n)


def many_texts(rng, n):
    return np.array([f"t{value}" for value in rng.integers(0, n, n)])


def many_levels(rng, n):
    """A quarter as many categories as rows, up to one for every row; some of them have one row."""
    n_levels = int(rng.integers(max(2, n // 4), n + 1))
    drawn = rng.integers(0, n_levels, n) if rng.random() < 0.5 else rng.permutation(n) % n_levels
    return np.array([f"t{value}" for value in drawn])


# Kinds of columns that scaling in double precision finds hard.
def outlier(rng, n):
    values = rng.integers(0, 100, n).astype(float)
    values[rng.integers(n)] = rng.choice([1e10, -1e12, 1e15])
    return values


def far_offset(rng, n):
    return rng.integers(0, 100, n) + 10.0 ** rng.integers(10, 15)


PLAIN = (normal, rounded, few_integers, many_integers, mostly_zero, constant, nearly_constant, heavy_tails, offset)
PLAIN += (sentinel, booleans, texts, many_texts, many_levels, many_levels)
EXTREME = (outlier, far_offset)


def as_list(values, gaps=None):
    """Plain values of one type, None where there is a gap."""
    if gaps is None:
        return values.tolist()
    return [None if gap else value for value, gap in zip(values.tolist(), gaps.tolist(), strict=True)]


def make_column(rng, n, known, kinds):
    """A column of a random kind, or a copy of one that is known in other units."""
    numeric = [values for values in known if not isinstance(next((v for v in values if v is not None), ""), str | bool)]
    if numeric and rng.random() < 0.15:
        factor = float(rng.choice([1.0, -1.0, 2.0, 0.25]))
        return [None if value is None else value * factor for value in numeric[int(rng.integers(len(numeric)))]]
    values = kinds[int(rng.integers(len(kinds)))](rng, n)
    gaps = rng.random(n) < rng.choice([0.05, 0.3, 0.7]) if rng.random() < 0.2 else None
    return as_list(values, gaps)


def make_target(rng, n, columns):
    """Classes, with or without a class of one row, or numbers; often related to the columns."""
    numbers = [c for c in columns.values() if all(v is not None and not isinstance(v, str | bool) for v in c)]
    base = np.zeros(n)
    for values in numbers[:2]:
        deviation = np.std(np.array(values, float) / max(1e-300, np.max(np.abs(values))))
        if 0 < deviation < np.inf:
            base = base + np.array(values, float) / max(1e-300, np.max(np.abs(values))) / deviation
    base = base + rng.standard_normal(n) * rng.choice([0.1, 1.0])
    kind = rng.choice(["two", "few", "single", "text", "numbers", "ties"])
    if kind == "numbers":
        return base.tolist()
    if kind == "ties":
        return base.round(1).tolist()
    n_classes = 2 if kind == "two" else int(rng.integers(2, 5))
    classes = np.minimum((np.argsort(np.argsort(base)) * n_classes) // n, n_classes - 1)
    if kind == "single":
        classes[rng.integers(n)] = n_classes
    return [WORDS[code] for code in classes.tolist()] if kind == "text" else classes.tolist()


def make_names(rng, n_columns):
    """Names of a frame: mostly texts; whole numbers that are positions of others, that are not, or beside texts."""
    texts, positions = [f"c{place}" for place in range(n_columns)], rng.permutation(n_columns).tolist()
    kind = rng.choice(["texts", "positions", "far", "mixed"], p=[0.7, 0.1, 0.1, 0.1])
    if kind == "mixed":
        return [text if rng.random() < 0.5 else place for text, place in zip(texts, positions, strict=True)]
    return {"texts": texts, "positions": positions, "far": [100 + place for place in positions]}[str(kind)]


def make_table(rng, extreme=True, most_rows=40):
    """Columns by name, and a target that varies."""
    n = int(rng.integers(4, most_rows + 1))
    if rng.random() < 0.05:
        n *= 2  # enough rows for categories of many levels, which are ignored where nearly every row has its own
    kinds = PLAIN + (magnitude,) * (rng.random() < 0.3) + (EXTREME * 3 if extreme and rng.random() < 0.1 else ())
    columns, n_columns = {}, int(rng.integers(1, 7))
    for name in make_names(rng, n_columns):
        columns[name] = make_column(rng, n, list(columns.values()), kinds)
    target = make_target(rng, n, columns)
    if len(set(target)) < 2:
        target = [place % 2 for place in range(n)]
    return columns, target
