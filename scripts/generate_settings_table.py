"""The settings of the server as a table in docs/HOSTING.md: `python scripts/generate_settings_table.py`.

With --check it writes nothing, and exits with 1 where the document says something else.
"""

import re
import sys
from pathlib import Path

from dmlviz_app.server.settings import Settings, variable

from dmlviz.cli.options import option_help, option_words

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "HOSTING.md"
BETWEEN = re.compile(r"(?<=settings\.py -->\n).*?(?=<!-- end of settings)", re.DOTALL)


def table() -> str:
    """Return the table: option, environment variable and what it says, one setting a line."""
    lines = ["", "| option | variable | what it says |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        option, metavar = option_words(name, field)
        options = [f"`{' '.join(filter(None, (word, metavar)))}`" for word in option.split("/")]
        lines.append(
            f"| {', '.join(options)} | {f'`{variable(name)}`' if variable(name) else ''} | {option_help(field)} |"
        )
    return "\n".join([*lines, "", ""])


if __name__ == "__main__":
    before = DOCUMENT.read_text(encoding="utf-8")
    after = BETWEEN.sub(lambda _: table(), before)
    if "--check" in sys.argv:
        sys.exit(before != after)
    DOCUMENT.write_text(after, encoding="utf-8")
