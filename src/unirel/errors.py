"""What unirel warns with, and texts that are safe to show."""


class UnirelWarning(UserWarning):
    """A result is less than what was asked for, and the message says what to do about it."""


def printable(text: str) -> str:
    """A text without characters that steer a terminal or turn the direction of reading."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def shorten(name: str, longest: int) -> str:
    """A name that fits: its beginning and its end, which often tells it from others."""
    if len(name) <= longest:
        return name
    end = longest // 3
    return f"{name[: longest - end - 1]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"
