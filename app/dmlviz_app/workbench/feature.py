"""What the workbench adds to the program: components of every page with a run."""

from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="workbench",
    components=[
        "workbench.ts",
        "workbench/progress/progress.ts",
        "workbench/query_pad/queryPad.ts",
        "workbench/baseline_wait/baselineWait.tsx",
        "explore/script_preload/scriptPreload.ts",
    ],
)
