"""Batch explorer: the terms, distances and gradients of one batch as the loss sees them."""

from dmlviz.parts import BATCHES, Kind, lazy
from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="batch_explorer",
    routes=lazy("dmlviz_app.batch_explorer.routes:routes"),
    kinds={
        **BATCHES.kinds,
        "batch_sheet": Kind("dmlviz_app.batch_explorer.payloads:batch_sheet", "question"),
        "threshold": Kind("dmlviz_app.batch_explorer.payloads:threshold", "question"),
    },
    components=["batch_explorer/batchExplorer.tsx"],
)
