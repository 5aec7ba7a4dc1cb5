"""Compare: two runs of one data set side by side; what it adds to the program."""

from pathlib import Path

from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="compare",
    page=Page(address="compare", title="Compare", script=Path(__file__).with_name("page.py")),
)
