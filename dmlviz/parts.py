"""What a part of the program brings: kinds of background work, commands, pages of a site.

A feature of the app brings these among other things (`dmlviz_app.feature`); the library without the app has `PARTS`.
Nothing here is loaded before it is used: functions are named as "module:function".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

APP = "dmlviz_app.feature"
Form = Literal["job", "answer", "question"]


def lazy(function: str) -> Callable[..., Any]:
    """Return a function that calls "module:function", and imports it then."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        module, _, name = function.partition(":")
        return getattr(import_module(module), name)(*arguments, **keywords)

    return call


@dataclass(frozen=True)
class Kind:
    """A kind of background work.

    Attributes:
        work: The function that a worker calls, as "module:function".
        form: "job": it gets a `dmlviz.jobs.job_record.Work`, and writes progress and result into its order's folder.
            "answer": it gets a `dmlviz.workers.answers.Target`, whose file it writes, and the arguments of its order,
            and returns the name by which a person keeps the file. "question": it gets a question and the folder of
            the data sets, and returns the answer; the process stays for the next one.
    """

    work: str
    form: Form = "job"


@dataclass(frozen=True)
class Command:
    """A command, `dmlviz NAME`.

    Attributes:
        name: Its name.
        summary: A sentence for `dmlviz --help`.
        module: The module whose `app` is the command, a `typer.Typer`.
    """

    name: str
    summary: str
    module: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a part of the library brings; the fields are those of `dmlviz_app.feature.Feature` that need no app."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    commands: Sequence[Command] = ()
    site: Callable[..., object] | None = None


