"""A tree of a random forest, draw for draw and digit for digit as scikit-learn grows it.

A column is known by the places of its values among the distinct ones of the column, so that values are sorted as whole
numbers. A row that is sorted is one whole number: its place above, its class and how often it was drawn below. Counts
of rows are whole numbers too, so that sums of their squares can be carried along a column without rounding, where
scikit-learn sums them anew at every place.
"""

import numpy as np

from unirel.estimation.kernels._jit import Floats, Integers, inner, kernel

# scikit-learn takes values for equal that differ by no more, in single precision (but not 1.6 and 1.7, by mistake),
_STEP = np.float32(1e-7)
# and an impurity for none that is no more.
_EPSILON = 2.0**-52
# Bits for how often a row was drawn, and for that and its class.
_DRAWN = 16
_BELOW = 32
# Fewer rows are sorted without buckets.
_FEW = 16
# Rounding changes the score of a cut by less than this share of the rows.
_ROUNDING = 1e-12


@kernel
def add_tree(
    places: Integers,
    levels: Floats,
    columns: Integers,
    labels: Integers,
    drawn: Integers,
    seed: int,
    n_tried: int,
    inputs: Floats,
    totals: Floats,
) -> None:
    """Grow a tree, and add the shares of the classes in the leaf of each row of `inputs` to `totals`.

    Parameters
    ----------
    places : ndarray of int, shape (n_columns, n_rows)
        Place of each value among the levels of its column.
    levels : ndarray of float32, shape (n_columns, n_rows)
        The distinct values of each column, ascending; what follows them does not matter.
    columns : ndarray of int
        Columns that the tree may split by.
    labels, drawn : ndarray of int
        Class of each row, and how often it was drawn for this tree, both below 2**16.
    seed : int
        Where random numbers begin.
    n_tried : int
        Columns to try at a node.
    inputs : ndarray of float32, shape (n_inputs, n_columns)
        Rows to predict.
    totals : ndarray of shape (n_inputs, n_classes)
        What is added to.
    """
    n_classes = totals.shape[1]
    rows, owns = np.empty(len(drawn), np.int64), np.empty(len(drawn), np.int64)  # owns: class and draws of a row
    n_rows, n_drawn = 0, 0
    for row in range(len(drawn)):
        if drawn[row] > 0:
            rows[n_rows], owns[n_rows] = row, (labels[row] << _DRAWN) | drawn[row]
            n_rows += 1
            n_drawn += int(drawn[row])
    reciprocals = np.empty(n_drawn + 1)
    for number in range(1, n_drawn + 1):
        reciprocals[number] = 1.0 / number
    keys, spare, starts = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(n_rows + 2, np.int64)
    counts, left = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    urn, constants = np.arange(len(columns)), np.empty(len(columns), np.int64)
    work = (keys, spare, starts, left, reciprocals)
    state = seed

    # Of each node: the positions of its rows, how many columns are known to be constant there, the column and the
    # threshold by which it is split (no column in a leaf), and the left child, which the right one follows.
    most = 2 * n_rows
    first, last, n_constant = np.zeros(most, np.int64), np.empty(most, np.int64), np.zeros(most, np.int64)
    column_of, threshold_of, child_of = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    last[0] = n_rows
    n_nodes = 1
    waiting = np.zeros(n_rows + 1, np.int64)
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        column_of[node] = -1
        start, end = first[node], last[node]
        weight, squares = _count(owns[start:end], counts)
        impurity = _impurity(squares, weight)
        if impurity <= _EPSILON:
            continue
        here = (rows[start:end], owns[start:end], counts, weight, squares)
        n_known = n_constant[node]
        best, lower, upper, n_found, state = _search(places, levels, columns, here, n_tried, urn, n_known, state, work)
        # A sibling finds those that are known in the same order in front of the urn, children the new ones behind them.
        for position in range(n_known):
            urn[position] = constants[position]
        for position in range(n_known, n_known + n_found):
            constants[position] = urn[position]
        if best < 0:
            continue
        middle = _part(rows[start:end], owns[start:end], places[best], lower, keys, spare) + start
        if not _gains(counts, left, owns[start:middle], weight, impurity, n_drawn):
            continue
        column_of[node], child_of[node] = best, n_nodes
        threshold_of[node] = levels[best, lower] / 2.0 + levels[best, upper] / 2.0
        first[n_nodes], last[n_nodes] = start, middle
        first[n_nodes + 1], last[n_nodes + 1] = middle, end
        n_constant[n_nodes] = n_constant[n_nodes + 1] = n_known + n_found
        # The left child is the next.
        waiting[n_waiting], waiting[n_waiting + 1] = n_nodes + 1, n_nodes
        n_waiting += 2
        n_nodes += 2

    shares = np.empty((n_nodes, n_classes))
    for node in range(n_nodes):
        if column_of[node] < 0:
            weight, _ = _count(owns[first[node] : last[node]], counts)
            for number in range(n_classes):
                shares[node, number] = counts[number] / weight
    _ask(column_of, threshold_of, child_of, shares, inputs, totals)


