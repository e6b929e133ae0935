"""Where a table comes from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Where a table comes from and what happened to it before the library saw it.

    Attributes
    ----------
    source : str
        Name of a file or dataset.
    target : str
        Name of the target.
    dropped : tuple of str
        Columns left out on request.
    ignored : tuple of (name, reason)
        Columns left out by the reader.
    n_without_target : int
        Rows left out because they have no target.
    notes : tuple of str
        What else the reader should know.
    reading : tuple of str
        Lines of Python that give ``X`` and ``y``.
    """

    source: str = "data"
    target: str = "y"
    dropped: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    n_without_target: int = 0
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
