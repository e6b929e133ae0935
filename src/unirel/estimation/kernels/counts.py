"""Contingency tables of coded columns, and the sums of n log n that entropies are made of.

Tables of many candidates stand one after the other in one array. That of a candidate has the cells ``level * n_rest +
rest``, where ``rest = fixed * n_other + other`` is the joint code of what all candidates are counted against.
"""

import math

import numpy as np

from unirel.data.jit import Floats, Integers, inner, kernel, kernel_after

# What levels tell by chance in each of some groups, as `kernels/chance.py` makes it: entries, where those of a
# group begin, how many of them are of whole numbers from 0 on, and how many there are behind these for each unit of the
# root of the number of rows.
Lookup = tuple[Floats, Integers, Integers, Floats]
# Where nothing is to be taken off.
NO_CHANCE: Lookup = (np.empty(0), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1))


def known_n_log_n(size: int) -> Floats:
    """N log n of the whole numbers below `size`, to be looked up."""
    numbers = np.arange(size)
    return np.asarray(numbers * np.log(np.maximum(numbers, 1)))


def _count_in_numpy(
    codes: Integers, places: Integers, rest: Integers, n_rest: int, weights: Floats | None, starts: Integers,
    tables: Integers,
) -> None:  # fmt: skip
    cells = starts[:, None] + codes[places].astype(np.int64) * n_rest + rest
    every = None if weights is None else np.broadcast_to(weights, cells.shape).ravel()
    tables += np.bincount(cells.ravel(), every, len(tables)).astype(tables.dtype)


@kernel_after(_count_in_numpy)
def count_tables(
    codes: Integers, places: Integers, rest: Integers, n_rest: int, weights: Floats | None, starts: Integers,
    tables: Integers,
) -> None:  # fmt: skip
    """Fill the tables of the candidates ``codes[places]``, which begin at `starts` and are 0.

    Weights of rows come with tables of floats; without, which is decided when it is compiled, each row counts 1.

    Four candidates at a time. Neighbouring rows often hit the same cell, and one addition must be stored before the
    next can begin: with four tables in turn the processor has others to do meanwhile. Measured in ns per row and
    candidate for 2 to 16 levels: 0.45 to 0.5, against 0.75 to 1.1 for one candidate with four partial tables and 0.75
    to 0.9 for eight at a time. Unsigned positions matter: others may count from the end, and looking whether they do
    doubles the time.
    """
    n_cells, one = np.uint64(n_rest), tables.dtype.type(1)
    # What is left of a block of four is counted one by one.
    whole = places.shape[0] - places.shape[0] % 4
    for place in range(0, whole, 4):
        codes_0, codes_1 = codes[places[place]], codes[places[place + 1]]
        codes_2, codes_3 = codes[places[place + 2]], codes[places[place + 3]]
        start_0, start_1 = np.uint64(starts[place]), np.uint64(starts[place + 1])
        start_2, start_3 = np.uint64(starts[place + 2]), np.uint64(starts[place + 3])
        for row in range(rest.shape[0]):
            if weights is not None:
                one = weights[row]
            cell = np.uint64(rest[row])
            tables[start_0 + np.uint64(codes_0[row]) * n_cells + cell] += one
            tables[start_1 + np.uint64(codes_1[row]) * n_cells + cell] += one
            tables[start_2 + np.uint64(codes_2[row]) * n_cells + cell] += one
            tables[start_3 + np.uint64(codes_3[row]) * n_cells + cell] += one
    for place in range(whole, places.shape[0]):
        column, start = codes[places[place]], np.uint64(starts[place])
        for row in range(rest.shape[0]):
            if weights is not None:
                one = weights[row]
            tables[start + np.uint64(column[row]) * n_cells + np.uint64(rest[row])] += one


