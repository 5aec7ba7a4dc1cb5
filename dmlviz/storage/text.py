"""Make text that another person wrote fit for one line of a page or a terminal."""

import re

_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str, max_length: int = 80) -> str:
    r"""Put a user's text on one line of at most `max_length` characters, without control and text-direction characters.

    Example:
        >>> one_line("two\nlines,\x1b[31m no color")
        'two lines, [31m no color'
    """
    return " ".join(_CONTROL_CHARACTERS.sub(" ", text).split())[:max_length].strip()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "step"), counted(2000, "step")
        ('1 step', '2,000 steps')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
