"""Information from the program around a recording: the rank of its process, and the reason of its end."""

import os
import sys

from dmlviz.storage.text import one_line

NOT_CLOSED = "The program ended without closing the recording."


def process_rank() -> int:
    """Return the rank of this process in a distributed training, from torch.distributed or torchrun; 0 elsewhere."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)  # who has not loaded torch trains without it
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return int(rank) if rank.isdecimal() and size.isdecimal() and int(size) > 1 else 0


def end_reason(error: BaseException | None) -> str:
    """Return why a training ends early, in one sentence: the error that ended it; empty where there is none."""
    if error is None:
        return ""
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted."
    text = one_line(str(error), 300)
    return f"The training ended with {type(error).__name__}{': ' if text else ''}{text}"


def exit_reason() -> str:
    """Return why the program ends while its recording is open: an uncaught error, or a missing call of `finish`."""
    is_interactive = hasattr(sys, "ps1")  # where the last error may be of any line before
    error = None if is_interactive else getattr(sys, "last_value", None)
    return end_reason(error) or NOT_CLOSED