@kernel
def count_sparse_tables(
    entries: tuple[Integers, Integers, Integers, Integers], places: Integers, rest: Integers, n_rest: int,
    weights: Floats, starts: Integers, tables: Floats,
) -> None:  # fmt: skip
    """Fill the tables of the columns at `places`, which begin at `starts` and are 0."""
    # `entries` are where the entries of each column begin, their rows, their codes, and the code of all other rows of
    # each column. Weights are of the type of the tables, ones for a plain count.
    first_entries, rows, codes, zero_codes = entries
    # Everything in each cell of the rest: its weight, and how many rows. What a column's entries leave is its zeros.
    weight_in, rows_in = np.zeros(n_rest, tables.dtype), np.zeros(n_rest, np.int64)
    for row in range(rest.shape[0]):
        weight_in[rest[row]] += weights[row]
        rows_in[rest[row]] += 1
    weight_left, rows_left = np.empty(n_rest, tables.dtype), np.empty(n_rest, np.int64)
    for place in range(places.shape[0]):
        column, start = places[place], starts[place]
        for level in range(n_rest):
            weight_left[level], rows_left[level] = weight_in[level], rows_in[level]
        for entry in range(first_entries[column], first_entries[column + 1]):
            row = rows[entry]
            cell = np.int64(rest[row])
            tables[start + np.int64(codes[entry]) * n_rest + cell] += weights[row]
            weight_left[cell] -= weights[row]
            rows_left[cell] -= 1
        zeros = start + np.int64(zero_codes[column]) * n_rest
        for level in range(n_rest):
            if rows_left[level] > 0:  # Otherwise rounding could leave a tiny weight of no row.
                tables[zeros + level] += weight_left[level]


@inner
def n_log_n(number: float, known: Floats, is_known: bool | None = None) -> float:
    """N log n, 0 for 0: looked up where it is known, so that a whole weight and a count give the same bits."""
    if is_known is not None:  # decided when it is compiled
        return known[np.uint64(number)]
    whole = np.int64(number)
    # A logarithm costs ten times as much as looking one up.
    if whole == number and whole < known.shape[0]:
        return known[np.uint64(whole)]
    return number * np.log(number)


@inner
def by_chance(number: float, entries: Floats, begin: int, end: int, n_near: int, per_root: float) -> float:
    """What a level of some rows tells by chance, from the entries of a group."""
    # A group comes as numbers: with a tuple of arrays to be taken apart, a call costs more than all that it does.
    whole = np.int64(number)
    if whole == number and whole < n_near:
        return entries[begin + whole]
    # A large level, or a weight with a fraction: on the line between two entries.
    place, last = float(number), float(n_near - 1)
    if place > last:
        place = last + float(np.sqrt(place) - np.sqrt(last)) * per_root
    below, last_below = np.int64(place), np.int64(end - begin - 2)
    below = below if below < last_below else last_below
    return entries[begin + below] + (place - below) * (entries[begin + below + 1] - entries[begin + below])


def n_log_n_of(numbers: Floats, known: Floats) -> Floats:
    """The same of an array, to the last bit."""
    whole = numbers.astype(np.int64)
    is_known = (whole == numbers) & (whole < len(known))
    found = known[np.where(is_known, whole, 0)]
    if not is_known.all():
        found[~is_known] = [number * math.log(number) for number in numbers[~is_known].tolist()]
    return found


def _by_chance_of(numbers: Floats, groups: Integers, chance: Lookup) -> Floats:
    """The same of an array, each number in its group."""
    entries, begins, n_near, per_root = chance
    begin, near, last = begins[groups], n_near[groups], n_near[groups] - 1.0
    is_far = numbers > last
    far = last + (np.sqrt(numbers) - np.sqrt(last)) * per_root[groups]
    place = np.where(is_far, far, numbers)
    below = np.minimum(place.astype(np.int64), np.maximum(begins[groups + 1] - begin - 2, 0))
    is_near = (numbers.astype(np.int64) == numbers) & (numbers < near)
    at, behind = entries[begin + below], entries[np.minimum(begin + below + 1, len(entries) - 1)]
    exact = entries[begin + np.where(is_near, numbers, 0).astype(np.int64)]
    return np.asarray(np.where(is_near, exact, at + (place - below) * (behind - at)))


