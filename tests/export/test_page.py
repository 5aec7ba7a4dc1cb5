"""The exported page: what is in it. tests/browser shows that it plays."""

import io
import json
import re
import zlib
from base64 import b64decode

import numpy as np
import pytest

from dmlviz.catalog.projections import layout_settings
from dmlviz.config import ProjectionConfig
from dmlviz.config.projection import pack_items
from dmlviz.export import RunExport, page_contents, write
from dmlviz.export.query_net import query_net
from dmlviz.runs.frames import Box, dequantize
from dmlviz.runs.projection_run import run_projection
from dmlviz.runs.store import Runs
from dmlviz.runs.thresholds import Threshold, forget_threshold, keep_threshold
from dmlviz.storage.run_schema.events import frames_of


def html_of(kept):
    file = io.BytesIO()
    write("html", kept, file)
    return file.getvalue().decode()


def kept_in(text):
    return json.loads(re.search(r'<script type="application/json" id="kept">(.*?)</script>', text, re.S)[1])


@pytest.fixture(scope="module")
def text(kept):
    return html_of(kept)


def test_the_page_makes_no_requests(text):
    script = re.search(r'<script type="module">(.*?)</script>', text, re.S)[1]
    markup = text.split('id="kept"')[0]
    addresses = re.findall(r"""(?:src|href|url\()\s*=?\s*["']?([^"')\s>]+)""", markup)
    assert [address for address in addresses if not address.startswith("data:")] == []
    assert set(re.findall(r"https?://[\w./]+", script)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xhtml",
    }
    assert not re.search(r"\b(?:import|export)\b[^;]{0,200}\bfrom\b|\bimport\s*\(|import\.meta", script), (
        "it needs no other module"
    )
    assert "<!--" not in script
    assert text.rstrip().endswith("</script>\n</body>\n</html>")


def test_a_title_cannot_become_markup(text, kept):
    assert "<b>" in kept.run.title
    assert "<b>" not in text
    assert "Größe &lt;b&gt;&amp; Co&lt;/b&gt;" in text


def test_the_last_frame_is_where_the_points_are(text, kept):
    (stream,) = kept_in(text)["streams"]
    (replay,) = [event for event in stream["events"] if event["event"] == "replay"]
    last = replay["frames"][-1]
    places = dequantize(b64decode(stream["frames"][last["id"]]), 2, Box(tuple(last["center"]), last["scale"]))
    np.testing.assert_allclose(places, kept.coordinates, atol=last["scale"] / 32767)
    assert len(replay["frames"]) == 5
    shown = [event["frame"] for event in stream["events"] if event["event"] == "snapshot"] + replay["frames"]
    assert set(stream["frames"]) == {frame["id"] for frame in shown}, "those to refit are there too"


def test_neighbors_and_distances_round_trip(text, kept):
    near = kept_in(text)["near"]
    items = np.frombuffer(b64decode(near["items"]), near["wide"]).reshape(near["k"], -1).T
    distances = np.frombuffer(b64decode(near["distances"]), "<u2").reshape(near["k"], -1).T * near["unit"]
    assert np.array_equal(items, kept.neighbors[1])
    np.testing.assert_allclose(distances, kept.neighbors[0], atol=near["unit"])


def test_embeddings_of_a_selection_to_draw_are_those_of_the_run(text, kept):
    contents = kept_in(text)
    data = zlib.decompress(b64decode(contents["files"]["rows.bin"]))
    rows, (unit, ball) = (
        np.frombuffer(data, "<i2", offset=8).reshape(kept.embeddings.shape),
        np.frombuffer(data, "<f4", 2),
    )
    np.testing.assert_allclose(rows * unit, kept.embeddings, atol=0.51 * unit)
    assert ball == 0
    assert contents["layouts"] == {name: layout_settings(name) for name in ("tsne", "umap")}


def test_a_drawing_is_compared_with_the_whole_run_whatever_its_map_shows(run, kept, follow):
    copy = follow(None).run
    runs, few = Runs(copy.path.parent), pack_items(np.arange(3, 40))
    for change in ({"prefix": 2}, {"subset": few}, {"step": run.snapshot_steps[1]}):
        projection = runs.create_projection(copy, ProjectionConfig(method="pca", **change))
        run_projection(projection.path)
        net = query_net(RunExport(copy, projection))
        assert net.description["dims"] == 6
        np.testing.assert_allclose(net.embeddings * net.description["unit"], kept.embeddings, atol=1e-3)


def test_the_page_says_that_it_lacks_what_was_kept_with_the_run(kept, text):
    assert "Not on this page" not in text
    keep_threshold(kept.run, Threshold(0.1, (0.1, 0.1), 100, 0.01, 0.01, "images", 0.01))
    try:
        assert "Not on this page: the kept threshold of the run." in html_of(kept)
    finally:
        forget_threshold(kept.run)


def test_the_page_shows_settings_and_scores(text):
    settings = ("Triplet (margin 0.3)", "MLP, 6-d, free", "12 steps of 20 images, seed 3")
    for words in (*settings, "The points are all 596 test images"):
        assert words in text


def test_an_exported_projection_has_its_own_frames(kept_projection):
    told = kept_in(html_of(kept_projection))
    assert told["view"] == kept_projection.projection.id
    run, projection = told["streams"]
    assert (run["pid"], projection["pid"]) == (None, kept_projection.projection.id)
    end = next(event for event in projection["events"] if event["event"] == "finished")
    assert end["frame"]["id"] in projection["frames"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_a_map_that_followed_is_replayed_with_a_layout_of_each_snapshot(method, run, follow):
    stream = kept_in(html_of(follow(method)))["streams"][1]
    steps = [event["step"] for event in stream["events"] if event["event"] == "frame"]
    assert steps == run.snapshot_steps
    shown = [frame for event in stream["events"] if event["event"] in ("frame", "replay") for frame in frames_of(event)]
    assert {frame["id"] for frame in shown} <= set(stream["frames"])


def test_too_many_frames_are_thinned_with_a_note(kept, monkeypatch):
    monkeypatch.setattr(page_contents, "MAX_FRAME_BYTES", 2 * 2 * 2 * (596 + 200 + 200))
    text = html_of(kept)
    (stream,) = kept_in(text)["streams"]
    (replay,) = [event for event in stream["events"] if event["event"] == "replay"]
    steps = [frame["step"] for frame in replay["frames"]]
    assert (len(steps), steps[0], steps[-1]) == (3, 0, 12)
    assert [event["step"] for event in stream["events"] if event["event"] == "snapshot"] == steps[:2]
    assert "2 intermediate frames are left out" in text
