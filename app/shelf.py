"""The shelf of runs: what its cards say, and what of it is in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app import portraits
from app.services import Services
from dmlviz.config import TrainConfig
from dmlviz.data.declared import DATASETS
from dmlviz.disk import size_of
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.nets.declared import NETS
from dmlviz.record import Run

KEY = "shelf"
SORTS = ("newest", "score", "size")
SCORES = ("precision_at_1", "map_at_r")


@dataclass
class ShelfState:
    """How the shelf is sorted, and what is searched for."""

    sort: str = SORTS[0]
    search: str = ""
    written: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Everything as the parameters of an address; defaults are left out."""
        sort = {} if self.sort == SORTS[0] else {"sort": self.sort}
        return sort | ({"search": self.search} if self.search else {})

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "ShelfState":
        """Read an address; what cannot be followed is left out."""
        sort = query.get("sort", "")
        return cls(sort if sort in SORTS else SORTS[0], query.get("search", "")[:80])


def cards(services: Services) -> list[dict[str, Any]]:
    """Every run as a card, the newest first, plain JSON types."""
    return [card(run, services) for run in services.runs.list()]


def card(run: Run, services: Services) -> dict[str, Any]:
    """What a card says of a run."""
    bundled = services.runs.comes_with_the_program(run)
    metrics = run.metrics
    scores = {key: metrics[key] for key in SCORES if isinstance(metrics.get(key), float)}
    status = services.jobs.status(run.id)
    return {
        "run": run.id,
        "title": run.title,
        "badges": badges(run.config),
        "scores": scores,
        "tested": len(labels) if scores and (labels := run.labels) is not None else None,
        "state": status.phase,
        "created": None if bundled else run.created.isoformat(),
        "bytes": size_of(run),
        "portrait": f"/api/runs/{run.id}/portrait-{{theme}}.png?{portraits.stamp(run)}" if services.routes else None,
    }


def badges(config: TrainConfig) -> list[str]:
    """The settings that tell runs apart, as a person says them."""
    space = "sphere" if config.normalize else "free"
    told = [DATASETS[config.dataset].title, LOSSES[config.loss].title]
    told += [MINERS[config.miner].title] if config.miner is not None else []
    return [
        *told,
        NETS[config.net].title,
        f"{config.embedding_dim}-d {space}",
        f"{config.steps:,} steps",
        *([f"seed {config.seed}"] if config.seed else []),
    ]
