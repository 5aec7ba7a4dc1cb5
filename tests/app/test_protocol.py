"""Server and page exchange what the folders' protocol.py declare; the page's types are made from it."""

import json
from pathlib import Path

import pytest
from dmlviz_app.answers.protocol import ItemNeighbors, NeighborHistory
from dmlviz_app.batch_explorer.protocol import BatchAnswer, DistancesAnswer
from dmlviz_app.feature import props
from dmlviz_app.widgets import components
from dmlviz_app.widgets.protocol import MethodInfo
from pydantic import TypeAdapter, ValidationError

from dmlviz.runs.store import Runs, bundled_runs
from dmlviz.storage.run_schema.events import RunEvent

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("change", [{"hints": "two"}, {"hint": 3}, {"hint": None}])
def test_undeclared_props_are_rejected(change):
    with pytest.raises(ValidationError):
        components.mount("query_pad", key="query_pad", data={"hint": "Draw here"} | change)


def test_every_component_that_streamlit_knows_has_props():
    built = {path.name.rpartition("-")[0] for path in (ROOT / "dmlviz" / "_frontend").glob("*-*.js")}
    assert built - {"page", "tour", "layout_worker"} == set(props())


def test_events_match_the_protocol(run):
    event = TypeAdapter(RunEvent)
    records = [run, *Runs(bundled_runs()).list()]
    records += [projection for known in records for projection in known.projections()]
    kinds = set()
    for record in records:
        for said in record.events():
            event.validate_json(json.dumps(said))
            kinds.add(said["event"])
    assert {"started", "step", "snapshot", "batch", "replay", "finished"} <= kinds


def test_answers_about_batches_distances_and_methods_match_the_protocol(client, run):
    ready = Runs(bundled_runs()).list()
    trained = next(known for known in ready if known.recorded_batch_steps)
    step = trained.recorded_batch_steps[0]
    wanted = {
        f"/dmlviz/runs/{trained.id}/batches/{step}.json": BatchAnswer,
        f"/dmlviz/runs/{run.id}/distances/{run.snapshot_steps[0]}.json": DistancesAnswer,
        f"/dmlviz/runs/{run.id}/neighbors/3.json": ItemNeighbors,
        f"/dmlviz/runs/{run.id}/neighbor-history/{run.tracked_indices[0]}.json": NeighborHistory,
        "/dmlviz/methods.json": dict[str, MethodInfo],
    }
    for address, declared in wanted.items():
        answer = client.get(address)
        assert answer.status_code == 200, (address, answer.text)
        TypeAdapter(declared).validate_json(answer.text)
