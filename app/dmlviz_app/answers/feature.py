"""What answers about runs add to the program: the routes that every page with a run asks."""

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(name="answers", routes=lazy("dmlviz_app.answers.routes:routes"))
