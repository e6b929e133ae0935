"""What unirel warns with."""


class UnirelWarning(UserWarning):
    """A result is less than what was asked for, and the message says what to do about it."""
