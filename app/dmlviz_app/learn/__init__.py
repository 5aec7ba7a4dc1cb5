"""Learn: the index of the catalog, its entries, topics, lessons and exam questions; what it adds to the program."""

from pathlib import Path

from dmlviz.parts import LEARN, Kind, lazy
from dmlviz_app.feature import Feature, Page
from dmlviz_app.people.policy import Action, Role

READ_SHEETS = Action("read the teacher's sheets of lessons", Role.TEACHER)

FEATURE = Feature(
    name="learn",
    page=Page(address="learn", title="Learn", script=Path(__file__).with_name("page.py")),
    routes=lazy("dmlviz_app.learn.routes:routes"),
    kinds={**LEARN.kinds, "cloud": Kind("dmlviz_app.learn.clouds:images_as_points", "answer")},
    actions=[READ_SHEETS],
    components=[
        "learn/code_tab/codeTab.tsx",
        "learn/loss_plot/lossPlot.tsx",
        "learn/force_playground/forcePlayground.tsx",
        "learn/layout_playground/layoutPlayground.tsx",
        "learn/map_at_r_demo/mapAtRDemo.tsx",
        "learn/ranking_toy/rankingToy.tsx",
        "learn/small_figures/smallFigures.tsx",
    ],
    site=LEARN.site,
)
