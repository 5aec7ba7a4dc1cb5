"""The run that a page shows: its map, progress and curves; what it adds to the program."""

from dmlviz_app.feature import Feature

FEATURE = Feature(
    name="workbench",
    components=[
        "workbench.ts",
        "workbench/progress/progress.tsx",
        "workbench/view_picker/viewPicker.tsx",
        "workbench/query_pad/queryPad.tsx",
        "workbench/baseline_wait/baselineWait.tsx",
        "explore/script_preload/scriptPreload.ts",
    ],
)