CORE = Part(
    kinds={
        "train": Kind("dmlviz.workers.kinds:train"),
        "project": Kind("dmlviz.workers.kinds:project"),
        "features": Kind("dmlviz.workers.kinds:compute_features"),
        "answer": Kind("dmlviz.workers.answers:prepare_answer"),
        "export": Kind("dmlviz.workers.answers:export", "answer"),
        "archive": Kind("dmlviz.workers.answers:archive", "answer"),
        "unpack": Kind("dmlviz.workers.answers:unpack", "answer"),
        "upload": Kind("dmlviz.workers.answers:upload", "answer"),
        "neighbors": Kind("dmlviz.workers.answers:neighbors", "answer"),
        "nearest": Kind("dmlviz.workers.answers:nearest", "answer"),
        "faithfulness": Kind("dmlviz.workers.answers:faithfulness", "answer"),
        "sheet": Kind("dmlviz.workers.answers:sheet", "answer"),
        "per_query": Kind("dmlviz.workers.answers:per_query", "answer"),
        "pixels": Kind("dmlviz.workers.answers:pixels", "answer"),
        "curves": Kind("dmlviz.workers.answers:curves", "answer"),
        "new_batch": Kind("dmlviz.workers.answers:new_batch", "answer"),
        "training_page": Kind("dmlviz.workers.answers:training_page", "answer"),
        "embed": Kind("dmlviz.workers.questions:embed", "question"),
        "gallery": Kind("dmlviz.workers.questions:gallery", "question"),
        "augmented": Kind("dmlviz.workers.questions:augmented", "question"),
        "architecture": Kind("dmlviz.labs.architectures:answer", "question"),
        "logits": Kind("dmlviz.workers.questions:item_logits", "question"),
        "occlusion": Kind("dmlviz.workers.questions:occlusion", "question"),
        "mean": Kind("dmlviz.workers.questions:mean", "question"),
    },
    commands=(
        Command("serve", "Open the app in the browser (the default command).", "dmlviz.cli.serve"),
        Command("train", "Train a net and save the run, for the app too.", "dmlviz.cli.train"),
        Command(
            "project",
            "Project a run's embeddings to 2-D or 3-D: PCA, t-SNE, UMAP, PaCMAP, LocalMAP.",
            "dmlviz.cli.project",
        ),
        Command("evaluate", "Compute all metrics of a run.", "dmlviz.cli.evaluate"),
        Command("neighbors", "List the nearest neighbors of a test image.", "dmlviz.cli.neighbors"),
        Command("ask", "Name pictures by a run's net, or call them unknown.", "dmlviz.cli.ask"),
        Command("place", "Lay new images over a run's map; test whether they come from its cloud.", "dmlviz.cli.place"),
        Command("gallery", "Keep pictures of your own under names with a run.", "dmlviz.cli.gallery"),
        Command("runs", "List and manage runs.", "dmlviz.cli.runs"),
        Command("data", "List data sets; add your own images or embeddings.", "dmlviz.cli.data"),
        Command("show", "Open the app with a map of a table or of embeddings, without training.", "dmlviz.cli.show"),
        Command(
            "export",
            "Export a run: interactive HTML page, tables, weights, or the script that reproduces it.",
            "dmlviz.cli.export",
        ),
        Command("report", "Write the report of a verification test of a run, to read or print.", "dmlviz.cli.report"),
        Command("log", "Log a run in an experiment tracker: TensorBoard, MLflow, Weights & Biases.", "dmlviz.cli.log"),
        Command(
            "serve-model",
            "Answer with the nearest test images of a picture that is sent: a small REST service.",
            "dmlviz.cli.serve_model",
        ),
        Command(
            "site", "Write a static site of runs, lessons and labs that any web server can host.", "dmlviz.cli.site"
        ),
        Command("doctor", "Check that this machine has what dmlviz needs.", "dmlviz.cli.doctor"),
        Command("docs", "Open the documentation that comes with the program.", "dmlviz.cli.docs"),
        Command("worker", "Let this machine train for a server.", "dmlviz.cli.worker"),
        Command("fleet", "List the machines that train for a server; make their certificates.", "dmlviz.cli.fleet"),
    ),
)
BATCHES = Part(kinds={"batch": Kind("dmlviz.workers.questions:batch", "question")})
LEARN = Part(
    kinds={
        "loss": Kind("dmlviz.workers.questions:loss", "question"),
        "code": Kind("dmlviz.lessons.stepping:answer", "question"),
        "figure": Kind("dmlviz.lessons.figures:answer", "question"),
    },
    site=lazy("dmlviz.export.lesson_page:add_lessons"),
)
LABS = Part(
    kinds={
        "trial": Kind("dmlviz.labs.run:run_trial"),
        "lab": Kind("dmlviz.workers.questions:lab", "question"),
    },
    commands=(
        Command(
            "lab",
            "Run a lab, an experiment of the field on small images; without a name, list them.",
            "dmlviz.cli.lab",
        ),
        Command("study", "List, begin, resume and stop the studies of labs.", "dmlviz.cli.study"),
    ),
    site=lazy("dmlviz.export.lab_page:add_labs"),
)
CLEAN = Part(
    kinds={"clean": Kind("dmlviz.cleaning.job:clean_run")},
    commands=(
        Command(
            "clean",
            "Find suspect labels, near duplicates, leaks and outliers in training data; correct labels.",
            "dmlviz.cli.clean",
        ),
    ),
)
PARTS = (CORE, BATCHES, LEARN, LABS, CLEAN)
# Functions that display runs and trainings; higher packages have them, and `dmlviz/__init__.py` registers them.
DISPLAYS: dict[str, Callable[..., Any]] = {}  # "figure": a figure of a run; "map": a map in a notebook
PLUGGED: list[Any] = []  # features of plug-ins: `dmlviz_app.feature.FEATURES.add` puts them here


def parts() -> Sequence[Part]:
    """Return the features of the app, those of plug-ins included; where there is no app, the parts of the library."""
    try:
        features: Sequence[Part] = import_module(APP).FEATURES  # each has all that a part has
    except ModuleNotFoundError as error:
        if error.name not in (APP, APP.partition(".")[0]):
            raise
        return PARTS
    return features


def kinds(form: Form | None = None) -> dict[str, Kind]:
    """Return all kinds of background work by name; with `form`, those of this form."""
    named = {name: kind for part in parts() for name, kind in part.kinds.items()}
    return {name: kind for name, kind in named.items() if form in (None, kind.form)}


def commands() -> dict[str, Command]:
    """Return all commands by name."""
    return {command.name: command for part in parts() for command in part.commands}
