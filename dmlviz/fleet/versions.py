"""The versions on a machine, and those that must be the same on all machines of a fleet."""

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.version import __version__

MUST_MATCH = {"dmlviz": "dmlviz", "distributed": "Dask distributed", "plugins": "plug-ins"}


def versions() -> dict[str, str]:
    """Return this machine's versions by name; `plugins` is a hash of all names that a config may hold."""
    names = [sorted(catalog) for catalog in (LOSSES, MINERS, NETS)] + [sorted(DATASETS.builtin)]
    return {
        "dmlviz": __version__,
        "distributed": _version("distributed"),
        "plugins": hashlib.sha256(json.dumps(names).encode()).hexdigest()[:8],
        "torch": _version("torch"),
        "python": platform.python_version(),
    }


def refusal(machine: Any, ours: dict[str, str]) -> str:
    """Return in a sentence why a machine of these versions cannot work for this one; empty if it can."""
    if not isinstance(machine, dict):
        return "It is no machine of a dmlviz fleet."
    for name, title in MUST_MATCH.items():
        theirs = str(machine.get(name, "unknown"))[:40]
        if theirs != ours[name] and name == "plugins":
            return "It has other plug-ins than the server; start it with the same --plugin files."
        if theirs != ours[name]:
            return f"It has {title} {theirs}, and the server has {ours[name]}; install the same version."
    return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def gpu_count() -> int:
    """Return how many NVIDIA GPUs a training here may use, without loading torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([device for device in visible.split(",") if device.strip() not in ("", "-1")])
    return len([*Path("/proc/driver/nvidia/gpus").glob("*")])


def default_slots() -> int:
    """Return one slot for each GPU; without a GPU the number of cores less one."""
    return gpu_count() or max(1, (os.cpu_count() or 2) - 1)
