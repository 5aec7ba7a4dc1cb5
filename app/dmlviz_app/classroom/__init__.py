"""A class: its board, its students' pages, what they hand in; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature, Page
from dmlviz_app.people.policy import Action, Role

OPEN_CLASS = Action("open a class", Role.MEMBER, with_others=True)

FEATURE = Feature(
    name="classroom",
    page=Page(
        address="class",
        title="Class",
        script=Path(__file__).with_name("page.py"),
        shared_only=True,
        bar=lazy("dmlviz_app.classroom.forms:classroom_bar"),
    ),
    routes=lazy("dmlviz_app.classroom.routes:routes"),
    actions=[OPEN_CLASS],
    components=["classroom/classroomBar.tsx", "classroom/classroomBoard.tsx"],
)
