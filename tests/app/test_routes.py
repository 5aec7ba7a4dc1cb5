"""The routes beside the pages, over HTTP."""

import io
import json
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
from dmlviz_app.answers import routes
from dmlviz_app.forms.view_query import projection_views
from dmlviz_app.people.cookies import COOKIE
from dmlviz_app.runs import routes as run_list
from PIL import Image

from dmlviz import data, metrics
from dmlviz.config import TrainConfig
from dmlviz.data.sprite_sheet import COLUMNS, TILES_PER_SHEET, tile
from dmlviz.export import FORMATS, RunExport
from dmlviz.export import write as write_kept
from dmlviz.runs import neighbor_table, per_query
from dmlviz.runs.embed import embed


def test_health_answers(client):
    assert client.get("/dmlviz/health").json()["ok"] is True


def test_a_frame_is_immutable_bytes(client, run):
    frame = run.events()[1]["frame"]
    answer = client.get(f"/dmlviz/frames/{run.id}/{frame['id']}.i16")
    assert len(answer.content) == frame["n"] * frame["dims"] * 2
    assert answer.content == run.frame(frame["id"])
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "identity"


def test_the_logs_of_several_runs_come_on_one_connection_each_from_where_the_page_stands(client, run):
    whole = client.get(f"/dmlviz/runs/{run.id}/events").text
    lines = [message for message in whole.split("\n\n") if message.startswith("id: ")]
    answer = client.get(f"/dmlviz/events?of={run.id}&after=&of={run.id}&after=2")
    messages = answer.text.split("\n\n")
    for name, expected in (("0", lines), ("1", lines[3:])):
        own = [message.partition("\n")[2] for message in messages if message.startswith(f"event: {name}\n")]
        assert [message for message in own if message.startswith("id: ")] == expected
        assert json.loads(own[-1].removeprefix("data: "))["event"] == "end"
    for refused in ("", "?of=0123456789abcdef", "?" + "&".join([f"of={run.id}"] * 13)):
        assert 400 <= client.get(f"/dmlviz/events{refused}").status_code < 500


@pytest.mark.parametrize(
    "path",
    [
        "runs/0123456789abcdef/events",
        "runs/..%2f..%2fetc/events",
        "runs/nonsense/tracked_items.json",
        "runs/{run}/projections/0123456789abcdef/events",
        "runs/{run}/projections/%2e%2e/events",
        "frames/{run}/0123456789abcdef.i16",
        "frames/{run}/..%2frun.i16",
        "frames/0123456789abcdef/0123456789abcdef.i16",
        "frames/{run}/0123456789abcdef/0123456789abcdef.i16",
        "data/mnist/0123456789abcdef/labels.u16",
        "data/digits/0123456789abcdef/sprite-0.png",
        "data/nonsense/0123456789abcdef/labels.u16",
        "data/digits/{hash}/sprite-1.png",
        "anything/else",
    ],
)
def test_a_missing_resource_is_one_sentence_and_not_cached(client, run, digits, path):
    answer = client.get("/dmlviz/" + path.format(run=run.id, hash=digits.hash))
    assert answer.status_code == 404
    assert len(answer.json()["error"]) > 10
    assert answer.headers["cache-control"] == "no-store"


def test_tiles_and_labels_are_the_test_images_in_order(client, run, digits):
    tracked = client.get(f"/dmlviz/runs/{run.id}/tracked_items.json").json()
    assert tracked == {"tracked": run.tracked_indices.tolist()}
    layout, test = digits.describe(), data.load("digits").test
    assert layout["n"] == len(test)
    labels = client.get(layout["labels_url"])
    assert np.array_equal(np.frombuffer(labels.content, "<u2"), test.labels)
    assert "immutable" in labels.headers["cache-control"]
    sheet = client.get(layout["sprites"]["urls"][0])
    assert "immutable" in sheet.headers["cache-control"]
    picture = np.asarray(Image.open(io.BytesIO(sheet.content)))
    tile, columns = layout["sprites"]["tile"], COLUMNS
    for item in (0, 1, columns - 1, columns, len(test) - 1):
        row, column = divmod(item, columns)
        corner = picture[row * tile : (row + 1) * tile, column * tile : (column + 1) * tile]
        assert np.array_equal(corner, test.images[item]), f"tile {item}"


