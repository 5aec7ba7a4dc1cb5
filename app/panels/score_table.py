"""The table of all scores: what `dmlviz evaluate` prints, with what each score says."""

from collections.abc import Mapping

import streamlit as st

from dmlviz.catalog.metrics import METRICS, format_score, metric_of, metric_title

COUNTS = {
    "queries": ("Queries", "Images that have another image of their class to find."),
    "queries_left_out": ("Queries left out", "Images that are alone in their class; they count in no mean."),
}


def score_table(scores: Mapping[str, float], about: str) -> None:
    """Render the scores by family; with held-out classes, those of seen and unseen classes in columns of their own.

    Args:
        scores: Values by the keys of `dmlviz.metrics.evaluate`.
        about: What they are of.
    """
    groups = list(dict.fromkeys(key.partition("/")[0] for key in scores if "/" in key))
    keys = [key for key in scores if "/" not in key]
    order = [spec.name for spec in METRICS.values()]
    keys.sort(key=lambda key: order.index(spec.name) if (spec := metric_of(key)) is not None else len(order))
    columns = ["Score", "all classes" if groups else "Value", *(f"{group} classes" for group in groups), "What it says"]
    rows = [f"| {' | '.join(columns)} |", f"|---|{'--:|' * (1 + len(groups))}---|"]
    family = ""
    for key in keys:
        spec = metric_of(key)
        title, text = (metric_title(key), spec.summary) if spec is not None else COUNTS.get(key, (key, ""))
        heading = spec.family if spec is not None else "counts"
        if heading != family:
            rows.append(f"| **{heading.capitalize()}** |{' |' * (1 + len(groups))} |")
            family = heading
        if spec is not None and spec.better:
            text += f" {spec.better.capitalize()} is better."
        values = [format_score(key, scores[name]) for name in (key, *(f"{group}/{key}" for group in groups))]
        rows.append(f"| {title} | {' | '.join(values)} | :small[{text}] |")
    st.caption(f"{about}. The same numbers: `dmlviz evaluate`.")
    st.markdown("\n".join(rows))
