"""The test image that a page shows with its neighbors before a person has clicked one."""

from dmlviz.runs.run import Run

NEIGHBORS = 10
WRONG = 2  # of them, so that there is something to ask
_SEARCHED = 200  # images; the first that fits is mostly among the first thirty


def example_item(run: Run) -> int | None:
    """Return the first tracked test image of which two of the ten nearest are of another class, but not the nearest.

    Where there is none among the first 200, the image that comes nearest to it; None before the end of the run.
    """
    labels, indices = run.labels, run.tracked_indices
    if labels is None or indices is None or run.embeddings is None:
        return None
    best: tuple[int, int] | None = None
    for item in map(int, indices[:_SEARCHED]):
        wrong = [neighbor.label != labels[item] for neighbor in run.neighbors(item, NEIGHBORS)]
        if not wrong or wrong[0]:
            continue
        off = abs(sum(wrong) - WRONG)
        if best is None or off < best[0]:
            best = off, item
        if not off:
            break
    return None if best is None else best[1]
