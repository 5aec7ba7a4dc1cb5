"""What Compare adds to the program."""

from pathlib import Path

from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="compare",
    page=Page(address="compare", title="Compare", script=Path(__file__).with_name("page.py")),
)
