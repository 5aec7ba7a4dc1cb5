"""What `dmlviz.show` puts into a notebook, what Python reads of it, and what jupyter-server-proxy is told."""

import base64
import html
import json
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

from dmlviz import jupyter
from dmlviz.cli.main import main

pytest.importorskip("anywidget")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets import TraitError
from traitlets.config import Config

import dmlviz
from dmlviz import TrainConfig
from dmlviz.errors import UserError
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from tests.waiting import until

CONFIG = TrainConfig(dataset="digits", net="mlp", embedding_dim=8, steps=12, num_snapshots=3, eval_subset_size=50)
LABELS = np.arange(40) % 4


def vectors(seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 6))[LABELS] + 0.3 * rng.normal(size=(40, 6))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished training."""
    run = Runs(tmp_path_factory.mktemp("runs")).create(CONFIG)
    list(train_and_record(run))
    return Runs(run.path.parent).get(run.id)


def kinds(contents):
    return [event["event"] for event in contents["streams"][0]["events"]]


def test_embeddings_are_shown_with_their_neighbors_and_images():
    images = np.zeros((40, 8, 8), np.uint8)
    widget = dmlviz.show(vectors(), [f"class {label}" for label in LABELS], images, height=300)
    contents = widget.contents
    assert (contents["n"], contents["classes"][1], contents["plain"], widget.height) == (40, "class 1", True, 300)
    labels = np.frombuffer(base64.b64decode(contents["labels"]), "<u2")
    np.testing.assert_array_equal(labels, LABELS)
    nearest = np.frombuffer(base64.b64decode(contents["near"]["items"]), "<u2").reshape(-1, 40)[0]
    distances = np.linalg.norm(vectors()[:, None] - vectors(), axis=2) + 1e9 * np.eye(40)
    np.testing.assert_array_equal(nearest, distances.argmin(axis=1))
    assert kinds(contents) == ["started", "replay", "finished", "end"]
    assert contents["sprites"]["tile"] == 8
    assert json.loads(json.dumps(contents)) == contents  # all of it can be saved in a notebook
    bare = dmlviz.show(vectors(1), LABELS).contents
    assert bare["run"] != contents["run"]
    assert (contents["noun"], bare["noun"]) == ("image", "row")


def test_a_table_is_read_as_data_are_that_are_added():
    frame = pd.DataFrame(vectors()).assign(animal=["cat", "dog", None, "cat"] * 10)
    contents = dmlviz.show(frame).contents
    assert (contents["n"], contents["classes"]) == (40, ["cat", "dog", "no label"])


def test_labels_are_optional():
    contents = dmlviz.show(vectors()).contents
    assert (contents["n"], contents["classes"], contents["noun"]) == (40, ["no label"], "row")
    assert contents["near"]["k"] == dmlviz.show(vectors(), LABELS).contents["near"]["k"]


LABEL_KINDS = {  # labels of two points each, and the classes that they are
    "objects": (pd.Series([1, 2, 1], dtype=object), ["1", "2"]),
    "whole floats": (np.array([2.0, 1.0, 2.0]), ["1", "2"]),
    "missing among floats": (np.array([10.0, np.nan, 9.0]), ["9", "10", "no label"]),
    "missing among texts": (pd.Series(["a", np.nan, "b"]), ["a", "b", "no label"]),
    "None in a list": (["a", None, "b"], ["a", "b", "no label"]),
    "nullable": (pd.array([1, None, 2], dtype="Int64"), ["1", "2", "no label"]),
    "nullable texts": (pd.Series(["x", None, "y"], dtype="string"), ["x", "y", "no label"]),
    "a category": (pd.Categorical(["b", None, "a"]), ["a", "b", "no label"]),
    "mixed": ([1, "one", None], ["1", "one", "no label"]),
    "one class": (["a", "a", "a"], ["a"]),
    "all missing": ([None, None, None], ["no label"]),
    "n x 1": (np.array([["a"], ["b"], ["a"]]), ["a", "b"]),
    "bool": ([True, False, True], ["False", "True"]),
    "any index": (pd.Series(["a", "b", "a"], index=[7, 7, 1]), ["a", "b"]),
    "times": (np.array(["2026-01-02", "NaT", "2026-01-01"], "M8[D]"), ["2026-01-01", "2026-01-02", "no label"]),
}


@pytest.mark.parametrize(("labels", "classes"), LABEL_KINDS.values(), ids=LABEL_KINDS.keys())
def test_labels_of_any_kind_are_shown(labels, classes):
    contents = dmlviz.show(vectors()[:3], labels).contents
    assert contents["classes"] == classes
    ids = np.frombuffer(base64.b64decode(contents["labels"]), "<u2").tolist()
    assert sorted({*ids}) == [*range(len(classes))]


def test_named_classes_may_be_missing_for_some():
    contents = dmlviz.show(vectors()[:4], [0.0, None, 1.0, np.nan], classes=["cat", "dog"]).contents
    assert contents["classes"] == ["cat", "dog", "no label"]
    assert np.frombuffer(base64.b64decode(contents["labels"]), "<u2").tolist() == [0, 2, 1, 2]


def test_pinned_and_selected_can_be_read_set_and_observed():
    widget = dmlviz.show(vectors(), LABELS)
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), ["pinned", "selected"])
    widget.pinned = 7
    widget.selected = [5, 3, 3]
    widget.set_state({"pinned": 8, "selected": [1]})  # as the page does
    assert seen == [7, [3, 5], 8, [1]]
    with pytest.raises(TraitError, match=r"one of the 40 images, from 0 to 39; got 40\."):
        widget.pinned = 40
    with pytest.raises(TraitError, match="got -1 to 3"):
        widget.selected = [3, -1]


@pytest.fixture
def cell():
    """What a cell of a notebook displays, as dictionaries with `data`, `transient` and `update`."""
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    with capture_output() as captured:
        yield captured._outputs
    shell.clear_instance()


def kept_in(data):
    """The contents that the page of an output plays."""
    (page,) = re.findall(r'srcdoc="([^"]*)"', data["text/html"])
    assert not re.search(r'(src|href)="', html.unescape(page))  # nothing is fetched
    kept = re.search(r'<script type="application/json" id="kept">(.*?)</script>', html.unescape(page))[1]
    return json.loads(kept)


@pytest.mark.slow
def test_below_the_widget_lies_a_page_that_plays_without_it(run, cell):
    widget = run.show(height=300)
    widget._ipython_display_()
    above, below = (output["data"] for output in cell)
    assert above == {"application/vnd.jupyter.widget-view+json": ANY, "text/plain": "MapWidget(n=596)"}
    assert list(below) == ["text/html"]  # a widget in the same output would win where there is no kernel for it
    assert f'data-widget="{widget.page_id}"' in below["text/html"]
    assert widget.page_id != run.show().page_id
    assert kept_in(below) == widget.contents | {"height": 300}


@pytest.mark.slow
def test_the_page_of_a_training_comes_when_it_is_over(cell, tmp_path):
    widget = dmlviz.show(dmlviz.train(CONFIG.replace(steps=300)), runs=tmp_path)
    was_over = widget.contents["near"] is not None
    widget._ipython_display_()
    assert was_over or cell[1]["data"] == {"text/html": ""}
    assert widget.wait().error is None
    last = cell[-1]
    assert last["transient"] == cell[1]["transient"]  # the same output
    assert kept_in(last["data"])["near"] == widget.contents["near"]


def test_a_finished_run_is_shown_and_drawn(run):
    widget = run.show()
    assert widget.contents["run"] == run.id
    assert "noun" not in widget.contents  # its items are test images
    assert kinds(widget.contents)[-3:] == ["replay", "finished", "end"]
    figure = run.figure("roc", dark=True)
    assert figure.layout.title.text.startswith("ROC")
    assert run.figure("training_curves").data
    with pytest.raises(UserError, match="'rocs'"):
        run.figure("rocs")


def test_a_training_is_shown_while_it_goes_on_and_kept_as_a_run(tmp_path):
    sent = []
    training = dmlviz.train(CONFIG)
    widget = dmlviz.show(training, runs=tmp_path)
    widget.send = lambda message, *rest: sent.append(message)
    assert widget.contents["near"] is None or not widget._thread.is_alive()
    assert len(widget.contents["tracked"]) == 50
    widget.wait()
    assert widget.error is None
    events = [event for message in widget._messages for event in message["events"]]
    names = [event["event"] for event in events]
    assert names[0] == "started"
    assert names[-2:] == ["finished", "end"]
    frames = {id for message in widget._messages for id in message["frames"]}
    assert {event["frame"]["id"] for event in events if event["event"] == "snapshot"} <= frames
    lines = [message["from"] + i for message in widget._messages for i in range(len(message["events"]))]
    assert lines == [*range(len(events))]
    assert widget.contents["near"]["k"] == 10
    assert widget.run.state == "finished"
    sent.clear()
    widget._on_ready(widget, {"event": "ready"}, [])  # a page that comes late
    assert sent == widget._messages
    with pytest.raises(UserError, match="This training has begun"):
        dmlviz.show(training, runs=tmp_path)


@pytest.mark.slow
def test_a_map_follows_a_training_and_a_recording_while_they_go_on(run, tmp_path):
    widget = dmlviz.show(dmlviz.train(CONFIG), projection="pca", runs=tmp_path).wait()
    assert widget.error is None
    config = dmlviz.ProjectionConfig(method="tsne", params={"iterations": 100}, follow=True)
    with dmlviz.record("walk", labels=LABELS, runs=tmp_path / "own", projection=config) as recording:
        recording.snapshot(0, vectors())
        until(lambda: [*tmp_path.glob(f"own/*/projections/{config.id}/events.jsonl")])
        beside = recording.run.show()
        assert (beside.contents["view"], beside.contents["near"]) == (config.id, None)
        assert beside.contents["picture"]["method"] == "tsne"
        recording.snapshot(1, vectors(1))
    assert beside.wait().error is None
    of_word = dmlviz.ProjectionConfig(method="pca", follow=True)
    for shown, steps, drawn in ((widget, run.snapshot_steps, of_word), (beside, [0, 1], config)):
        sent = [message for message in shown._messages if message["pid"] == drawn.id]
        events = [event for message in sent for event in message["events"]]
        assert [event["step"] for event in events if event["event"] == "frame"] == steps
        assert [event["event"] for event in events][-2:] == ["finished", "end"]
        assert (shown.contents["view"], len(shown.contents["streams"])) == (drawn.id, 2)
        assert shown.contents["picture"]["title"] == {"pca": "PCA", "tsne": "t-SNE"}[drawn.method]  # the quality apart
    with pytest.raises(UserError, match="projection is for a run or a training"):
        dmlviz.show(vectors(), projection="tsne")


def test_a_training_stays_an_iterator():
    training = dmlviz.train(CONFIG)
    assert iter(training) is training
    assert type(next(training)).__name__ == "Started"
    with pytest.raises(NotImplementedError):  # IPython then shows the text
        training._ipython_display_()
    training.close()
    assert [*training] == []


def test_what_cannot_be_shown_is_told(tmp_path):
    with pytest.raises(UserError, match=r"n × d numbers, a run, or a training; got an array of shape \(6,\)"):
        dmlviz.show(vectors()[0])
    with pytest.raises(UserError, match="got 2 names and no labels"):
        dmlviz.show(vectors(), classes=["a", "b"])
    with pytest.raises(UserError, match=r"each of the 30 embeddings; got an array of shape \(40,\)"):
        dmlviz.show(vectors()[:30], LABELS)
    with pytest.raises(UserError, match=r"NaN or infinity in 2 of 40 rows, first at index 3"):
        dmlviz.show(np.where(np.isin(np.arange(40), [3, 9])[:, None], np.nan, vectors()))
    with pytest.raises(UserError, match=r"from 0 to 1; got 2: leave"):
        dmlviz.show(vectors(), LABELS, classes=["a", "b"])
    with pytest.raises(UserError, match="has no embeddings of all test images"):
        Runs(tmp_path).create(CONFIG).show()


ROOT = Path(__file__).resolve().parents[2]


def test_the_entry_point_starts_an_app_that_only_jupyter_can_open(capsys):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (value,) = points["jupyter_serverproxy_servers"].values()
    server = EntryPoint("dmlviz", value, "jupyter_serverproxy_servers").load()
    assert server is jupyter.server
    told, again = server(), server()
    token = told["environment"]["DMLVIZ_TOKEN"]
    assert told["request_headers_override"] == {"Authorization": f"Bearer {token}"}
    assert len(token) == 32
    assert token != again["environment"]["DMLVIZ_TOKEN"]
    assert token not in told["command"]  # other people of the machine see the command

    command = [part.format(port=-1, base_url="/user/ann/") for part in told["command"][3:]]
    with pytest.raises(SystemExit):
        main(command)
    assert capsys.readouterr().err.startswith("port: ")  # every option is one that there is
