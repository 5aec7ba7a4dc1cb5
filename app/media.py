"""Where the host does not pass /api: tiles and labels by Streamlit's own files, events and frames by polling."""

from base64 import b64encode
from typing import Any

from streamlit import runtime

from app.api.routes import cache
from app.payloads.sprites import ImageTiles
from dmlviz.runs.run import EventLogDir

FRAMES_A_POLL = 12


def describe(found: ImageTiles) -> dict[str, Any]:
    """As Pictures.describe, with addresses that Streamlit serves for as long as this page shows them."""
    described = found.describe()
    sheets = [_url(str(found.sheet(number, cache())), "image/png", f"sheet-{number}") for number in range(found.sheets)]
    labels = _url(found.labels.tobytes(), "application/octet-stream", "labels")
    return described | {"labels_url": labels, "sprites": described["sprites"] | {"urls": sheets}}


def numbers(content: bytes, name: str) -> str:
    """Where the page finds numbers to color by."""
    return _url(content, "application/octet-stream", f"values-{name}")


def _url(content: bytes | str, kind: str, place: str) -> str:
    return runtime.get_instance().media_file_mgr.add(content, kind, f"dmlviz.{place}")


def poll(record: EventLogDir, running: bool, fed: int) -> dict[str, Any]:
    """The events of a record from number `fed` on, with their frames: as many as one message should hold.

    {"from": fed, "events": […], "frames": {hash: base64}, "more": whether to ask again}. What the page has taken it
    says itself, because a message may be overtaken by the next one.
    """
    events, upto = record.events(fed), 0
    frames: dict[str, str] = {}
    for event in events:
        wanted = [frame for frame in _frames(event) if frame not in frames]
        if frames and len(frames) + len(wanted) > FRAMES_A_POLL:
            break
        frames |= {frame: b64encode(record.frame(frame)).decode() for frame in wanted}
        upto += 1
    over = not running and upto == len(events)
    end = [{"event": "end", "state": record.state}] if over else []
    return {"from": fed, "events": events[:upto] + end, "frames": frames, "more": not over}


def _frames(event: dict[str, Any]) -> list[str]:
    if event["event"] == "replay":
        return [entry.get("frame", entry)["id"] for entry in event["frames"]]
    return [event["frame"]["id"]] if event.get("frame") else []
