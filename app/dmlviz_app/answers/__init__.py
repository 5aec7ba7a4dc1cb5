"""What every page with a run asks of it: events, frames, images, neighbors, scores, columns, queries."""

from dmlviz.parts import lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(name="answers", routes=lazy("dmlviz_app.answers.routes:routes"))
