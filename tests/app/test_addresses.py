"""Every address of every page is read as it was written, and those in the docs say what exists."""

import random
import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from dmlviz_app.classroom.forms import ClassroomState
from dmlviz_app.clean.state import CleanState
from dmlviz_app.compare.state import CompareState
from dmlviz_app.forms.selection import Selection
from dmlviz_app.forms.training_settings import SETTINGS
from dmlviz_app.forms.view_query import ADDRESS, LESSON
from dmlviz_app.forms.view_state import UIState
from dmlviz_app.labs.state import LabsState
from dmlviz_app.learn.state import LearnState, _places
from dmlviz_app.runs.state import RunListState
from dmlviz_app.widgets.url_state import is_browser_key

from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.errors import UserError
from dmlviz.labs.registry import LABS
from dmlviz.lessons import LESSONS

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "": UIState,
    "explore": UIState,
    "compare": CompareState,
    "labs": LabsState,
    "runs": RunListState,
    "clean": CleanState,
    "learn": LearnState,
    "class": ClassroomState,
}
ROLES = {"loss": LOSSES, "miner": MINERS, "view": PROJECTIONS}
SPECS = [(role, spec) for role, specs in ROLES.items() for spec in specs.values()]
PARAMETERS = [f"{role}.{parameter.name}" for role, spec in SPECS for parameter in spec.parameters]
SUBSET = Selection("digits", "Bg==").encode
TEXTS = [*"0 1 2 5 0.3 0.000123456789 30 x ² 7,8,9 cosine".split(), "", "a b", "f" * 16, SUBSET]
OFTEN = ["view", "subset", "lesson", "loss", "miner"]
KEYS = {
    UIState: [*ADDRESS.params, *LESSON.params, *OFTEN * 4, "pin", "select", "color", "utm_source"],
    LearnState: ["search", *_places()],
}
NAMES = {
    key: text.split()
    for key, text in (
        line.split(": ")
        for line in """\
a: aaaaaaaaaaaaaaaa
b: bbbbbbbbbbbbbbbb
beside: 1
curves: roc scores
data: digits numbers
dataset: digits mnist patches
from: quick
group: mine
guess: 1
map.follow: 1
map.dims: 3
map.engine: reference
map.step: 40
results: own ready
run: aaaaaaaaaaaaaaaa
size: full
sort: score size
task: 1 2""".splitlines()
    )
}
NAMES |= {
    **ROLES,
    **dict.fromkeys(["whole", "view_a", "view_b"], PROJECTIONS),
    "lesson": LESSONS,
    "lab": LABS,
    **_places(),
}
NAMES |= {"figure": [figure.name for lab in LABS.values() for figure in lab.figures], "subset": [SUBSET]}


def address(draw: random.Random, page: type) -> dict[str, str]:
    """Return some parameters of a page, in any order, most of them with a value that they can have."""
    keys = KEYS.get(page) or [*page.ADDRESS.params]
    query = {}
    for key in draw.choices(keys, k=draw.randrange(1, 14)) + draw.choices(PARAMETERS, k=4 if page is UIState else 0):
        names = [*NAMES.get(key, [])]
        query[key] = draw.choice(names) if names and draw.random() < 0.8 else draw.choice(TEXTS)
    return query


def _config(state):
    try:
        return state.config("digits")
    except UserError as refusal:
        return str(refusal)


@pytest.mark.parametrize("page", dict.fromkeys(PAGES.values()), ids=lambda page: page.__name__)
def test_every_address_is_read_back_as_the_state_that_wrote_it(page):
    draw = random.Random(7)
    said = set()
    for _ in range(700):
        query = address(draw, page)
        state = page.from_query(query)
        own = state.to_query()
        again = page.from_query(own | {key: text for key, text in query.items() if is_browser_key(key)})
        assert again.to_query() == own, query
        if page is UIState:
            assert _config(again) == _config(state), query
        said |= own.keys()
    assert said >= {*(KEYS.get(page) or page.ADDRESS.params)} - {*SETTINGS, "pin", "select", "color"}, "each was tried"


def test_the_addresses_in_the_docs_say_what_exists():
    found = 0
    for file in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for page, text in re.findall(rf"\b({'|'.join(PAGES)})/?\?([a-z_.]+=[^\s`\"'<>)\\]+)", file.read_text()):
            query = dict(parse_qsl(text.replace("&amp;", "&").partition("#")[0]))
            state = PAGES[page].from_query(query)
            said = state.messages.all() if hasattr(state, "messages") else getattr(state, "note", "")
            found += 1
            assert not said, f"{file.name}: {text}"
    assert found
