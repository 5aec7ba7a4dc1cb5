"""Scripts and commands that reproduce a run and its map: identical numbers on the same machine."""

import json
import shlex
from collections.abc import Mapping
from typing import IO, Any, TypeVar

from dmlviz.catalog.parameters import NONE, Fields, flag
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import Config
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.runs.run import ProjectionRun

C = TypeVar("C", bound=Config)
LINE = 100


def minimal_overrides(config: Config) -> Fields:
    """Return the fewest fields from which `type(config)(**fields)` is the same config.

    Examples:
        >>> from dmlviz.config import TrainConfig
        >>> minimal_overrides(TrainConfig(seed=3))
        {'seed': 3}
    """
    overrides = config.model_dump(mode="json")
    for name in list(overrides):
        overrides = _drop_field(type(config), overrides, name, config.id)
    for name, value in list(overrides.items()):
        if name.endswith("params"):
            for param in list(value):
                fewer = {key: other for key, other in overrides[name].items() if key != param}
                if _resolves_to(type(config), overrides | {name: fewer}, config.id):
                    overrides = overrides | {name: fewer}
    return overrides


def _drop_field(kind: type[Config], fields: Fields, name: str, id: str) -> Fields:
    fewer = {key: value for key, value in fields.items() if key != name}
    return fewer if _resolves_to(kind, fewer, id) else fields


def _resolves_to(kind: type[Config], fields: Mapping[str, Any], id: str) -> bool:
    try:
        return kind(**fields).id == id
    except UserError:
        return False


def as_python(export: RunExport) -> str:
    """Return a script that retrains the run and computes its map, as `end.embeddings` and `coordinates`."""
    run, projection = export.run, export.projection
    needs_snapshots = projection is not None and (
        projection.config.follow or export.step is not None or _uses_other_epochs(projection)
    )
    if needs_snapshots:  # made from stored snapshots, which a script does not have
        return as_python(RunExport(run)) + f"# The map is made from stored snapshots: {_projection_call(export)}\n"
    device = f", device={_literal(run.info['device'])}" if run.info.get("device") else ""
    lines = [
        _docstring(f"{run.title}: run {run.id} of dmlviz."),
        "",
        "import torch",
        "",
        f"from dmlviz import {'ProjectionConfig, ' if projection else ''}TrainConfig, data, train",
        "from dmlviz.projection import project"
        if projection
        else "from dmlviz.ops.linear_projection import default_projection",
        "",
        f"torch.set_num_threads({_literal(run.info.get('threads', 1))})  # as it was trained",
        "",
        *(f"# {note}" for note in _notes(export)),
        f"config = {_call('TrainConfig', minimal_overrides(run.config))}",
        f"for event in train(config{device}):",
        "    pass",
        "end = event",
        "print(f\"P@1 {end.metrics['precision_at_1']:.4f} on {len(end.embeddings):,} test images\")",
        "",
        "labels = data.load(config.dataset).test.labels",
    ]
    if projection:
        lines.append(f"view = {_call('ProjectionConfig', minimal_overrides(projection.config))}")
        rows = "" if projection.config.subset is None else "[view.items]"
        drawn = f"end.embeddings{rows}" if projection.config.prefix is None else f"view.cut(end.embeddings{rows})"
        lines.append(f"coordinates = project({drawn}, view, labels=labels{rows}).coordinates")
    else:
        lines.append("coordinates = default_projection(end.embeddings, labels).project(end.embeddings)")
        if not PROJECTIONS[export.view].native:  # PCA, whose axes have no meaning
            lines.append("# The app rotates these axes to match the live map.")
    return "\n".join([*lines, ""])


def as_command(export: RunExport) -> str:
    """Return the commands that retrain the run and compute its map."""
    lines = [f"# {note}" for note in _notes(export)]
    lines.append(_options("dmlviz train", minimal_overrides(export.run.config)))
    if export.projection:
        lines.append(_projection_call(export))
    return "\n".join([*lines, ""])


def _uses_other_epochs(projection: ProjectionRun) -> bool:
    """Return whether the projection was fitted to all snapshots."""
    return projection.config.params.get("fitted") == "all"


def _projection_call(export: RunExport) -> str:
    assert export.projection is not None
    return _options(f"dmlviz project {export.run.id}", minimal_overrides(export.projection.config))


def write_python(export: RunExport, file: IO[bytes]) -> None:
    """Write the Python script."""
    if problem := export.problem("python"):
        raise UserError(problem)
    file.write(as_python(export).encode())


def write_command(export: RunExport, file: IO[bytes]) -> None:
    """Write the commands."""
    if problem := export.problem("command"):
        raise UserError(problem)
    file.write(as_command(export).encode())


def _notes(export: RunExport) -> list[str]:
    """Return notes on what the script does not reproduce."""
    end = export.run.end
    if end is None or end["event"] != "stopped":
        return []
    return [f"Stopped at step {end['step']} of {export.run.config.steps}; this script trains to the end."]


def _call(name: str, fields: Mapping[str, Any]) -> str:
    parts = [f"{key}={_literal(value)}" for key, value in fields.items()]
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= LINE - 10 else "\n".join([f"{name}(", *(f"    {part}," for part in parts), ")"])


def _literal(value: Any) -> str:
    """Return a value as a Python literal, with double quotes around plain text."""
    if isinstance(value, str):
        return f'"{value}"' if value.isprintable() and not set(value) & {'"', "\\"} else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if value is not None and not isinstance(value, bool | int | float):
        raise TypeError(f"a config holds no {type(value).__name__}")
    return repr(value)


def _docstring(text: str) -> str:
    written = _literal(text)
    return f'""{written}""' if written.startswith('"') else written


def _options(command: str, fields: Mapping[str, Any]) -> str:
    words = []
    for name, value in fields.items():
        if isinstance(value, dict):
            words += [f"{flag(name)} {shlex.quote(f'{key}={_param(inner)}')}" for key, inner in value.items()]
        elif isinstance(value, bool):
            words.append(flag(name) if value else f"--no-{flag(name)[2:]}")
        else:
            words.append(f"{flag(name)} {shlex.quote(_word(value))}")
    line = " ".join([command, *words])
    return line if len(line) <= LINE else " \\\n  ".join([command, *words])


def _word(value: Any) -> str:
    """Format a field for the command line."""
    if value is None:
        return NONE
    return ",".join(map(str, value)) if isinstance(value, list) else _param(value)


def _param(value: Any) -> str:
    """Format a parameter for the command line."""
    return value if isinstance(value, str) else json.dumps(value)