def test_the_front_end_uses_the_tile_layout_of_the_sheets():
    script = (Path(__file__).parents[2] / "frontend/src/lib/sprites.ts").read_text().replace("_", "")
    assert f"const COLUMNS = {COLUMNS};" in script
    assert f"const PERSHEET = {TILES_PER_SHEET};" in script


def test_a_sprite_sheet_of_color_images_keeps_its_colors():
    images = np.random.default_rng(0).integers(0, 256, (COLUMNS + 3, 4, 4, 3), dtype=np.uint8)
    sheet = tile(images)
    assert sheet.shape == (8, COLUMNS * 4, 3)
    assert np.array_equal(sheet[4:8, 8:12], images[COLUMNS + 2])


def test_the_nearest_neighbor_of_an_image_is_another_image(client, run):
    content = client.get(f"/dmlviz/runs/{run.id}/nearest.bin").content
    n = len(run.labels)
    items, distances = np.frombuffer(content, "<i4", n), np.frombuffer(content, "<f4", n, 4 * n)
    embeddings = np.asarray(run.embeddings, np.float64)
    apart = np.linalg.norm(embeddings[:, None] - embeddings[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (items != np.arange(n)).all()
    assert np.allclose(distances, apart.min(axis=1), atol=1e-4)
    assert np.allclose(apart[np.arange(n), items], apart.min(axis=1), atol=1e-4)


@pytest.mark.slow
def test_neighbors_by_an_index_are_asked_for_again_until_they_are_there(client, run, monkeypatch):
    exact = client.get(f"/dmlviz/runs/{run.id}/nearest.bin").content
    monkeypatch.setattr(neighbor_table, "MAX_EXACT", 100)
    answer = client.get(f"/dmlviz/runs/{run.id}/nearest.bin")
    assert answer.status_code == 202
    work = client.get(f"/dmlviz/work/{answer.json()['work']}", params={"wait": "1"}).json()
    assert (work["kind"], work["phase"], work["live"]) == ("neighbors", "finished", False)
    content, n = client.get(f"/dmlviz/runs/{run.id}/nearest.bin").content, len(run.labels)
    recall, measured = np.frombuffer(content[8 * n :], "<f4")
    assert recall > 0.95
    assert 0 < measured <= 1000
    same = np.frombuffer(content, "<i4", n) == np.frombuffer(exact, "<i4", n)
    assert same.mean() > 0.9
    values = client.get(f"/dmlviz/runs/{run.id}/values/live/faithfulness.f32").content
    assert len(values) == 4 * n + 8
    (run.path / neighbor_table.FILE).unlink()


@pytest.mark.slow
def test_a_map_is_begun_at_a_click_as_the_page_would_show_it_or_left_to_the_page(client, run):
    def ask(asked, **query):
        return client.post(f"/dmlviz/runs/{run.id}/map", json={"view": asked, "query": query})

    for view in ("live", *projection_views()):
        shown = ask(view, view="umap", **{"view.neighbors": "8"}).json()
        assert shown["run"] == run.id
        if view == "live":
            assert shown["view"] == "live"
        else:
            config = run.projection(shown["view"]).config
            assert config.method == view == shown["picture"]["method"]
            assert view != "umap" or config.params["neighbors"] == 8  # as the address says
            assert shown["events_url"] == f"dmlviz/runs/{run.id}/projections/{shown['view']}/events"
    assert ask("nonsense").json() is None
    assert ask("pca", beside="1", view="tsne").json()["picture"]["method"] == "pca"
    assert ask("umap", beside="1", view="tsne").json() is None  # two maps are the page's
    assert client.post("/dmlviz/runs/0123456789abcdef/map", json={"view": "pca", "query": {}}).status_code == 404


def test_the_example_is_an_image_of_the_map_and_waits_for_the_end(client, here, run, write):
    item = client.get(f"/dmlviz/runs/{run.id}/example.json").json()["item"]
    assert item in run.tracked_indices
    running = write(here.runs, run.config.replace(seed=77), upto=4)
    assert client.get(f"/dmlviz/runs/{running.id}/example.json").json() == {"item": None}


def test_a_running_run_has_no_nearest_neighbors_yet(client, here, write):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=3)
    answer = client.get(f"/dmlviz/runs/{run.id}/nearest.bin")
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get("/dmlviz/runs/0123456789abcdef/nearest.bin").status_code == 404


@pytest.mark.parametrize("measure", ["faithfulness", "center"])
def test_point_values_cover_every_image(client, run, measure):
    answer = client.get(f"/dmlviz/runs/{run.id}/values/live/{measure}.f32")
    numbers = np.frombuffer(answer.content, "<f4")
    assert len(numbers) == len(run.labels)
    assert np.isfinite(numbers).all()
    assert client.get(f"/dmlviz/runs/{run.id}/values/live/nonsense.f32").status_code == 404
    assert client.get(f"/dmlviz/runs/{run.id}/values/0123456789abcdef/{measure}.f32").status_code == 404


def test_every_projection_has_a_caution(client):
    told = client.get("/dmlviz/methods.json").json()
    engines = {"scikit-learn", "umap-learn", "torchdr-tsne", "torchdr-umap"}
    assert {"plane", "fan", "pca", "tsne", "umap", "pacmap", "localmap", *engines} == set(told)
    assert all(len(method["caution"]) > 40 for method in told.values())


COLUMNS_JUDGED = ("item", "label", "nearest", "first_hit", "vote")


def judged(content):
    """The columns of what was judged, whole numbers first."""
    n = len(content) // (4 * 7)
    whole = {name: np.frombuffer(content, "<i4", n, 4 * n * c) for c, name in enumerate(COLUMNS_JUDGED)}
    parts = ("r_precision", "average_precision")
    return whole | {name: np.frombuffer(content, "<f4", n, 4 * n * c) for c, name in enumerate(parts, len(whole))}


def test_per_query_scores_average_to_the_scores_of_the_run(client, run):
    all_of = judged(client.get(f"/dmlviz/runs/{run.id}/per_query.bin").content)
    scores = metrics.evaluate(run.embeddings, run.labels, clustering=False, verification=False)
    assert np.array_equal(all_of["item"], np.arange(len(run.labels)))
    assert np.array_equal(all_of["label"], run.labels)
    assert np.mean(all_of["first_hit"] == 1) == pytest.approx(scores["precision_at_1"])
    assert np.mean(all_of["first_hit"] <= 5) == pytest.approx(scores["recall_at_5"])
    assert np.mean(all_of["vote"] == run.labels) == pytest.approx(scores["knn_accuracy"])
    assert np.mean(all_of["average_precision"]) == pytest.approx(scores["map_at_r"], abs=1e-6)
    assert np.mean(all_of["r_precision"]) == pytest.approx(scores["r_precision"], abs=1e-6)
    wrong = run.labels[all_of["nearest"]] != run.labels
    assert np.array_equal(wrong, all_of["first_hit"] > 1)


@pytest.mark.slow
@pytest.mark.parametrize("step", [None, 20])
def test_the_scores_of_each_of_many_images_are_the_work_of_a_worker(client, run, monkeypatch, step):
    query = {} if step is None else {"step": run.snapshot_steps[-1]}
    address = f"/dmlviz/runs/{run.id}/per_query.bin"
    at_hand = client.get(address, params=query).content
    monkeypatch.setattr(per_query, "FEW", 10)
    monkeypatch.setattr(routes, "per_query_bytes", lambda *_: pytest.fail("computed in the server"))
    near = judged(client.get(address, params=query | {"near": 1}).content)
    assert np.array_equal(near["nearest"], judged(at_hand)["nearest"])
    assert client.get(address, params=query).content == at_hand
    assert not per_query.is_at_hand(run, 20)
    assert per_query.is_at_hand(run, None) == (step is None), "kept in the folder of the run"


def test_per_query_scores_at_a_step_cover_the_tracked_images(client, run):
    step = run.snapshot_steps[1]
    there = judged(client.get(f"/dmlviz/runs/{run.id}/per_query.bin", params={"step": step}).content)
    assert np.array_equal(there["item"], run.tracked_indices)
    scores = metrics.evaluate(run.snapshot(step), run.labels[run.tracked_indices], clustering=False, verification=False)
    assert np.mean(there["first_hit"] == 1) == pytest.approx(scores["precision_at_1"])
    assert np.isin(there["nearest"], run.tracked_indices).all()


@pytest.mark.parametrize("step", ["7", "-1", "x", "1e3", "../1"])
def test_a_step_without_a_snapshot_is_one_sentence(client, run, step):
    answer = client.get(f"/dmlviz/runs/{run.id}/per_query.bin", params={"step": step})
    assert answer.status_code == 404
    assert "step" in answer.json()["error"]


@pytest.mark.slow
def test_the_pixel_baseline_is_computed_once_on_the_tracked_images(client, here, run, digits, monkeypatch):
    scores = client.get(f"/dmlviz/runs/{run.id}/baseline.json").json()
    images, labels = (
        digits.images[run.tracked_indices].reshape(len(run.tracked_indices), -1),
        run.labels[run.tracked_indices],
    )
    expected = metrics.evaluate(images.astype(float), labels, clustering=False, verification=False)
    for name in ("precision_at_1", "recall_at_5", "map_at_r", "r_precision", "knn_accuracy"):
        assert scores[name] == pytest.approx(expected[name], abs=1e-6)
    monkeypatch.setattr(here.answers, "order", lambda *_, **__: pytest.fail("measured twice"))
    assert client.get(f"/dmlviz/runs/{run.id}/baseline.json").json() == scores


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_neighbors_of_an_image_are_those_of_the_run_with_the_names_of_their_classes(client, run, metric):
    answer = client.get(f"/dmlviz/runs/{run.id}/neighbors/5.json", params={"metric": metric})
    expected = run.neighbors(5, 10, metric=metric)
    found = answer.json()
    assert answer.headers["cache-control"] == "no-store"
    assert [(item, label) for item, label, _ in found["near"]] == [(near.item, near.label) for near in expected]
    assert [far for _, _, far in found["near"]] == pytest.approx([near.distance for near in expected], abs=1e-4)
    assert (found["item"], found["label"]) == (5, run.labels[5])
    assert set(found["classes"]) == {str(label) for label in (run.labels[5], *(near.label for near in expected))}
    assert len(answer.content) < 600


def test_a_running_run_has_the_neighbors_at_its_last_snapshot(client, here, write):
    run = write(here.runs, TrainConfig(dataset="digits", seed=9), upto=3)
    item = int(run.tracked_indices[0])
    found = client.get(f"/dmlviz/runs/{run.id}/neighbors/{item}.json").json()
    assert [other for other, _, _ in found["near"]] == [near.item for near in run.neighbors(item, 10)]
    assert "not among" in client.get(f"/dmlviz/runs/{run.id}/neighbors/99999.json").json()["error"]


def test_a_neighbor_history_holds_the_nearest_tracked_images_at_every_snapshot(client, run):
    item = int(run.tracked_indices[11])
    history = client.get(f"/dmlviz/runs/{run.id}/neighbor-history/{item}.json").json()
    assert history["steps"] == [*run.snapshot_steps[:-1], run.config.steps]
    assert history["among"] == len(run.tracked_indices)
    assert history["nets"] is False
    for step, near in list(zip(history["steps"], history["near"], strict=True))[:-1]:
        expected = [(neighbor.item, neighbor.distance) for neighbor in run.neighbors(item, 10, step)]
        assert [other for other, _ in near] == [other for other, _ in expected]
        assert [far for _, far in near] == pytest.approx([far for _, far in expected], rel=1e-3)
    assert all(history["labels"][str(other)] == run.labels[other] for near in history["near"] for other, _ in near)
    by_cosine = client.get(f"/dmlviz/runs/{run.id}/neighbor-history/{item}.json", params={"metric": "cosine"}).json()
    expected = [[neighbor.item, float(f"{neighbor.distance:.4g}")] for neighbor in run.neighbors(item, 10, 5, "cosine")]
    assert by_cosine["near"][1] == expected


def test_a_neighbor_history_of_an_untracked_image_is_refused(client, run):
    item = next(i for i in range(len(run.labels)) if i not in set(run.tracked_indices.tolist()))
    answer = client.get(f"/dmlviz/runs/{run.id}/neighbor-history/{item}.json")
    assert answer.status_code == 404
    assert "tracked" in answer.json()["error"]


def test_two_images_are_compared_by_pixels_and_by_the_net(client, run, digits):
    first, second = 3, int(np.flatnonzero(run.labels == run.labels[3])[1])
    answer = client.get(f"/dmlviz/runs/{run.id}/pair/{first}/{second}.json").json()
    pixels, embedding = answer["spaces"]
    assert (answer["same"], pixels["name"], embedding["name"]) == (True, "raw pixels", "embedding")
    flat = digits.images.reshape(len(digits), -1) / 255
    assert pixels["distance"] == pytest.approx(np.linalg.norm(flat[first] - flat[second]), abs=1e-4)
    between = np.linalg.norm(run.embeddings[first] - run.embeddings[second])
    assert embedding["distance"] == pytest.approx(between, abs=1e-4)
    for space in answer["spaces"]:
        assert space["says_same"] == (space["distance"] < space["threshold"])
    assert answer["pairs"] == 5_000
    assert 0.5 < pixels["accuracy"] < embedding["accuracy"] <= 1  # the run tells the classes apart
    other = int(np.flatnonzero(run.labels != run.labels[first])[0])
    apart = client.get(f"/dmlviz/runs/{run.id}/pair/{first}/{other}.json").json()
    assert (apart["same"], apart["spaces"][1]["says_same"]) == (False, False)
    squares = (run.embeddings[first] - run.embeddings[second]).astype(float) ** 2
    for dimension, share in answer["dimensions"]:
        assert share == pytest.approx(squares[dimension] / squares.sum())
    distances = np.linalg.norm(run.embeddings - run.embeddings[second], axis=1)
    distances[run.labels == run.labels[second]] = np.inf
    assert answer["other"] == distances.argmin()


def test_the_parts_that_hold_two_images_together_are_sent_as_bytes_in_one_scale(client, here, run, monkeypatch):
    maps = np.zeros((2, 8, 8))
    maps[0, 1, 2], maps[1, 3, 4] = 0.5, -0.25
    monkeypatch.setattr(here.scheduler.inference_worker, "call", lambda question, *_: {"maps": maps.tolist()})
    answer = client.get(f"/dmlviz/runs/{run.id}/occlusion/3/4.json").json()
    first, second = (np.frombuffer(b64decode(one), np.int8).reshape(8, 8) for one in answer["maps"])
    assert (answer["side"], first[1, 2], second[3, 4]) == (8, 127, -64)
    assert (first != 0).sum() == (second != 0).sum() == 1
    assert "numbered" in client.get(f"/dmlviz/runs/{run.id}/occlusion/3/99999.json").json()["error"]


def test_two_images_of_which_one_does_not_exist_are_not_compared(client, run):
    answer = client.get(f"/dmlviz/runs/{run.id}/pair/3/99999.json")
    assert answer.status_code == 404
    assert "numbered 0 to 595; got 3 and 99,999" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "neighbors/99999.json",
        "neighbors/3.json?metric=manhattan",
        "neighbor-history/99999.json",
        "neighbor-history/3.json?metric=manhattan",
    ],
)
def test_a_neighbor_history_of_an_unknown_image_or_metric_is_refused(client, run, path):
    assert len(client.get(f"/dmlviz/runs/{run.id}/{path}").json()["error"]) > 20


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": "http://localhost"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, False),
    ],
)
def test_requests_from_other_sites_are_refused(client, run, headers, allowed):
    for path in ("health", f"runs/{run.id}/tracked_items.json", f"runs/{run.id}/events"):
        assert client.get(f"/dmlviz/{path}", headers=headers).status_code == (200 if allowed else 403)