@inner
def _ask(
    column_of: Integers, threshold_of: Floats, child_of: Integers, shares: Floats, inputs: Floats, totals: Floats
) -> None:
    """Send rows down to their leaves, and add the shares there to `totals`."""
    for row in range(len(inputs)):
        node = 0
        while column_of[node] >= 0:
            node = child_of[node] + (inputs[row, column_of[node]] > threshold_of[node])
        for number in range(shares.shape[1]):
            totals[row, number] += shares[node, number]


@inner
def _search(
    places: Integers,
    levels: Floats,
    columns: Integers,
    here: tuple[Integers, Integers, Integers, int, int],
    n_tried: int,
    urn: Integers,
    n_known: int,
    state: int,
    work: tuple[Integers, Integers, Integers, Integers, Floats],
) -> tuple[int, int, int, int, int]:
    """The column that splits a node best, or -1, the places it is cut between, newly found constant columns, the state.

    Columns are drawn from an urn without being put back. In front of it are those that are known to be constant in a
    parent, behind them those found to be so now. They count as tried, but one that is not constant must be found too.
    """
    rows, owns, counts, weight, squares = here
    keys, spare, starts, left, reciprocals = work
    n_known_drawn, n_found, n_visited, n_left = 0, 0, 0, len(columns)
    score, rough, best, lower, upper = -np.inf, -np.inf, -1, 0, 0
    while n_left > n_known + n_found and (n_visited < n_tried or n_visited <= n_found + n_known_drawn):
        n_visited += 1
        state = _next(state)
        choice = n_known_drawn + (state & (2**31 - 1)) % (n_left - n_found - n_known_drawn)
        if choice < n_known:
            urn[choice], urn[n_known_drawn] = urn[n_known_drawn], urn[choice]
            n_known_drawn += 1
            continue
        choice += n_found
        column = columns[urn[choice]]
        lowest, highest = _fill(keys, places[column], rows, owns)
        if levels[column, highest] <= levels[column, lowest] + _STEP:
            urn[choice], urn[n_known + n_found] = urn[n_known + n_found], urn[choice]
            n_found += 1
            continue
        n_left -= 1
        urn[choice], urn[n_left] = urn[n_left], urn[choice]
        ordered = _sort(keys[: len(rows)], spare, starts, lowest, highest)
        cut = _best_cut(ordered, levels[column], counts, left, weight, squares, reciprocals, score, rough)
        if cut[0] > score:
            best = column
            score, rough, lower, upper = cut
    return best, lower, upper, n_found, state


@inner
def _next(state: int) -> int:
    """The next random number of 32 bits, by three shifts."""
    state = 1 if state == 0 else state
    state ^= (state << 13) & (2**32 - 1)
    state ^= state >> 17
    return state ^ ((state << 5) & (2**32 - 1))


@inner
def _class_of(key: int) -> int:
    return (key >> _DRAWN) & (2 ** (_BELOW - _DRAWN) - 1)


@inner
def _draws_of(key: int) -> int:
    return key & (2**_DRAWN - 1)


@inner
def _count(owns: Integers, counts: Integers) -> tuple[int, int]:
    """Draws of each class into `counts`, their sum, and the sum of their squares."""
    for number in range(len(counts)):
        counts[number] = 0
    for own in owns:
        counts[_class_of(own)] += _draws_of(own)
    weight, squares = 0, 0
    for count in counts:
        weight += count
        squares += count * count
    return weight, squares


@inner
def _impurity(squares: int, weight: int) -> float:
    """Gini's."""
    return 1.0 - squares / (weight * weight)


