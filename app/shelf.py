"""The shelf of runs: what its cards say, and what of it is in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app import portraits
from app.services import Services
from app.streaming import LIVE_PHASES
from dmlviz.config import TrainConfig
from dmlviz.data.declared import DATASETS
from dmlviz.disk import size_of, used
from dmlviz.errors import UserError
from dmlviz.losses.declared import LOSSES
from dmlviz.miners.declared import MINERS
from dmlviz.nets.declared import NETS
from dmlviz.runs import Run, Runs

KEY = "shelf"
SORTS = ("newest", "score", "size")
SCORES = ("precision_at_1", "map_at_r")


@dataclass
class ShelfState:
    """How the shelf is sorted, and what is searched for.

    `deleted` is the run (id and title) that can be brought back by a click, `note` the sentence about what was done or
    could not be.
    """

    sort: str = SORTS[0]
    search: str = ""
    deleted: tuple[str, str] | None = None
    note: str = ""
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

    def act(self, what: str, run: str, value: Any, runs: Runs) -> None:
        """Do what a card was told; `what` could not be done is said in the note."""
        self.note, self.deleted = "", None
        try:
            if what == "rename":
                runs.rename(run, str(value))
            elif what == "tags":
                runs.tag(run, [str(tag) for tag in value])
            elif what == "pin":
                runs.pin(run, bool(value))
            elif what == "delete":
                title = runs.get(run).title
                runs.delete(run)
                self.deleted = run, title
            elif what == "restore":
                runs.restore(run)
            elif what == "say":
                self.note = str(value)[:300]
        except UserError as error:
            self.note = str(error)


def shelf_data(ui: ShelfState, services: Services) -> dict[str, Any]:
    """What the shelf's component shows."""
    deleted = {"run": ui.deleted[0], "title": ui.deleted[1]} if ui.deleted is not None else None
    gone = [run.title for run in services.evicted[-20:]]
    disk = {"used": used(services.runs), "limit": services.settings.disk_limit, "gone": gone}
    return {
        "cards": cards(services),
        "sort": ui.sort,
        "search": ui.search,
        "disk": disk,
        "deleted": deleted,
        "note": ui.note,
        "import": "/api/runs/import" if services.routes else None,
    }


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
        "ours": bundled,
        "tags": run.tags,
        "pinned": run.pinned,
        "badges": badges(run.config),
        "scores": scores,
        "tested": len(labels) if scores and (labels := run.labels) is not None else None,
        "state": status.phase,
        "created": None if bundled else run.created.isoformat(),
        "bytes": size_of(run),
        "export": f"/api/runs/{run.id}/run.zip" if services.routes and status.phase not in LIVE_PHASES else None,
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
