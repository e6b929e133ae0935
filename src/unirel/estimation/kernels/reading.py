"""Coding the levels of columns that have few of them."""

from unirel.estimation.kernels._jit import Integers, kernel

# What a key stands for: a whole number, one without a sign, or a float by its bits.
SIGNED, UNSIGNED, FLOAT = 0, 1, 2
LOWEST, HIGHEST = -(2**63), 2**63 - 1  # as the bits of a float the lowest is -0.0
_NAN, _INFINITY = 0x7FF8 << 48, 0x7FF0 << 48
# 2**64 divided by the golden ratio: multiplying by it spreads keys that differ in any bits over the highest bits.
_SPREAD = 0x9E3779B97F4A7C15 - 2**64

MOST_SLOTS = 2**10


@kernel
def code_levels(
    keys: Integers, starts: Integers, form: int, room: Integers, codes: Integers, levels: Integers, found: Integers
) -> None:
    """Code the levels of columns, each a stretch of `keys`, unless they have too many values.

    The codes follow the order of the levels; a missing value (NaN) is the last. `levels` has two places more for each
    column than it may have values; they are filled with keys that compare as the values do, as they come. `found` has
    a row for each column: how many levels are known before any key is looked at (1 if there is a 0 that is not among
    the keys), in the end how many values there are, or -1 for too many, and how many keys are missing. The codes of a
    column with too many values mean nothing. `room` is for the table, `MOST_SLOTS` wide, made in Python: arrays that
    a kernel makes take long to compile.
    """
    limit = levels.shape[1] - 2
    # A hash table of at least four slots for each level, so that few keys meet in a slot.
    n_bits = 8 if limit < 64 else 10
    shift, mask = 64 - n_bits, (1 << n_bits) - 1
    slots, slot_codes, ranks = room[0], room[1], room[2]
    for column in range(found.shape[0]):
        n_levels, missing = found[column, 0], -1
        for slot in range(mask + 1):
            slot_codes[slot] = -1
        slots[0], slot_codes[0] = 0, n_levels - 1
        # The hot loop: as a rule one multiplication, and one look that finds the key.
        for place in range(starts[column], starts[column + 1]):
            key = keys[place]
            slot = ((key * _SPREAD) >> shift) & mask
            while slots[slot] != key and slot_codes[slot] >= 0:
                slot = (slot + 1) & mask
            code = slot_codes[slot]
            if code < 0:  # Rare: a key that was not seen before.
                level = key
                if form == UNSIGNED:
                    level ^= LOWEST
                elif form == FLOAT and key & HIGHEST > _INFINITY:
                    level = _NAN
                elif form == FLOAT and key < 0:
                    level = 0 if key == LOWEST else key ^ HIGHEST
                code = 0
                while code < n_levels and levels[column, code] != level:
                    code += 1
                is_missing = form == FLOAT and level == _NAN
                if code == n_levels:
                    if is_missing:
                        missing = code
                    elif n_levels - (missing >= 0) == limit:
                        n_levels = -1
                        break
                    levels[column, code] = level
                    n_levels += 1
                if not is_missing or key == level:  # The other forms of NaN are many: they could fill the table.
                    slots[slot], slot_codes[slot] = key, code
            codes[place] = code
        found[column, 0] = n_levels - (missing >= 0)
        # Codes so far follow the order of appearance; few levels are ranked by comparing all with all.
        for code in range(n_levels):
            ranks[code] = 0
            for other in range(n_levels):
                ranks[code] += levels[column, other] < levels[column, code]
        if n_levels >= 0:
            for place in range(starts[column], starts[column + 1]):
                found[column, 1] += codes[place] == missing
                codes[place] = ranks[codes[place]]
