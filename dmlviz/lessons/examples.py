"""Code of each catalog entry, as on a slide: read from the files of `code`, which only tests and a worker import.

Tests run each example against the library's own function, and the line that uses the library, too.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dmlviz.catalog.losses import LOSSES

PACKAGE = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).with_name("code")
FILES = {
    "loss": "losses",
    "miner": "miners",
    "sampler": "samplers",
    "net": "nets",
    "metric": "metrics",
    "projection": "projections",
}


LOOPS = {  # whole trainings on digits, each on the page of what it is about
    ("loss", "contrastive"): "siamese",
    ("loss", "triplet"): "triplet",
    ("miner", "batch_hard"): "online",
    ("loss", "arcface"): "angular_margin",
}


@dataclass(frozen=True)
class Example:
    """An example: its complete `code`, of which `start` is the first line of the entry itself, from 1 on.

    about: what its arguments are.
    use: the lines that do the same with dmlviz.
    source, line: where the library's own code is, as a path in the repository and a line from 1 on.
    """

    code: str
    start: int
    about: str
    use: str
    source: str
    line: int


def example(kind: str, name: str) -> Example:
    """Return the example of a catalog entry; raise KeyError where there is none."""
    code, start, about = _code(kind, name)
    return Example(code, start, about, _use(kind, name), *_source(kind, name))


def loop(kind: str, name: str) -> str:
    """Return a whole training with an entry, to be run as it is; empty where there is none."""
    file = LOOPS.get((kind, name))
    return (FOLDER / "loops" / f"{file}.py").read_text(encoding="utf-8") if file else ""


@cache
def _module(kind: str) -> tuple[list[str], ast.Module]:
    text = (FOLDER / f"{FILES[kind]}.py").read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def _code(kind: str, name: str) -> tuple[str, int, str]:
    """Return a definition with all that it needs, the line it begins at, and what its arguments are."""
    lines, module = _module(kind)
    definitions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    needed, todo = {name}, [name]
    used: set[str] = set()
    while todo:
        nodes = [*ast.walk(definitions[todo.pop()])]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        names -= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        used |= names
        todo += sorted(new := names & definitions.keys() - needed)
        needed |= new
    imports = []
    for statement in module.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            kept = [one for one in statement.names if (one.asname or one.name).partition(".")[0] in used]
            if kept:
                imports.append(ast.unparse(_import_of(statement, kept)))
    parts = ["\n".join(imports)] if imports else []
    start = 1
    for other, node in definitions.items():
        if other in needed:
            if other == name:
                start = sum(part.count("\n") + 3 for part in parts) + 1
            parts.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return "\n\n\n".join(parts) + "\n", start, (ast.get_docstring(module) or "").partition(": ")[2]


def _import_of(statement: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """Return an import of these names alone."""
    if isinstance(statement, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(statement.module, names, statement.level)


_METRIC_SOURCES = {
    "retrieval": ("retrieval", "scores"),
    "knn_accuracy": ("classification", "majority_vote"),
    "nearest_mean_accuracy": ("classification", "nearest_class_mean"),
    "head_accuracy": ("../training/validation_loss", "head_accuracy"),
    "knn_probe_accuracy": ("probes", "knn_probe_accuracy"),
    "linear_probe_accuracy": ("probes", "linear_probe_accuracy"),
    "nmi": ("clustering", "normalized_information"),
    "ami": ("clustering", "normalized_information"),
    "pairwise_f1": ("clustering", "pairwise_f1"),
    "roc_auc": ("verification", "verify_pairs"),
    "eer": ("verification", "verify_pairs"),
    "fpr_at_95_recall": ("verification", "verify_pairs"),
    "accuracy_10_fold": ("verification", "_accuracy_over_folds"),
    "mean_positive_distance": ("embedding_geometry", "DistanceMeans"),
    "mean_negative_distance": ("embedding_geometry", "DistanceMeans"),
    "effective_rank": ("embedding_geometry", "effective_rank"),
    "mean_norm": ("embedding_geometry", "scores"),
    "collapsed": ("embedding_geometry", "scores"),
}
_FOLDERS = {"loss": "losses", "miner": "miners", "sampler": "training", "net": "nets", "projection": "projection"}


def _source(kind: str, name: str) -> tuple[str, int]:
    """Return the file that implements an entry, and its line: of a decorator with its name, or of a definition."""
    if kind == "metric":
        module, definition = _METRIC_SOURCES.get(name, _METRIC_SOURCES["retrieval"])
        files, pattern = [PACKAGE / "metrics" / f"{module}.py"], rf"^(def|class) {definition}\b"
    else:
        files, pattern = (
            sorted((PACKAGE / _FOLDERS[kind]).glob("*.py")),
            rf'^@(register_loss|implements|registry\.register)\("{name}"\)$',
        )
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if re.match(pattern, line, re.IGNORECASE):
                return file.resolve().relative_to(PACKAGE.parent).as_posix(), number
    raise KeyError(name)


_INFORMATION = "from dmlviz.metrics.clustering import normalized_information\n\n"
_USES = {
    "loss": 'from dmlviz import losses\n\nloss = losses.build("{name}"{more})\nvalue = loss(x, y)',
    "miner": 'from dmlviz import miners\n\nmine = miners.build("{name}")\ntuples = mine(x, y)',
    "sampler": (
        "from dmlviz import TrainConfig\nfrom dmlviz.training import sampling\n\n"
        'config = TrainConfig(sampler="{name}"{more})\nbatch = next(sampling.build(config, y, seed=0))'
    ),
    "net": 'from dmlviz import nets\n\nnet = nets.build("{name}", embedding_dim=64)\nvalue = net(x)',
    "projection": (
        "from dmlviz import ProjectionConfig, projection\n\n"
        'config = ProjectionConfig(method="{name}")\nplaces = projection.project(x, config{more}).coordinates'
    ),
    "metric": 'from dmlviz import metrics\n\nvalue = metrics.evaluate(x, y)["{name}"]',
    "probe": "from dmlviz.metrics.probes import {name}\n\nvalue = {name}(x, y, {more})",
    "pairs": 'from dmlviz.metrics.verification import verify_pairs\n\nvalue = verify_pairs(d, same)["{name}"]',
    "nmi": f"{_INFORMATION}value, _ = normalized_information(y, clusters)",
    "ami": f"{_INFORMATION}_, value = normalized_information(y, clusters)",
    "pairwise_f1": "from dmlviz.metrics.clustering import pairwise_f1\n\nvalue = pairwise_f1(y, clusters)",
    "head_accuracy": (
        "from dmlviz import TrainConfig\nfrom dmlviz.training.validation_loss import head_accuracy\n\n"
        'config = TrainConfig(loss="softmax")\nvalue = head_accuracy(config, x, y, {{"weight": weight, "bias": bias}})'
    ),
}


def _use(kind: str, name: str) -> str:
    """Return the lines that do the same with dmlviz."""
    more = ""
    if name == "weighted_sum":
        more = ', a="contrastive", b="triplet"'
    elif kind == "loss" and (LOSSES[name].needs_classes or name == "hinge_pair"):
        more = ", embedding_dim=x.shape[1], num_classes=10"
    elif name == "random_triplets":
        more = ', loss="triplet"'
    elif kind == "projection":
        more = ", labels=y" if name == "fan" else ""
    elif kind == "metric":
        module = _METRIC_SOURCES.get(name, ("retrieval",))[0]
        if module == "probes":
            kind, more = "probe", "train_x, train_y" if name.startswith("knn") else "(train_x, train_y)"
        elif module == "verification":
            kind = "pairs"
        elif name in _USES:
            kind = name
        name = {"recall_at_k": "recall_at_5", "cmc_at_k": "cmc_at_5"}.get(name, name)
    return _USES[kind].format(name=name, more=more)
