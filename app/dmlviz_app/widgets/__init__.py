"""Form controls, components, and the address of a page; what it adds to the program."""

from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="widgets",
    components=["welcome/help.ts", "widgets/glossary/glossary.ts", "widgets/card_index/cardIndex.tsx"],
)
