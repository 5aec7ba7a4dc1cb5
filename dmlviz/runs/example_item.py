"""The test image that a page shows with its neighbors before a person has clicked one."""

from dmlviz.runs.run import Run

NEIGHBORS = 10
WRONG = 2  # of them, so that there is something to ask
_SEARCHED = 200  # images; the first that fits is mostly among the first thirty


def example_item(run: Run) -> int | None:
    """Return the first tracked test image of which two of the ten nearest are of another class, but not the nearest.

    Where there is none among the first 200, the image that comes nearest to it; None before the end of the run.
    """
    labels, indices = run.known_labels, run.tracked_indices
    if indices is None or run.embeddings is None:
        return None
    best: tuple[int, int] | None = None
    for item in map(int, indices[labels[indices] >= 0][:_SEARCHED]):
        near = (labels[neighbor.item] for neighbor in run.neighbors(item, NEIGHBORS))
        wrong = [label not in (labels[item], -1) for label in near]
        if not wrong or wrong[0]:
            continue
        off = abs(sum(wrong) - WRONG)
        if best is None or off < best[0]:
            best = off, item
        if not off:
            break
    return None if best is None else best[1]
