"""What Explore adds to the program."""

from pathlib import Path

from dmlviz_app.feature import Feature, Page

FEATURE = Feature(
    name="explore",
    page=Page(address="explore", title="Explore", script=Path(__file__).with_name("page.py")),
)
