"""What this feature adds to dmlviz: the module that the entry point `dmlviz.features` names."""

from pathlib import Path

from dmlviz_app.feature import FEATURES, Feature, Page

from dmlviz.parts import Command, Kind, lazy

FEATURES.add(
    Feature(
        name="class_sizes",
        page=Page(address="class-sizes", title="Class sizes", script=Path(__file__).with_name("page.py")),
        routes=lazy("class_sizes.routes:routes"),
        kinds={"class_sizes": Kind("class_sizes.work:write_sizes", "answer")},
        commands=[Command("class-sizes", "Count the test images of each class of a run.", "class_sizes.command")],
    )
)
