"""State and props of the run list, and the queue above it."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config.fields import FIELDS, badges
from dmlviz.errors import DamagedFileError
from dmlviz.jobs.order import Order
from dmlviz.runs.damage import damage_summary, run_damage
from dmlviz.runs.quota import run_size
from dmlviz.runs.run import Run, RunNotFoundError
from dmlviz.runs.store import DamagedRun
from dmlviz.storage.text import counted
from dmlviz_app.answers import thumbnails
from dmlviz_app.people import policy
from dmlviz_app.people.personal_runs import SHARING, PersonalRuns
from dmlviz_app.runs.protocol import DiskUse, RunCardProps, RunChange, RunListProps, SharedRun
from dmlviz_app.server.housekeeping import evicted_runs
from dmlviz_app.server.protocol import ROUTES
from dmlviz_app.server.services import Services
from dmlviz_app.widgets import navigation
from dmlviz_app.widgets.address import SEARCH, Address, Param, UrlState, one_of
from dmlviz_app.widgets.error_boundary import error_boundary
from dmlviz_app.widgets.messages import escape_markdown

KEY = "page.runs"
SORTS = ("newest", "score", "size")
GROUPS = ("all", "mine", "shared", "public", "others")
KEPT_FILES = ("embeddings.npy", "labels.npy", "weights.safetensors", "metrics.json")
SCORES = ("precision_at_1", "map_at_r")


@dataclass
class RunListState(UrlState):
    """Sort order and search text of the run list, and whose runs it shows."""

    sort: str = SORTS[0]
    search: str = ""
    group: str = GROUPS[0]
    last_query: dict[str, str] | None = None

    ADDRESS = Address(
        Param("sort", one_of(*SORTS), SORTS[0]), Param("search", SEARCH, ""), Param("group", one_of(*GROUPS), GROUPS[0])
    )


def change(asked: RunChange, runs: PersonalRuns) -> None:
    """Change a run; raise UserError where the person may not, or where there is no such run."""
    run = asked["run"]
    if "title" in asked:
        runs.rename(run, asked["title"])
    if "tags" in asked:
        runs.tag(run, asked["tags"])
    if "pinned" in asked:
        runs.pin(run, asked["pinned"])
    if "visibility" in asked:
        runs.share(run, asked["visibility"])
    if "deleted" in asked:
        (runs.delete if asked["deleted"] else runs.restore)(run)


def run_list_props(ui: RunListState, services: Services) -> RunListProps:
    """Props of the run list."""
    limit = services.person.limits.disk
    disk = DiskUse(
        used=services.runs.used() if limit is None else services.used(),
        limit=services.disk_limit if limit is None else limit,
        gone=evicted_runs(services),
    )
    return {
        "cards": cards(services),
        "sort": ui.sort,
        "search": ui.search,
        "group": ui.group,
        "disk": disk,
        "explore": navigation.query("explore"),
        "compare": navigation.query("compare"),
    }


def cards(services: Services) -> list[RunCardProps]:
    """Cards of all runs: unreadable ones first, then the newest first."""
    runs, damaged = services.runs.look_at_all()
    return [damaged_card(run, services) for run in damaged] + [card(run, services) for run in runs]


def damaged_card(run: DamagedRun, services: Services) -> RunCardProps:
    """Card of a run whose settings cannot be read: the damaged file and the remaining files."""
    files = sorted({path.name for path in run.path.iterdir() if path.name in KEPT_FILES})
    remaining = (
        f" Its folder still holds {', '.join(files)}, which you can still read with other tools." if files else ""
    )
    return RunCardProps(
        **_sharing(run, services),
        tags=[],
        pinned=False,
        badges=[],
        scores={},
        tested=None,
        state="damaged",
        damage=f"{run.error.description}, so the run cannot be opened.{remaining}",
        readable=False,
        created=run.touched.isoformat(),
        bytes=run_size(run.path),
        export=None,
        thumbnail=None,
    )


def card(run: Run, services: Services) -> RunCardProps:
    """Card of a run."""
    is_bundled = services.runs.is_bundled(run)
    scores = {key: score for key in SCORES if (score := run.score(key)) is not None}
    status = services.jobs.status(run.id)
    damage = () if status.is_live else run_damage(run)
    return RunCardProps(
        **_sharing(run, services),
        tags=run.tags,
        pinned=run.pinned,
        badges=setting_badges(run),
        scores=scores,
        tested=_test_images(run) if scores and DATASETS[run.config.dataset].trainable else None,
        state=status.phase,
        machine=status.machine or run.info.get("machine", ""),
        damage=damage_summary(run, damage),
        readable=True,
        created=None if is_bundled else run.created.isoformat(),
        bytes=run_size(run.path),
        export=f"{ROUTES}/runs/{run.id}/run.zip" if not status.is_live else None,
        thumbnail=f"{ROUTES}/runs/{run.id}/thumbnail-{{theme}}.png?{thumbnails.version(run)}",
    )


def _sharing(run: Run | DamagedRun, services: Services) -> SharedRun:
    """Return the owner part of a card; nothing on sharing if there is only one person."""
    runs = services.runs
    payload = SharedRun(run=run.id, title=run.title, read_only=runs.is_bundled(run))
    access = runs.access(run.id) if services.person.may(policy.MEET) else None
    if access is None:
        return payload
    entry = access.entry
    options = [name for name, action in SHARING.items() if services.person.may(action)]
    owner = "" if entry is None else entry.name
    payload["sharing"] = {
        "group": access.group,
        "owner": owner if access.group != "mine" else "",
        "visibility": "private" if entry is None else entry.visibility,
        "offered": options if access.may_change and not payload["read_only"] and len(options) > 1 else [],
        "key": entry.key if entry is not None and access.may_change else "",
    }
    payload["read_only"] = payload["read_only"] or not access.may_change
    return payload


def _test_images(run: Run) -> int | None:
    """Number of test images scored."""
    try:
        labels = run.labels
    except DamagedFileError:
        return None
    return None if labels is None else len(labels)


def setting_badges(run: Run) -> list[str]:
    """Return short labels that distinguish runs; a training of another program has no known settings."""
    config = run.config
    if not DATASETS[config.dataset].trainable:
        kind = ["recorded", counted(run.steps, "step")] if run.recorded else ["imported"]
        return [*(FIELDS[name].short(config) for name in ("dataset", "embedding_dim")), *kind]
    return badges(config)


REFRESH_S = 3.0  # seconds


def queue(services: Services) -> None:
    """Render the jobs of everyone, refreshed by itself, if this person may see them."""
    if not services.person.may(policy.SEE_QUEUE):
        return

    @st.fragment(run_every=REFRESH_S)
    def table() -> None:
        with error_boundary("The queue"):
            lines = queue_lines(services)
            busy = f"{len(lines)} under way and waiting" if lines else "nothing under way"
            st.caption(f"Queue: {busy}.")
            if lines:
                st.markdown("\n".join(["| State | Person | Run |", "|---|---|---|", *lines]))

    table()


def queue_lines(services: Services) -> list[str]:
    """Return the rows of a Markdown table: phase, who asked, and title; of others' private runs no title."""
    lines = []
    for job, status in services.scheduler.running_for():
        phase = f"waiting, {status.position} of {status.of}" if status.phase == "queued" else status.phase
        names = ", ".join(services.names.get(owner, "?") for owner in job.owners)
        lines.append(f"| {phase} | {escape_markdown(names)} | {escape_markdown(_title(services, job.order))} |")
    return lines


def _title(services: Services, order: Order[Any]) -> str:
    if not order.run:
        return "Features of a data set" if order.kind == "features" else f"Lab: {order.name}"
    try:
        title = services.runs.get(order.run).title
    except RunNotFoundError:
        title = "A private run"
    return title + {"clean": ", its training data", "project": ", a projection"}.get(order.kind, "")
