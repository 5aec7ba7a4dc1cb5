"""The specs of the metrics."""

import math
import re
from dataclasses import dataclass

from dmlviz.catalog.parameters import Catalog, Spec, specs


@dataclass(frozen=True, kw_only=True)
class MetricSpec(Spec):
    """A metric by the key that `evaluate` gives it (k in a name stands for the numbers asked for).

    Its values lie in [`low`, `high`], None or infinity where there is no bound; `better` is "higher", "lower" or, for a
    description rather than a score, "". `three_spaces`: whether the topic "Three spaces" of Learn shows what it can
    distinguish.
    """

    low: float = 0
    high: float | None = 1
    better: str = "higher"
    three_spaces: bool = False

    @property
    def range(self) -> str:
        """Its values in words."""
        ends = f"{self.low:g} or more" if self.high in (None, math.inf) else f"{self.low:g} to {self.high:g}"
        ends = ends.replace("-", "−")
        return f"{ends}; {self.better} is better" if self.better else ends


METRICS = Catalog("metric", specs(MetricSpec, "metric"))


def metric_of(key: str) -> MetricSpec | None:
    """Return the spec of a key that `evaluate` gives; None for what is no metric, as the number of queries.

    Examples:
        >>> metric_of("seen/recall_at_5").name
        'recall_at_k'
    """
    name = re.sub(r"_at_\d+$", "_at_k", key.rpartition("/")[2])
    return next((METRICS[metric] for metric in (key.rpartition("/")[2], name) if metric in METRICS), None)


def metric_title(key: str) -> str:
    """Return what the page calls the metric of a key that `evaluate` gives.

    Examples:
        >>> metric_title("recall_at_5")
        'R@5'
    """
    metric, number = metric_of(key), re.search(r"_at_(\d+)$", key)
    if metric is None:
        return METRICS[key].title  # raises the sentence for an unknown name
    return metric.title if number is None or metric.name == key else metric.title.replace("k", number[1])


def format_score(key: str, value: float) -> str:
    """Return a score as the command line and the page print it; a dash where it is not defined."""
    if math.isnan(value):
        return "–"  # for instance of pairs where every image is alone in its class
    return f"{value:,.0f}" if "queries" in key else f"{value:.4f}"
