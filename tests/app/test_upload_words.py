"""What the upload dialog says of files names no option of a command."""

import ast
import re
from pathlib import Path

import pytest
from dmlviz_app.explore.upload_dialog import without_flags

from dmlviz import data

OF_THE_SERVER = {"download.py", "corrections.py"}  # of the data folder, not of a person's files


def messages():
    for path in sorted(Path(data.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
            is_text = isinstance(node, ast.JoinedStr) or (
                isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
            is_piece = text.startswith(" is a class")  # of a message that is here as a whole, too
            if is_text and re.search("--[a-z]", text) and not is_piece and path.name not in OF_THE_SERVER:
                yield pytest.param(text, id=f"{path.name}:{node.lineno}")


@pytest.mark.parametrize("text", [*messages()])
def test_a_message_about_files_names_no_option_on_a_page(text):
    assert not re.search("--[a-z]", without_flags(text)), text
