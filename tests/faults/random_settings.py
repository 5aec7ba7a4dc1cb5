"""Random settings and addresses: `python tests/faults/random_settings.py --times 2000`.

What is refused must say so in one sentence that names the field, what was received, and what to do; nothing else may
be raised.
"""

import random
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from dmlviz_app.compare.state import CompareState
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.labs.state import LabsState
from dmlviz_app.learn.state import LearnState
from dmlviz_app.runs.state import RunListState
from random_requests import requests
from table import Table, options

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.parameters import brief, flag
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.cli.options import read_option
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.config.base import Config
from dmlviz.errors import UserError
from dmlviz.labs.registry import LABS

LONGEST = 900  # characters of what is said about one mistake
TEXTS = [
    *("", " ", "none", "null", "NaN", "inf", "-0", "1e999", "0x10", "1_000", "٣", "½", "true", "0", "-1", "5", "1.5"),
    *("digits", "triplet", "batch_hard", "a" * 5000, "9" * 5000, "(" * 3000, "[" * 3000, "{" * 3000),
    *(
        "<script>alert(1)</script>",
        "![x](http://example.org)",
        ":orange[x]",
        "$x$",
        "a\x00b",
        "\ud800",
        "\u202e\x1b[2J",
    ),
    *("../../etc/passwd", "%2e%2e%2f", "'; DROP TABLE runs; --", "__import__('os').system('x')", "{0}%s", "=1+1"),
    *("7,8,9", "7,,8", "7,x", "-1,0", "999999999999999999999", "1,2,3,4,5,6,7,8,9,0", "[[1]]", '{"a": 1}'),
]
VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 3, 1.5, -0.0, 1e-300, 1e300, 2**31, 2**63, 10**30, -(10**30), 10**5000),
    *(float("nan"), float("inf"), -float("inf"), [], {}, (), [1], ["x"], {"a": 1}, {1: 2}, [[[]]], b"bytes"),
    *(set(), [None] * 1000, {"name": {}}, {"a": {"name": "triplet"}}),
]
SENSIBLE: dict[str, list[Any]] = {
    "dataset": ["digits", "mnist", "fashion_mnist"],
    "loss": [*LOSSES],
    "miner": [None, *MINERS],
    "net": ["mlp", "small"],
    "embedding_dim": [1, 2, 64],
    "steps": [1, 600],
    "sampler": ["balanced", "random", "pairs", "triplets", "every_image"],
    "classes_per_batch": [1, 2, 10, 47],
    "images_per_class": [1, 2, 16, 1000],
    "batch_size": [1, 3, 160, 4096],
    "held_out_classes": [(), (7, 8, 9), (0, 1, 2, 3, 4, 5, 6, 7, 8)],
    "max_train_images": [None, 10, 1000],
    "method": [*PROJECTIONS],
    "dims": [2, 3],
    "engine": ["dmlviz", "reference"],
    "follow": [True, False],
    "lab": [*LABS],
    "size": ["quick", "full"],
    "results": ["own", "ready"],
    "data": ["digits", "mnist", "identities"],
    "figure": [figure.name for lab in LABS.values() for figure in lab.figures],
}


def hostile(draw: random.Random, config: type[Config]) -> dict[str, Any]:
    """Fields of a config, some of them sensible, one to three of them anything."""
    names = list(config.model_fields)
    fields = {name: draw.choice(SENSIBLE[name]) for name in names if name in SENSIBLE and draw.random() < 0.2}
    for _ in range(draw.choice([1, 1, 2, 3])):
        name = draw.choice([*names, *names, "self", "no_such_setting", "a; b", "é" * 50])
        fields[name] = _anything(draw) if not name.endswith("params") else _params(draw)
    return fields


def _anything(draw: random.Random) -> Any:
    return draw.choice([draw.choice(TEXTS), draw.choice(VALUES), draw.randrange(-10, 5000), draw.uniform(-2, 2)])


