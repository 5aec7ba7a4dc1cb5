"""Form controls, components, and the address of a page; what it adds to the program."""

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="widgets",
    routes=lazy("dmlviz_app.widgets.architectures:routes"),
    components=[
        "welcome/help.ts",
        "widgets/glossary/glossary.ts",
        "widgets/card_index/cardIndex.tsx",
        "widgets/architecture/architecture.tsx",
    ],
)