def test_only_get_requests_are_answered(client, run):
    for method in (client.post, client.put, client.delete):
        assert method(f"/dmlviz/runs/{run.id}/events").status_code == 405


def test_api_answers_set_no_cookie(client):
    assert COOKIE not in client.get("/dmlviz/health").cookies


@pytest.mark.parametrize(
    "name", [name for name, format in FORMATS.items() if not format.needs_net and name not in ("film", "pdf", "png")]
)
def test_an_export_has_a_file_name(client, here, run, name, until):
    answer = client.get(f"/dmlviz/runs/{run.id}/export/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{RunExport(run).file_name(name)}"'
    assert answer.headers["content-type"].startswith(FORMATS[name].media_type)
    file = io.BytesIO()
    write_kept(name, RunExport.from_run(run, data_root=here.data), file)
    assert len(answer.content) == len(file.getvalue())
    assert answer.content == file.getvalue() or name in ("projector", "figures"), "only a zip tells the time"
    left = here.answers.folder
    until(lambda: not [*left.glob("*/")], what="what was made for the download is left behind")  # a moment later


@pytest.mark.slow
def test_an_onnx_file_is_written_by_a_process_of_its_own_and_gives_the_embeddings_of_torch(client, here):
    answer = client.get("/dmlviz/runs/476b1d8df4e46879/export/onnx")  # comes with the program
    assert answer.status_code == 200, answer.text
    assert b"embeddings" in answer.content
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(answer.content)
    run = here.runs.get("476b1d8df4e46879")
    for count in (1, 7):
        images = np.random.default_rng(count).integers(0, 256, (count, 8, 8), dtype=np.uint8)
        (embeddings,) = session.run(None, {"images": images[:, None]})
        np.testing.assert_allclose(embeddings, embed(run, images), atol=1e-5)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("runs/{run}/export/exe", "no format called 'exe'"),
        ("runs/{run}/export/csv?view=../..", "has no projection"),
        ("runs/{run}/export/csv?view=0123456789abcdef", "has no projection"),
        ("runs/0123456789abcdef/export/csv", "no run"),
        ("runs/..%2F..%2Fetc/export/csv", "nothing at"),
    ],
)
def test_an_impossible_export_is_one_sentence(client, run, path, reason):
    answer = client.get("/dmlviz/" + path.format(run=run.id))
    assert answer.status_code == 404
    assert reason in answer.json()["error"]


