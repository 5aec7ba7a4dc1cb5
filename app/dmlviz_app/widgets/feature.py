"""What the widgets add to the program: components of any page."""

from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="widgets",
    components=["welcome/help.ts", "widgets/glossary/glossary.ts", "widgets/card_index/cardIndex.ts"],
)
