"""Every choice of every menu of the form, opened once by its address: no complaint, a map, and Train can be pressed."""

import pytest

from dmlviz.catalog.datasets import DATASETS, SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import nets_for
from dmlviz.catalog.recipes import RECIPES
from tests.app import pages

DATA = [name for name in DATASETS.builtin if DATASETS[name].trainable]


def loss_for(kind: str) -> str:
    """Return the first loss that compares tuples of a kind, or any loss."""
    return next(name for name, loss in LOSSES.items() if not kind or kind in loss.tuple_kinds)


CHOICES = {
    "dataset": [{"dataset": name} for name in DATA],
    "loss": [{"loss": name} for name in LOSSES],
    "miner": [{"miner": name, "loss": loss_for(MINERS[name].tuple_kind)} for name in MINERS],
    "sampler": [{"sampler": name, "loss": loss_for(SAMPLERS[name].tuple_kind)} for name in SAMPLERS],
    "net": [{"net": net, "dataset": data} for data in DATA for net in nets_for(DATASETS[data])],
    "normalize": [{"normalize": on, "loss": "contrastive"} for on in ("0", "1")],
    "from": [{"from": name} for name in RECIPES],
}

CHOSEN = {"0": "False", "1": "True"}


@pytest.mark.parametrize("menu", CHOICES)
def test_every_choice_can_be_opened(here, run, menu):
    page, faults = pages.open_page(), {}
    for query in CHOICES[menu]:
        page.query_params.clear()
        page.query_params.update(query | {"run": run.id, "more": "1"})
        pages.run(page)
        chosen = "start" if menu == "from" else f"set.{menu}"
        said = [caption.value for caption in page.caption if ":orange[" in caption.value]
        said += [] if "workbench" in {element.key for element in page.get("bidi_component")} else ["no map"]
        said += ["Train is disabled"] if page.button(key="train").disabled else []
        said += [] if str(page.session_state[chosen]) == CHOSEN.get(query[menu], query[menu]) else ["not chosen"]
        faults |= {f"{query}": said} if said else {}
    assert not faults, "\n".join(f"{query}: {said}" for query, said in faults.items())
