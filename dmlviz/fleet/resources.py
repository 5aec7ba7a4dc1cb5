"""The hardware of a machine of a fleet."""

import os
from pathlib import Path


def gpu_count() -> int:
    """Return how many NVIDIA GPUs a training here may use, without loading torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([device for device in visible.split(",") if device.strip() not in ("", "-1")])
    return len([*Path("/proc/driver/nvidia/gpus").glob("*")])


def default_slots() -> int:
    """Return one slot for each GPU; without a GPU the number of cores less one."""
    return gpu_count() or max(1, (os.cpu_count() or 2) - 1)
