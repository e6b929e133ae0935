"""Edges between bins of minimum description length."""

import math

import numpy as np

from unirel.data.jit import Floats, Integers, inner, kernel_after
from unirel.estimation.kernels.counts import n_log_n, n_log_n_of

# Descriptions that differ by less than this share of the weight are equal but for rounding.
_ROUNDING = 1e-12


@inner
def _describe(counts: Floats, without: Floats, known: Floats) -> tuple[float, float, int]:
    """Weight of the classes that are left without others, weight times their entropy, and how many there are."""
    weight, total, n_classes = 0.0, 0.0, 0
    for place in range(counts.shape[0]):
        count = counts[place] - without[place]
        if count > _ROUNDING * counts[place]:
            weight += count
            total += n_log_n(count, known)
            n_classes += 1
    return weight, n_log_n(weight, known) - total, n_classes


def _describe_all(counts: Floats, without: Floats, known: Floats) -> tuple[Floats, Floats, Integers]:
    left = np.where(counts - without > _ROUNDING * counts, counts - without, 0.0)
    weight, total = np.cumsum(left, axis=1)[:, -1], np.cumsum(n_log_n_of(left, known), axis=1)[:, -1]
    return weight, n_log_n_of(weight, known) - total, np.count_nonzero(left, axis=1)


def _cut_in_numpy(
    ordered: Floats, labels: Integers, weights: Floats, start: int, stop: int, classes: Floats, known: Floats
) -> int:
    values, labels, weights = ordered[start:stop], labels[start:stop, None], weights[start:stop, None]
    by_class = np.cumsum(np.where(labels == np.arange(classes.shape[1]), weights, 0.0), axis=0)
    classes[2] = by_class[-1] if stop > start else 0.0
    (weight,), (content,), (n_present,) = _describe_all(classes[2:], 0.0 * classes[2:], known)
    ends = np.flatnonzero(values[:-1] != values[1:])
    weight_left, content_left, n_left = _describe_all(by_class[ends], 0.0 * by_class[ends], known)
    weight_right, content_right, n_right = _describe_all(classes[2:], by_class[ends], known)
    best, least = -1, np.inf
    for place, both in enumerate((content_left + content_right).tolist()):
        if both < least - _ROUNDING * weight:
            best, least = place, both
    price = 0.0
    if best >= 0:
        left, right = n_left[best] * content_left[best], n_right[best] * content_right[best]
        price = left / weight_left[best] + right / weight_right[best] - n_present * content / weight
    classes[0, :3] = content - least, price, weight
    return int(start + ends[best] + 1) if best >= 0 else 0


@kernel_after(_cut_in_numpy)
def _find_cut(
    ordered: Floats, labels: Integers, weights: Floats, start: int, stop: int, classes: Floats, known: Floats
) -> int:
    """Before which place to cut a stretch so that the entropy of classes within the parts is least; 0 if nowhere."""
    # Of equal cuts the lowest is taken. `classes` has three rows of 0, a place for each class; the first gets, in three
    # places, what the cut gains, what the entropies add to its price, and the weight of the stretch.
    none, left, whole = classes[0], classes[1], classes[2]
    for place in range(start, stop):
        whole[labels[place]] += weights[place]
    weight, content, n_present = _describe(whole, none, known)
    # One pass from the left: the classes on the right are all without those on the left.
    cut, least, price = 0, np.inf, 0.0
    for place in range(start, stop - 1):
        left[labels[place]] += weights[place]
        if ordered[place] == ordered[place + 1]:
            continue
        weight_left, content_left, n_left = _describe(left, none, known)
        weight_right, content_right, n_right = _describe(whole, left, known)
        if content_left + content_right < least - _ROUNDING * weight:
            cut, least = place + 1, content_left + content_right
            entropies = n_left * content_left / weight_left + n_right * content_right / weight_right
            price = entropies - n_present * content / weight
    none[0], none[1], none[2] = content - least, price, weight
    return cut


def _pays(gain: float, price: float, weight: float, n_present: int) -> bool:
    """Whether a cut gains more than the price of saying where it is and which classes are on each side."""
    # The rule of Fayyad and Irani (1993).
    # log(3**n - 2), which must not overflow
    price += math.log(max(weight - 1, 1.0)) + n_present * math.log(3.0) + math.log1p(-2 * 3.0**-n_present)
    return gain > price + _ROUNDING * weight


def description_edges(
    ordered: Floats, sizes: Integers, labels: Integers, weights: Floats, n_classes: int, known: Floats, edges: Floats
) -> Integers:
    """Bins of minimum description length, as many as there is room for; returns how many edges each row has."""
    # Only the search for one cut is compiled: there are few, and lists and sorting take seconds to compile.
    n_edges = np.zeros(len(ordered), np.int64)
    for place, values in enumerate(ordered):
        # Stretches that may be cut again, the lowest on top.
        stretches: list[tuple[int, int]] = [(0, int(sizes[place]))]
        cuts: list[int] = []
        while stretches and len(cuts) < edges.shape[1]:
            start, stop = stretches.pop()
            classes = np.zeros((3, max(3, n_classes)))
            cut = _find_cut(values, labels[place], weights[place], start, stop, classes, known)
            gain, price, weight = classes[0, :3].tolist()
            if cut and _pays(gain, price, weight, int(np.count_nonzero(classes[2]))):
                cuts.append(cut)
                stretches += [(cut, stop), (start, cut)]
        n_edges[place] = len(cuts)
        edges[place, : len(cuts)] = values[sorted(cuts)]
    return n_edges