@inner
def _fill(keys: Integers, places: Integers, rows: Integers, owns: Integers) -> tuple[int, int]:
    """Keys of some rows by a column, and the lowest and the highest place."""
    lowest = highest = int(places[rows[0]])
    for position in range(len(rows)):
        place = int(places[rows[position]])
        lowest, highest = min(lowest, place), max(highest, place)
        keys[position] = (place << _BELOW) | owns[position]
    return lowest, highest


@inner
def _sort(keys: Integers, spare: Integers, starts: Integers, lowest: int, highest: int) -> Integers:
    """Keys by their places: dealt out to no more buckets than there are keys, then put right one by one.

    Different places are at least one apart, so that a bucket cannot hold many of them.
    """
    if len(keys) >= _FEW:
        shift = 0
        while (highest - lowest) >> shift >= len(keys):
            shift += 1
        n_buckets = ((highest - lowest) >> shift) + 1
        least, shift = lowest << _BELOW, shift + _BELOW
        for bucket in range(n_buckets + 1):
            starts[bucket] = 0
        for key in keys:
            starts[((key - least) >> shift) + 1] += 1
        for bucket in range(1, n_buckets):
            starts[bucket] += starts[bucket - 1]
        for key in keys:
            bucket = (key - least) >> shift
            spare[starts[bucket]] = key
            starts[bucket] += 1
        keys = spare[: len(keys)]
        if shift == _BELOW:
            return keys
    for position in range(1, len(keys)):
        key, hole = keys[position], position
        equal = key | (2**_BELOW - 1)
        while hole > 0 and keys[hole - 1] > equal:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key
    return keys


@inner
def _best_cut(
    keys: Integers,
    levels: Floats,
    counts: Integers,
    left: Integers,
    weight: int,
    squares: int,
    reciprocals: Floats,
    score: float,
    rough: float,
) -> tuple[float, float, int, int]:
    """Score of the best cut between sorted keys, `score` if none is better, and the places that it lies between.

    A score takes two divisions. Without them it is known but for rounding, and no cut that is below `rough` by that
    knowledge can be better.
    """
    lower, upper = 0, 0
    for number in range(len(left)):
        left[number] = 0
    left_weight, left_squares, right_squares = 0, 0, squares
    place = keys[0] >> _BELOW
    for position in range(len(keys) - 1):
        own, draws = _class_of(keys[position]), _draws_of(keys[position])
        before = left[own]
        left[own] = before + draws
        left_weight += draws
        left_squares += draws * (2 * before + draws)
        right_squares -= draws * (2 * (counts[own] - before) - draws)
        following = keys[position + 1] >> _BELOW
        if following == place:
            continue
        previous, place = place, following
        right_weight = weight - left_weight
        value = left_squares * reciprocals[left_weight] + right_squares * reciprocals[right_weight]
        if value < rough or levels[following] <= levels[previous] + _STEP:
            continue
        exact = -right_weight * _impurity(right_squares, right_weight)
        exact -= left_weight * _impurity(left_squares, left_weight)
        if exact > score:
            score, rough, lower, upper = exact, value - _ROUNDING * weight, previous, following
    return score, rough, lower, upper


@inner
def _part(rows: Integers, owns: Integers, places: Integers, lower: int, keys: Integers, spare: Integers) -> int:
    """Rows up to a place before the others, in place; how many there are."""
    n_left, n_right = 0, 0
    for position in range(len(rows)):
        row, own = rows[position], owns[position]
        if places[row] <= lower:
            rows[n_left], owns[n_left] = row, own
            n_left += 1
        else:
            keys[n_right], spare[n_right] = row, own
            n_right += 1
    for position in range(n_right):
        rows[n_left + position], owns[n_left + position] = keys[position], spare[position]
    return n_left


@inner
def _gains(counts: Integers, left: Integers, owns: Integers, weight: int, impurity: float, n_drawn: int) -> bool:
    """Whether a split does not lose, as scikit-learn reckons it, given the rows on the left."""
    left_weight, left_squares = _count(owns, left)
    right_weight, right_squares = weight - left_weight, 0
    for number in range(len(counts)):
        right_squares += (counts[number] - left[number]) ** 2
    gain = impurity - right_weight / weight * _impurity(right_squares, right_weight)
    gain -= left_weight / weight * _impurity(left_squares, left_weight)
    return weight / n_drawn * gain + _EPSILON >= 0
