"""State and props of the run list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.payloads import thumbnails
from app.runtime.event_stream import LIVE_PHASES
from app.runtime.services import Services
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.config import TrainConfig
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import damage_summary
from dmlviz.runs.damage_cache import run_damage
from dmlviz.runs.quota import run_size, total_size
from dmlviz.runs.run import Run, UnreadableRunError
from dmlviz.runs.store import DamagedRun, Runs

KEY = "shelf"
SORTS = ("newest", "score", "size")
KEPT_FILES = ("embeddings.npy", "labels.npy", "weights.safetensors", "metrics.json")
SCORES = ("precision_at_1", "map_at_r")


@dataclass
class RunListState:
    """Sort order and search text of the run list.

    `deleted` is the run (id and title) that can be brought back by a click, `note` the sentence about what was done or
    could not be.
    """

    sort: str = SORTS[0]
    search: str = ""
    deleted: tuple[str, str] | None = None
    note: str = ""
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        sort = {} if self.sort == SORTS[0] else {"sort": self.sort}
        return sort | ({"search": self.search} if self.search else {})

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RunListState":
        """Decode URL parameters; invalid ones are ignored."""
        sort = query.get("sort", "")
        return cls(sort if sort in SORTS else SORTS[0], query.get("search", "")[:80])

    def act(self, what: str, run: str, value: Any, runs: Runs) -> None:
        """Apply a card action; on failure set `note`."""
        self.note, self.deleted = "", None
        try:
            if what == "rename":
                runs.rename(run, str(value))
            elif what == "tags":
                runs.tag(run, [str(tag) for tag in value])
            elif what == "pin":
                runs.pin(run, bool(value))
            elif what == "delete":
                title = _title(run, runs)
                runs.delete(run)
                self.deleted = run, title
            elif what == "restore":
                runs.restore(run)
            elif what == "say":
                self.note = str(value)[:300]
        except UserError as error:
            self.note = str(error)


def run_list_props(ui: RunListState, services: Services) -> dict[str, Any]:
    """Props of the run list."""
    deleted = {"run": ui.deleted[0], "title": ui.deleted[1]} if ui.deleted is not None else None
    evicted = [run.title for run in services.evicted[-20:]]
    disk = {"used": total_size(services.runs), "limit": services.settings.disk_limit, "gone": evicted}
    return {
        "cards": cards(services),
        "sort": ui.sort,
        "search": ui.search,
        "disk": disk,
        "deleted": deleted,
        "note": ui.note,
        "import": "/api/runs/import",
    }


def _title(run: str, runs: Runs) -> str:
    """Title of a run that may be damaged; raise RunNotFoundError where there is none."""
    try:
        return runs.get(run).title
    except UnreadableRunError as error:
        return DamagedRun(error.path.parent, error).title


def cards(services: Services) -> list[dict[str, Any]]:
    """Cards of all runs as JSON types: unreadable ones first, then the newest first."""
    runs, damaged = services.runs.look()
    return [damaged_card(run, services) for run in damaged] + [card(run, services) for run in runs]


def damaged_card(run: DamagedRun, services: Services) -> dict[str, Any]:
    """Card of a run whose settings cannot be read: the damaged file and the remaining files."""
    files = sorted({path.name for path in run.path.iterdir() if path.name in KEPT_FILES})
    remaining = (
        f" Its folder still holds {', '.join(files)}, which you can still read with other tools." if files else ""
    )
    return {
        "run": run.id,
        "title": run.title,
        "ours": services.runs.is_bundled(run),
        "tags": [],
        "pinned": False,
        "badges": [],
        "scores": {},
        "tested": None,
        "state": "damaged",
        "damage": f"{run.error.description}, so the run cannot be opened.{remaining}",
        "readable": False,
        "created": run.touched.isoformat(),
        "bytes": run_size(run),
        "export": None,
        "portrait": None,
    }


def card(run: Run, services: Services) -> dict[str, Any]:
    """Card of a run."""
    bundled = services.runs.is_bundled(run)
    scores = {key: score for key in SCORES if (score := run.score(key)) is not None}
    status = services.jobs.status(run.id)
    damage = () if status.phase in LIVE_PHASES else run_damage(run, services.runs.damage_cache)
    return {
        "run": run.id,
        "title": run.title,
        "ours": bundled,
        "tags": run.tags,
        "pinned": run.pinned,
        "badges": setting_badges(run.config),
        "scores": scores,
        "tested": _tested(run) if scores else None,
        "state": status.phase,
        "machine": status.machine or run.info.get("machine", ""),
        "damage": damage_summary(damage),
        "readable": True,
        "created": None if bundled else run.created.isoformat(),
        "bytes": run_size(run),
        "export": f"/api/runs/{run.id}/run.zip" if status.phase not in LIVE_PHASES else None,
        "portrait": f"/api/runs/{run.id}/portrait-{{theme}}.png?{thumbnails.version(run)}",
    }


def _tested(run: Run) -> int | None:
    """Number of test images scored."""
    try:
        labels = run.labels
    except DamagedFileError:
        return None
    return None if labels is None else len(labels)


def setting_badges(config: TrainConfig) -> list[str]:
    """Short labels of the settings that tell runs apart."""
    space = "sphere" if config.normalize else "free"
    badges = [DATASETS[config.dataset].title, LOSSES[config.loss].title]
    badges += [MINERS[config.miner].title] if config.miner is not None else []
    return [
        *badges,
        NETS[config.net].title,
        f"{config.embedding_dim}-d {space}",
        f"{config.steps:,} steps",
        *([f"seed {config.seed}"] if config.seed else []),
    ]
