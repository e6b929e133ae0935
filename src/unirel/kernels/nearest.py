"""The few smallest distances seen so far, in ascending order."""

from unirel.kernels._jit import Floats, kernel


@kernel
def insert(nearest: Floats, distance: float) -> None:
    """Put a distance that is below the largest entry into its place; the largest drops out."""
    place = nearest.shape[0] - 1
    while place > 0 and nearest[place - 1] > distance:
        nearest[place] = nearest[place - 1]
        place -= 1
    nearest[place] = distance