def _sum_in_numpy(
    tables: Integers, starts: Integers, n_levels: Integers, n_fixed: int, with_other: Integers, known: Floats,
    chance: Lookup, sums: Floats, _: bool | None,
) -> None:  # fmt: skip
    # Added up one after the other, as in the kernel, which numpy does for cumulative sums and for `bincount` only.
    n_tables, n_other = len(starts), len(with_other)
    owners = np.repeat(np.arange(n_tables), n_levels)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(n_levels) - n_levels, n_levels)
    first_cells = starts[owners] + places * (n_fixed * n_other)
    cells = tables[first_cells[:, None] + np.arange(n_fixed * n_other)].reshape(-1, n_fixed, n_other)
    fixed = np.cumsum(cells, axis=2)[:, :, -1]
    other, levels = np.cumsum(cells, axis=1)[:, -1], np.cumsum(fixed, axis=1)[:, -1]

    def add_up(values: Floats) -> Floats:
        return np.bincount(np.repeat(owners, values.size // max(1, len(owners))), values.ravel(), n_tables)

    for column, margin in enumerate((levels, fixed, other, cells)):
        sums[:, column] = add_up(n_log_n_of(margin, known))
    sums[:, 4:7] = 0.0
    last = len(chance[2]) - 1
    if len(chance[0]):
        sums[:, 4] = add_up(_by_chance_of(levels, np.zeros(len(levels), np.int64), chance))
        sums[:, 5] = add_up(_by_chance_of(fixed, np.broadcast_to(1 + np.arange(n_fixed), fixed.shape), chance))
        if chance[2][last] > 1:
            sums[:, 6] = add_up(_by_chance_of(levels, np.full(len(levels), last), chance))


@kernel_after(_sum_in_numpy)
def sum_tables(
    tables: Integers, starts: Integers, n_levels: Integers, n_fixed: int, with_other: Integers, known: Floats,
    chance: Lookup, sums: Floats, is_known: bool | None,
) -> None:  # fmt: skip
    """Sums of n log n of four margins of every table in one pass.

    The columns of `sums`: the candidate; candidate and fixed; candidate and other; all three. Three further columns are
    what the candidate tells by chance: about the other side, about it within the levels of the fixed side, and about
    the fixed side; `chance` has a group for the first, one for each level, and one for the last.
    `with_other` is room for a count of each level of the other side, made in Python: arrays of a kernel itself take
    long to compile. `is_known` is None, or True where `known` has all counts: without a logarithm in its hot loop the
    kernel takes two thirds of the time.
    """
    n_other = with_other.shape[0]
    entries, begins, n_near, per_root = chance
    takes_off, last = entries.shape[0] > 0, n_near.shape[0] - 1
    is_about_fixed = takes_off and n_near[last] > 1
    # A sum of two small numbers is a wide one: what is called for both kinds would be compiled twice.
    nothing = tables.dtype.type(0) + tables.dtype.type(0)
    # Every margin is added up while the cells are read once, in the order in which they stand.
    for place in range(starts.shape[0]):
        cell = np.uint64(starts[place])
        of_one, of_fixed, of_other, of_all = 0.0, 0.0, 0.0, 0.0
        one_by_chance, both_by_chance, fixed_by_chance = 0.0, 0.0, 0.0
        for _ in range(n_levels[place]):
            level = nothing
            for other in range(n_other):
                with_other[other] = 0
            for fixed in range(n_fixed):
                with_fixed = nothing
                for other in range(n_other):
                    count = nothing + tables[cell]
                    cell += np.uint64(1)
                    of_all += n_log_n(count, known, is_known)
                    with_fixed += count
                    with_other[other] += count
                of_fixed += n_log_n(with_fixed, known, is_known)
                if takes_off:
                    group, whole = np.uint64(1 + fixed), np.int64(with_fixed)
                    # Nearly all cells are small, and a call for each would cost more than the rest.
                    if whole == with_fixed and whole < n_near[group]:
                        both_by_chance += entries[np.uint64(begins[group] + whole)]
                    else:
                        end = begins[np.uint64(2 + fixed)]
                        both_by_chance += by_chance(
                            with_fixed, entries, begins[group], end, n_near[group], per_root[group]
                        )
                level += with_fixed
            for other in range(n_other):
                of_other += n_log_n(nothing + with_other[other], known, is_known)
            of_one += n_log_n(level, known, is_known)
            whole = np.int64(level)
            if takes_off and whole == level and whole < n_near[0]:
                one_by_chance += entries[np.uint64(whole)]
            elif takes_off:
                one_by_chance += by_chance(level, entries, begins[0], begins[1], n_near[0], per_root[0])
            if is_about_fixed and whole == level and whole < n_near[last]:
                fixed_by_chance += entries[np.uint64(begins[last] + whole)]
            elif is_about_fixed:
                fixed_by_chance += by_chance(
                    level, entries, begins[last], begins[last + 1], n_near[last], per_root[last]
                )
        sums[place, 4], sums[place, 5], sums[place, 6] = one_by_chance, both_by_chance, fixed_by_chance
        sums[place, 0], sums[place, 1], sums[place, 2], sums[place, 3] = of_one, of_fixed, of_other, of_all


@kernel
def sum_groups(
    codes: Integers, n_levels: int, groups: tuple[Integers, Integers], other: Integers, n_other: int, weights: Floats,
    known: Floats, chance: Lookup, fixed: Integers,
) -> Floats:  # fmt: skip
    """The same of one candidate where the fixed side has too many levels for a table of all cells, and levels in use.

    `groups` are the rows ordered by their fixed level, and where each level begins and the last one ends. The rows of
    a level are counted into a small table of candidate and other, and only the cells that they hit are read and
    cleared. `fixed` is the fixed level of every row. Behind the seven sums are the levels in use of the four margins.
    """
    order, begins = groups
    entries, firsts, n_near, per_root = chance
    takes_off, last = entries.shape[0] > 0, n_near.shape[0] - 1
    sums = np.zeros(11)
    used = sums[7:]
    table, all_groups = np.zeros(n_levels * n_other), np.zeros(n_levels * n_other)
    in_level, hit_levels, hit_cells = np.zeros(n_levels), np.empty(n_levels, np.int64), np.empty(len(table), np.int64)
    for group in range(begins.shape[0] - 1):
        n_cells, n_hit = 0, 0
        for row in order[begins[group] : begins[group + 1]]:
            level = np.int64(codes[row])
            cell = level * n_other + np.int64(other[row])
            if table[cell] == 0.0:
                hit_cells[n_cells] = cell
                n_cells += 1
            if in_level[level] == 0.0:
                hit_levels[n_hit] = level
                n_hit += 1
            table[cell] += weights[row]
            in_level[level] += weights[row]
        # Only what was hit is read and cleared: a level of the fixed side has few rows.
        for cell in hit_cells[:n_cells]:
            sums[3] += n_log_n(table[cell], known)
            all_groups[cell] += table[cell]
            table[cell] = 0.0
        for level in hit_levels[:n_hit]:
            sums[1] += n_log_n(in_level[level], known)
            if takes_off:
                own = 1 + int(fixed[order[begins[group]]])
                sums[5] += by_chance(in_level[level], entries, firsts[own], firsts[own + 1], n_near[own], per_root[own])
            in_level[level] = 0.0
        used[1] += n_hit
        used[3] += n_cells
    for start in range(0, n_levels * n_other, n_other):
        with_other = all_groups[start : start + n_other]
        total, n_used = 0.0, 0
        for count in with_other:
            total += n_log_n(count, known)
            n_used += count > 0
        sums[2] += total
        used[2] += n_used
        sums[0] += n_log_n(with_other.sum(), known)
        if takes_off:
            for place, own in ((4, 0), (6, last)):
                sums[place] += by_chance(
                    with_other.sum(), entries, firsts[own], firsts[own + 1], n_near[own], per_root[own]
                )
        used[0] += n_used > 0
    return sums