def test_a_running_run_cannot_be_exported(client, here, write):
    begun = write(here.runs, upto=8)
    assert "has no embeddings of all test images" in client.get(f"/dmlviz/runs/{begun.id}/export/html").json()["error"]


@pytest.mark.slow
def test_a_run_round_trips_through_a_zip(client, here, run):
    sent = client.get(f"/dmlviz/runs/{run.id}/run.zip")
    assert sent.headers["content-type"] == "application/zip"
    answer = client.post("/dmlviz/runs/import", content=sent.content)
    assert answer.status_code == 404
    assert "already imported" in answer.json()["error"]
    here.runs.delete(run.id)
    assert client.post("/dmlviz/runs/import", content=sent.content).json() == {"run": run.id, "title": run.title}
    np.testing.assert_array_equal(here.runs.get(run.id).embeddings, run.embeddings)


def test_an_upload_that_is_too_large_is_refused_while_it_arrives(client, here, monkeypatch):
    monkeypatch.setattr(run_list, "MAX_UPLOAD", 1000)
    assert "at most" in client.post("/dmlviz/runs/import", content=bytes(2000)).json()["error"]


def test_other_sites_may_not_upload_runs(client):
    answer = client.post("/dmlviz/runs/import", content=b"", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_thumbnail_has_its_size(client, run, theme):
    answer = client.get(f"/dmlviz/runs/{run.id}/thumbnail-{theme}.png")
    assert Image.open(io.BytesIO(answer.content)).size == (480, 300)
    assert client.get(f"/dmlviz/runs/{run.id}/thumbnail-pink.png").status_code == 404
