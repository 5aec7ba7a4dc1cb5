"""A lab as a plug-in: trials that need no images, and can be slow, fail, crash or wait, as their settings say."""

import os
import time

from dmlviz.errors import UserError
from dmlviz.labs.lab import FigureRow, FigureSpec, Guess, Lab
from dmlviz.labs.registry import LABS
from dmlviz.studies.trial import Trial, TrialStoppedError

QUICK, FULL = 3, 6


def plan(size, dataset, results):
    """Three trials at once; a full study wants three more, each with the sum of what came out before."""
    first = [trial(number, {"square": number}) for number in range(QUICK)]
    if size == "quick" or len(results) < QUICK:
        return first
    values = {result.trial.name: result.values.get("y", 0) for result in results}
    wanted = list(first)
    for number in range(QUICK, FULL):
        before = [f"trial_{earlier}" for earlier in range(number)]
        if not all(name in values for name in before):
            break
        wanted.append(trial(number, {"square": number, "sum": sum(values[name] for name in before)}))
    return wanted


def trial(number, settings):
    return Trial(name=f"trial_{number}", settings=settings, dataset="digits", seconds=0.1)


def measure(trial, context):
    number = trial.settings["square"]
    misfortune = os.environ.get(f"TRIAL_{number}", "")
    if misfortune == "fails":
        raise UserError("The training diverged.")
    if misfortune == "crashes":
        os._exit(3)
    until = time.monotonic() + (float(misfortune) if misfortune else 0.0)
    while time.monotonic() < until:
        context.report(0.5, y=-1.0)
        with open(context.folder / "growing", "ab") as file:
            file.write(bytes(20_000))
        time.sleep(0.02)
        if context.stop():
            raise TrialStoppedError
    (context.folder / "growing").unlink(missing_ok=True)
    (context.folder / "picture.txt").write_text("a picture")
    return {"y": float(number**2), "names": ["a", "b"], "nothing": float("nan")}


def rows(results):
    return [
        FigureRow(figure="squares", series="measured", x=result.trial.settings["square"], y=result.values["y"])
        for result in results
        if not result.error
    ]


LABS.add(
    Lab(
        name="counting",
        title="Counting",
        summary="Squares of small numbers.",
        question="How large is a square?",
        datasets=("digits", "mnist"),
        plan=plan,
        estimate=lambda size, dataset: (QUICK, 0.3) if size == "quick" else (FULL, 0.6),
        measure="",
        rows=rows,
        figures=(
            FigureSpec(
                name="squares", title="Squares", caption="One square each.", kind="line", x_title="x", y_title="y"
            ),
        ),
        guess=Guess(question="Is it large?", options=("yes", "no"), answer=lambda results: "It is."),
        live=True,
    ),
    measure,
)
