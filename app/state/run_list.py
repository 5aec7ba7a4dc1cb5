"""State and props of the run list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.payloads import thumbnails
from app.payloads.protocol.common import ROUTES
from app.runtime.event_stream import LIVE_PHASES
from app.runtime.personal_runs import SHARING_ROLES, PersonalRuns
from app.runtime.services import Services
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.runs.damage import damage_summary
from dmlviz.runs.damage_cache import run_damage
from dmlviz.runs.quota import run_size, total_size
from dmlviz.runs.run import Run, UnreadableRunError
from dmlviz.runs.store import DamagedRun, Runs

KEY = "shelf"
SORTS = ("newest", "score", "size")
GROUPS = ("all", "mine", "shared", "shelf", "others")
KEPT_FILES = ("embeddings.npy", "labels.npy", "weights.safetensors", "metrics.json")
SCORES = ("precision_at_1", "map_at_r")


@dataclass
class RunListState:
    """Sort order and search text of the run list, and whose runs it shows.

    `deleted` is the run (id and title) that can be brought back by a click, `note` the sentence about what was done or
    could not be.
    """

    sort: str = SORTS[0]
    search: str = ""
    group: str = GROUPS[0]
    deleted: tuple[str, str] | None = None
    note: str = ""
    last_query: dict[str, str] | None = None

    def to_query(self) -> dict[str, str]:
        """Encode the state as URL parameters, without defaults."""
        chosen = {"sort": (self.sort, SORTS[0]), "search": (self.search, ""), "group": (self.group, GROUPS[0])}
        return {name: value for name, (value, default) in chosen.items() if value != default}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RunListState":
        """Decode URL parameters; invalid ones are ignored."""
        sort, group = query.get("sort", ""), query.get("group", "")
        return cls(
            sort if sort in SORTS else SORTS[0], query.get("search", "")[:80], group if group in GROUPS else GROUPS[0]
        )

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
            elif what == "share" and isinstance(runs, PersonalRuns):
                runs.share(run, value)
            elif what == "say":
                self.note = str(value)[:300]
        except UserError as error:
            self.note = str(error)


def run_list_props(ui: RunListState, services: Services) -> dict[str, Any]:
    """Props of the run list."""
    deleted = {"run": ui.deleted[0], "title": ui.deleted[1]} if ui.deleted is not None else None
    own, limit = not services.person.alone, services.person.limits.disk
    disk = {
        "used": services.used() if own else total_size(services.store),
        "limit": limit if own and limit is not None else services.settings.disk_limit,
        "gone": services.evicted_titles(),
    }
    return {
        "cards": cards(services),
        "sort": ui.sort,
        "search": ui.search,
        "group": ui.group,
        "disk": disk,
        "deleted": deleted,
        "note": ui.note,
        "import": f"{ROUTES}/runs/import",
    }


def _title(run: str, runs: Runs) -> str:
    """Title of a run that may be damaged; raise RunNotFoundError where there is none."""
    try:
        return runs.get(run).title
    except UnreadableRunError as error:
        return DamagedRun(error.path.parent, error).title


def cards(services: Services) -> list[dict[str, Any]]:
    """Cards of all runs as JSON types: unreadable ones first, then the newest first."""
    mine = services.runs
    runs, damaged = mine.look_at_all() if isinstance(mine, PersonalRuns) else mine.look()
    return [damaged_card(run, services) for run in damaged] + [card(run, services) for run in runs]


def damaged_card(run: DamagedRun, services: Services) -> dict[str, Any]:
    """Card of a run whose settings cannot be read: the damaged file and the remaining files."""
    files = sorted({path.name for path in run.path.iterdir() if path.name in KEPT_FILES})
    remaining = (
        f" Its folder still holds {', '.join(files)}, which you can still read with other tools." if files else ""
    )
    return _sharing(run, services) | {
        "tags": [],
        "pinned": False,
        "badges": [],
        "scores": {},
        "tested": None,
        "state": "damaged",
        "damage": f"{run.error.description}, so the run cannot be opened.{remaining}",
        "readable": False,
        "created": run.touched.isoformat(),
        "bytes": run_size(run.path),
        "export": None,
        "portrait": None,
    }


def card(run: Run, services: Services) -> dict[str, Any]:
    """Card of a run."""
    bundled = services.runs.is_bundled(run)
    scores = {key: score for key in SCORES if (score := run.score(key)) is not None}
    status = services.jobs.status(run.id)
    damage = () if status.phase in LIVE_PHASES else run_damage(run, services.runs.damage_cache)
    return _sharing(run, services) | {
        "tags": run.tags,
        "pinned": run.pinned,
        "badges": setting_badges(run),
        "scores": scores,
        "tested": _tested(run) if scores else None,
        "state": status.phase,
        "machine": status.machine or run.info.get("machine", ""),
        "damage": damage_summary(run, damage),
        "readable": True,
        "created": None if bundled else run.created.isoformat(),
        "bytes": run_size(run.path),
        "export": f"{ROUTES}/runs/{run.id}/run.zip" if status.phase not in LIVE_PHASES else None,
        "portrait": f"{ROUTES}/runs/{run.id}/portrait-{{theme}}.png?{thumbnails.version(run)}",
    }


def _sharing(run: Run | DamagedRun, services: Services) -> dict[str, Any]:
    """What a card says of whose a run is; nothing of sharing where there is only one person."""
    runs = services.runs
    payload: dict[str, Any] = {"run": run.id, "title": run.title, "read_only": runs.is_bundled(run)}
    access = runs.access(run.id) if isinstance(runs, PersonalRuns) else None
    if access is None:
        return payload
    entry, offered = access.entry, [name for name, role in SHARING_ROLES.items() if services.person.may(role)]
    owner = "" if entry is None else entry.name
    payload["sharing"] = {
        "group": access.group,
        "owner": owner if access.group != "mine" else "",
        "visibility": "private" if entry is None else entry.visibility,
        "offered": offered if access.may_change and not payload["read_only"] and len(offered) > 1 else [],
        "key": entry.key if entry is not None and access.may_change else "",
    }
    return payload | {"read_only": payload["read_only"] or not access.may_change}


def _tested(run: Run) -> int | None:
    """Number of test images scored."""
    try:
        labels = run.labels
    except DamagedFileError:
        return None
    return None if labels is None else len(labels)


def setting_badges(run: Run) -> list[str]:
    """Short labels of what tells runs apart; of a training of another program no settings are known."""
    config = run.config
    space = "sphere" if config.normalize else "free"
    if not DATASETS[config.dataset].trainable:
        kind = ["recorded", f"{run.steps:,} steps"] if run.recorded else ["imported"]
        return [DATASETS[config.dataset].title, f"{config.embedding_dim}-d {space}", *kind]
    badges = [DATASETS[config.dataset].title, LOSSES[config.loss].title]
    badges += [MINERS[config.miner].title] if config.miner is not None else []
    return [
        *badges,
        NETS[config.net].title,
        f"{config.embedding_dim}-d {space}",
        f"{config.steps:,} steps",
        *(["labels corrected"] if config.corrections else []),
        *([] if config.use_labels else ["labels unused"]),
        *([f"{config.views} views"] if config.views > 1 else []),
        *(["augmented"] if config.augmentation else []),
        *([f"{config.projection_dim}-d head"] if config.projection_dim else []),
        *([f"unfrozen blocks: {config.unfrozen_blocks}"] if config.unfrozen_blocks else []),
        *(["mixed precision"] if config.mixed_precision else []),
        *([f"seed {config.seed}"] if config.seed else []),
    ]
