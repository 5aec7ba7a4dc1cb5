"""Clean: a run's findings in its training data, and the decisions about them; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import CLEAN, lazy
from dmlviz_app.feature import Feature, Page
from dmlviz_app.people.policy import Action, Role

CORRECT = Action("correct the data sets on which all train", Role.TEACHER)

FEATURE = Feature(
    name="clean",
    page=Page(address="clean", title="Clean", script=Path(__file__).with_name("page.py")),
    routes=lazy("dmlviz_app.clean.routes:routes"),
    kinds=CLEAN.kinds,
    commands=CLEAN.commands,
    actions=[CORRECT],
    components=["clean/review_sheet/reviewSheet.tsx"],
)