def _params(draw: random.Random) -> Any:
    specs = [*LOSSES.values(), *MINERS.values(), *PROJECTIONS.values()]
    names = [parameter.name for spec in specs for parameter in spec.parameters] + ["a", "b", "x", "", "\ud800"]
    if draw.random() < 0.15:
        return _anything(draw)
    return {draw.choice(names): _anything(draw) for _ in range(draw.choice([1, 1, 2]))}


def query(draw: random.Random) -> dict[str, str]:
    """The parameters of an address."""
    fixed = ["run", "view", "pin", "select", "color", "metric", "step", "curves", "lesson", "task", "guess", "search"]
    fixed += ["lab", "size", "data", "results", "figure"]
    fixed += ["a", "b", "sort", "loss", "miner", "topic", "projection", "utm_source", "map.engine", "map.dims"]
    roles = [f"{role}.{parameter.name}" for role, specs in _ROLES.items() for s in specs for parameter in s.parameters]
    names = [*fixed, *fixed, *TrainConfig.model_fields, *(f"map.{name}" for name in ProjectionConfig.model_fields)]
    names += [*draw.sample(roles, 20), "", ".", "loss.", ".margin", "view.", "map.", "x.y", "é"]
    made = {}
    for _ in range(draw.choice([1, 2, 4, 8])):
        name = draw.choice(names)
        field = name.rpartition(".")[2]
        sensible = [str(value) for value in SENSIBLE.get(field, [])]
        number = str(draw.choice([draw.randrange(-10, 5000), draw.uniform(-2, 2), 10**30]))
        made[name] = draw.choice([*TEXTS, *sensible * 4, number, "1"])
    return made


_ROLES = {"loss": [*LOSSES.values()], "miner": [*MINERS.values()], "view": [*PROJECTIONS.values()]}


def fault_of_sentence(text: str, given: Mapping[str, Any]) -> str:
    """What a message to a person lacks; empty where it has all that it should.

    Args:
        text: The message.
        given: What was asked for, by field.
    """
    if not 10 < len(text) < LONGEST:
        return f"it has {len(text):,} characters"
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Cf") for letter in text):
        return "it holds control characters"
    if not re.search(r"[.!?…]$", text):
        return "it is no sentence"
    if re.search(r"Traceback|<class|object at 0x|Error\b|https://errors\.pydantic", text):
        return "it speaks of the program, not of the matter"
    names = {name for key in given for name in (key, key.rpartition(".")[2], flag(key))}
    names |= {name for value in given.values() if isinstance(value, Mapping) for name in map(str, value)}
    names |= {str(value) for value in given.values() if isinstance(value, str)}
    if any(key.endswith(".") for key in given):
        names.add("parameter")  # one without a name
    words = {word for name in names if name for word in (name, repr(name)[1:-1][:20], _WORDS.get(name, name))}
    if not any(word in text for word in words) and not re.search(r"got \w+ = ", text):
        return "it names no field"
    if not _RECEIVED.search(text):
        return "it does not say what was received"
    return ""


# What a sentence calls a field that it describes by its role.
_WORDS = {"loss_params": "parameter", "miner_params": "parameter", "params": "parameter"}
_WORDS |= {"dataset": "data set", "method": "projection", "images_per_class": "images per class", "batch_size": "batch"}
_WORDS |= {"classes_per_batch": "classes", "map.engine": "engine"}
_RECEIVED = re.compile(r"\bgot\b|There is no|Unknown settings?|has no parameter|makes|leaves|names a|not for|P = \d")


def try_config(config: type[Config], fields: dict[str, Any]) -> str:
    """Make a config; return what is wrong with how that ended."""
    try:
        made = config(**fields)
        if config.from_json(made.to_json()) != made:
            return f"{brief(fields, 200)}: it is another one when read back"
    except UserError as error:
        lack = fault_of_sentence(str(error), fields)
        return f"{lack}: {str(error)!r:.300}" if lack else ""
    except Exception as error:
        return f"{type(error).__name__} ({str(error)[:80]}) for {brief(fields, 200)}"
    return ""


