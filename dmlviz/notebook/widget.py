"""The map as an anywidget: what Python and the page share, and what is sent as a run grows."""

import html
import json
import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

from dmlviz.export.page import BUILT, TEMPLATES
from dmlviz.export.page_contents import RunContents
from dmlviz.integrations import missing
from dmlviz.runs.run import LIVE, EventLogDir, ProjectionRun, Run
from dmlviz.storage.files import LogFollower
from dmlviz.storage.run_schema.events import EndEvent, RunEvent, frames_of

BESIDE, BESIDE_PLAIN = 180, 50  # pixels that the rest of a run, and of bare embeddings, takes besides the map


def page_in_frame(contents: RunContents, height: int, page_id: str) -> str:
    """Return HTML that plays a finished run without a kernel, a server or a network.

    Args:
        contents: As `dmlviz.export.page_contents.page_contents` returns them.
        height: Height of the map in pixels.
        page_id: By which the widget finds its page.
    """
    page = TEMPLATES["notebook"].format(
        style=(BUILT / "standalone.css").read_text(encoding="utf-8"),
        script=(BUILT / "standalone.js").read_text(encoding="utf-8"),
        theme=TEMPLATES["theme"],
        kept=json.dumps(contents | {"height": height}, separators=(",", ":")).replace("<", "\\u003c"),
    )
    pixels = height + (BESIDE_PLAIN if contents["plain"] else BESIDE)
    return TEMPLATES["frame"].format(
        page_id=page_id,
        page=html.escape(page),
        style=f"width: 100%; height: {pixels}px; border: 0",
        colors=TEMPLATES["tell_colors"].format(page_id=page_id),
    )


try:
    import anywidget
    import traitlets
    from IPython.display import DisplayHandle, display
except ImportError:
    raise missing("anywidget", "notebook") from None

POLL_S = 0.25


class MapWidget(anywidget.AnyWidget):
    """A run in a notebook: map, replay, neighbors, scores, loss curve.

    Attributes:
        pinned: Index of the image whose neighbors are shown; None for none. Set it, or observe it.
        selected: Indices of the selected images, ascending. Set it, or observe it.
        height: Height of the map in pixels.
        page_id: By which it finds the page that a notebook shows in its place without a kernel.
        run: The run; None where embeddings were given without one.
        error: Error that ended the work in the background, if any.
    """

    _esm = Path(str(files("dmlviz") / "_frontend" / "notebook.js"))
    contents: Any = traitlets.Dict().tag(sync=True)
    pinned = traitlets.Int(None, allow_none=True).tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    page_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, contents: RunContents, run: Run | None, height: int) -> None:
        super().__init__(contents=contents, height=height, page_id=uuid4().hex)
        self.run = run
        self.error: Exception | None = None
        self._pages: list[DisplayHandle] = []
        self._messages: list[dict[str, Any]] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._work: threading.Thread | None = None
        self.on_msg(self._on_ready)

    @traitlets.validate("pinned")
    def _check_pinned(self, proposal: Any) -> int | None:
        item, n = proposal["value"], self.contents["n"]
        if item is not None and not 0 <= item < n:
            raise traitlets.TraitError(f"pinned is None or one of the {n:,} images, from 0 to {n - 1:,}; got {item}.")
        return item  # type: ignore[no-any-return]

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> list[int]:
        items, n = sorted(set(proposal["value"])), self.contents["n"]
        if items and not 0 <= items[0] <= items[-1] < n:
            raise traitlets.TraitError(
                f"selected holds some of the {n:,} images, from 0 to {n - 1:,}; got {items[0]} to {items[-1]}."
            )
        return items

    def __repr__(self) -> str:
        return f"MapWidget(n={self.contents['n']:,})"

    def _ipython_display_(self) -> None:
        """Show the widget, and below it a page that plays what is over where no kernel brings the widget to life.

        One output with both would not do: a front end that knows widgets shows the widget, even if it stays empty.
        """
        bundle = self._repr_mimebundle_()
        if bundle is None:
            return
        data, metadata = bundle
        display(data, metadata=metadata, raw=True)
        self._pages.append(display(self._page(), raw=True, display_id=True))

    def _page(self) -> dict[str, str]:
        is_over = self.contents["near"] is not None
        return {"text/html": page_in_frame(self.contents, self.height, self.page_id) if is_over else ""}

    def follow(self, contents_of: Callable[[Run], RunContents], work: Callable[[], object] | None = None) -> None:
        """Send what a run that is on writes, until it ends; then keep all of it in the state.

        Args:
            contents_of: Makes the contents of the finished run.
            work: Trains the run, or draws its map, if this process does.
        """
        if work is not None:
            self._work = threading.Thread(target=self._guard, args=(work,), name="training", daemon=True)
            self._work.start()
        self._thread = threading.Thread(target=self._guard, args=(lambda: self._follow(contents_of),), daemon=True)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> "MapWidget":
        """Wait until the run is over, and return the widget."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self

    def stop(self) -> None:
        """Stop a training of this process, between two batches."""
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """Return whether the training was asked to stop."""
        return self._stopping.is_set()

    def _guard(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # in a thread, no caller can catch it
            self.error = error

    def _follow(self, contents_of: Callable[[Run], RunContents]) -> None:
        assert self.run is not None
        run, view = self.run, self.contents["view"]
        records: dict[str | None, EventLogDir[Any]] = {None: run}
        if view != LIVE:
            records[view] = ProjectionRun(run.path / "projections" / view)
        logs = {pid: LogFollower(record.log.path) for pid, record in records.items()}
        counts = dict.fromkeys(records, 0)
        while True:
            is_over = all(record.state != "running" for record in records.values())
            is_over = is_over and (self._work is None or not self._work.is_alive())
            for pid, record in records.items():
                lines = logs[pid].read_new()
                if lines:
                    counts[pid] = lines[-1][0] + 1
                    events = [record.log.event(line.encode(), number) for number, line in lines]
                    self._send_events(record, pid, lines[0][0], events)
            if is_over:
                break
            threading.Event().wait(POLL_S)
        for pid, record in records.items():
            self._send_events(record, pid, counts[pid], [EndEvent(event="end", state=record.state)])
        self.run = Run(run.path)
        if self.run.embedded:
            self.contents = contents_of(self.run)
            for page in self._pages:
                page.update(self._page(), raw=True)

    def _send_events(self, record: EventLogDir[Any], pid: str | None, first: int, events: Sequence[RunEvent]) -> None:
        assert self.run is not None
        frames = [frame for event in events for frame in frames_of(event)]
        frames_by_id = {frame["id"]: b64encode(record.frame(frame["id"])).decode() for frame in frames}
        message = {"run": self.run.id, "pid": pid, "from": first, "events": [*events], "frames": frames_by_id}
        self._messages.append(message)
        self.send(message)

    def _on_ready(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send a new page all messages that were sent before it opened."""
        for message in list(self._messages):
            self.send(message)
