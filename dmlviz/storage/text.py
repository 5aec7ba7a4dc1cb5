"""Make text that another person wrote fit for one line of a page or a terminal."""

import re
import unicodedata

_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str, max_length: int = 80) -> str:
    r"""Put a user's text on one line of at most `max_length` characters, without control and text-direction characters.

    Examples:
        >>> one_line("two\nlines,\x1b[31m no color")
        'two lines, [31m no color'
    """
    return " ".join(_CONTROL_CHARACTERS.sub(" ", text).split())[:max_length].strip()


def plain_name(text: str) -> str:
    r"""Return a name of any script on one line, without characters that are not seen or that turn the text around.

    Joiners stay, which some scripts and emoji need; bytes that are no text become question marks.

    Examples:
        >>> plain_name("two\nlines\x1b")
        'two lines'
    """
    return "".join(map(_plain, text.replace("\r\n", "\n"))).strip()


def _plain(letter: str) -> str:
    kind = unicodedata.category(letter)
    if letter.isspace():
        return " "
    if kind == "Cs":
        return "\ufffd"
    return letter if kind not in ("Cc", "Cf") or letter in "\u200c\u200d" or letter >= "\U000e0020" else ""


_PLAIN = {
    "Value error, ": "",
    ", unable to parse string as an integer": "",
    ", unable to parse string as a number": "",
    ", got a number with a fractional part": "",
    "Input should": "must",
    "String should match pattern '^[0-9a-f]{16}$'": "must be 16 hexadecimal digits",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "a text",
    "a valid boolean": "true or false",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "more than",
}


def plain_rule(message: str) -> str:
    """Return a complaint of pydantic in plain words, to stand behind the name of a field and a colon.

    Examples:
        >>> plain_rule("Input should be greater than or equal to 1"), plain_rule("Field required")
        ('must be at least 1', 'field required')
    """
    for words, plain in _PLAIN.items():
        message = message.replace(words, plain)
    rule = one_line(message, 160)
    return rule[:1].lower() + rule[1:]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural has an s if it is not given.

    Examples:
        >>> counted(1, "step"), counted(2000, "step")
        ('1 step', '2,000 steps')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