def try_json(draw: random.Random, config: type[Config]) -> str:
    """Read a config from text that is cut, changed, or about something else."""
    text = config().to_json() if config is ProjectionConfig else config(dataset="digits").to_json()
    at = draw.randrange(len(text))
    text = draw.choice([text[:at], text[:at] + draw.choice(TEXTS) + text[at:], text[:at] + text[at + 1 :], *TEXTS])
    try:
        config.from_json(text)
    except UserError as error:
        said = str(error)
        return "" if 10 < len(said) < LONGEST and said.isprintable() else f"no sentence: {said!r:.200}"
    except Exception as error:
        return f"{type(error).__name__} for {text[:80]!r}"
    return ""


def try_option(draw: random.Random) -> str:
    """Read the words that follow an option of the command line."""
    name = draw.choice(["loss_params", "miner_params", "params"])
    word = draw.choice(["", "margin", "=", "margin=", "=5", *(f"margin={text}" for text in TEXTS)])
    try:
        TrainConfig(dataset="digits", loss="triplet", loss_params=read_option(name, [word]))
    except UserError as error:
        lack = fault_of_sentence(str(error), {name: {"margin": 1}})
        return f"{lack}: {str(error)!r:.200}" if lack else ""
    except Exception as error:
        return f"{type(error).__name__} ({str(error)[:60]}) for {word[:60]!r}"
    return ""


def try_address(state: Callable[[Mapping[str, str]], Any], asked: dict[str, str]) -> str:
    """Open a page at an address, and ask what the page asks of its state."""
    try:
        opened = state(asked)
        told = opened.to_query()
        again = state(told)
        if again.to_query() != told:
            return f"read back, {asked!r:.300} is another address"
        messages = list(opened.messages.all().values()) if hasattr(opened, "messages") else []
        if isinstance(opened, UIState):
            for ask in (lambda: opened.config("digits"), opened.projection):
                try:
                    ask()
                except UserError as error:
                    messages.append(str(error))
    except Exception as error:
        return f"{type(error).__name__} ({str(error)[:80]}) for {asked!r:.300}"
    lacks = [f"{lack}: {text!r:.300}" for text in messages if (lack := fault_of_sentence(text, asked))]
    return lacks[0] if lacks else ""


def run(table: Table, times: int, seed: int) -> None:
    """Try so many settings and addresses, and count them in the table."""
    draw = random.Random(seed)
    with requests() as asked:
        for _ in range(times // 5):
            table.add("addresses of routes", asked.ask(draw))
    for number in range(times - times // 5):
        if table.over:
            break
        kind = number % 8
        if kind in (0, 1, 2):
            table.add("settings of a training", try_config(TrainConfig, hostile(draw, TrainConfig)))
        elif kind == 3:
            table.add("settings of a projection", try_config(ProjectionConfig, hostile(draw, ProjectionConfig)))
        elif kind == 4:
            table.add("a config as text", try_json(draw, draw.choice([TrainConfig, ProjectionConfig])))
        elif kind == 5:
            table.add("options of the command line", try_option(draw))
        else:
            page = draw.choice([UIState, UIState, UIState, CompareState, LearnState, LabsState, RunListState])
            table.add(f"addresses of {PAGES[page]}", try_address(page.from_query, query(draw)))


PAGES: dict[type, str] = {
    UIState: "Explore",
    CompareState: "Compare",
    LearnState: "Learn",
    LabsState: "Labs",
    RunListState: "Runs",
}


def new_table() -> Table:
    """The table of this command."""
    return Table(
        "R7",
        "random settings and addresses",
        "accepted, or refused with a sentence that names the field, what was received and what to do.",
        "python tests/faults/random_settings.py --times 2000",
    )


if __name__ == "__main__":
    chosen = options(__doc__ or "", 2000)
    table = new_table()
    table.seconds = chosen.seconds
    run(table, chosen.times, chosen.seed)
    sys.exit(table.finish(chosen.write))
