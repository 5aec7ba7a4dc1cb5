"""The page Labs: its address, whose study is shown, the picture on which one clicks, the linked maps."""

import base64
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from dmlviz_app.labs import own_gallery
from dmlviz_app.labs import state as labs
from dmlviz_app.labs.files import has_planes, lab_planes, plane_sheet
from dmlviz_app.labs.pair_game import KEPT, SHOWN, PairGame, threshold_props
from dmlviz_app.labs.picture import has_picture, lab_picture, named_study
from dmlviz_app.labs.protocol import LabPicture, LabPlanes
from dmlviz_app.labs.state import LabsState, first_figure, view_lab
from PIL import Image
from pydantic import TypeAdapter

from dmlviz.data import load, sprite_sheet, stratified_subset
from dmlviz.data.made.patches import PATCH, PLACES, make_scene_pair
from dmlviz.data.made.pixels import affine_matrices, sample
from dmlviz.data.made.town import TILES, build_town
from dmlviz.errors import UserError
from dmlviz.labs.drawing import draw
from dmlviz.labs.few_shot import EMBEDDED
from dmlviz.labs.kept_arrays import both_parts, some_test_images
from dmlviz.labs.lab import FigureRow
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.margins import MARGINS, SEEN_CLASSES
from dmlviz.labs.printed import printed
from dmlviz.labs.reality_check.claims import claim
from dmlviz.labs.reality_check.plan import CONTRASTIVE
from dmlviz.labs.registry import LABS
from dmlviz.labs.reid import size_rows
from dmlviz.labs.statistics import t_interval
from dmlviz.metrics.few_shot import episode_accuracies
from dmlviz.storage.arrays import read_arrays
from dmlviz.studies.study import Study, create_study, study_id
from dmlviz.studies.trial import TrialResult
from tests.app.pages import open_page, run, without_terms


@pytest.mark.parametrize(
    "query",
    [
        {"lab": "nothing"},
        {"lab": "margins", "size": "huge", "data": "cifar", "results": "mine", "guess": "99", "figure": "none"},
        {"lab": "margins", "guess": "-7"},
        {"guess": "1"},
    ],
)
def test_a_wrong_address_is_the_nearest_right_one(query):
    lab = query["lab"] if query.get("lab") in LABS else ""
    assert LabsState.from_query(query) == LabsState(lab)


def test_own_results_come_before_ready_made_ones_unless_these_are_asked_for(here):
    ui = LabsState("margins")
    view = view_lab(ui, here)
    assert view.dataset == "digits"  # of the lab's data sets the first that is here
    assert view.own is None
    assert view.is_ready_made
    study = here.study_runner.folder / study_id("margins", "quick", "digits")
    create_study(study, "margins", "quick", "digits", owner="ada")
    assert view_lab(ui, here).study.path == study
    ui.source = labs.READY_MADE
    assert view_lab(ui, here).is_ready_made


def test_figure_numbers_and_script_can_be_kept(client):
    answer = client.get("/dmlviz/labs/margins/mnist/ready-made/numbers.csv")
    header, *rows = answer.text.splitlines()
    assert header == "figure,series,x,y,low,high,n"
    assert len(rows) > 5
    assert answer.headers["content-disposition"].startswith('attachment; filename="margins-')
    figure = client.get("/dmlviz/labs/margins/mnist/ready-made/figure.html", params={"dark": "1"})
    assert LABS["margins"].figures[0].title in figure.text
    script = client.get("/dmlviz/labs/margins/mnist/quick/script.py")
    compile(script.text, "script.py", "exec")
    page = client.get("/dmlviz/labs/printed-and-measured.html")
    assert page.headers["content-type"].startswith("text/html")
    assert page.text.count("<tr><td>") == len(printed())
    assert "quick" not in page.text.partition("<h2")[0]  # there was no run


@pytest.mark.parametrize(
    "address", ["margins/mnist/own/numbers.csv", "margins/cifar/quick/script.py", "margins/mnist/huge/script.py"]
)
def test_a_study_that_cannot_be_is_refused_in_a_sentence(client, address):
    answer = client.get(f"/dmlviz/labs/{address}")
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("A study of margins is ")


def test_the_figure_that_has_something_to_show_is_shown_first():
    lab = LABS["reality-check"]
    rows = {name: FigureRow(figure=name, series="", x=0, y=0) for name in ("search", "level")}
    assert first_figure(lab, []) == "level"
    assert first_figure(lab, [rows["search"]]) == "search"
    assert first_figure(lab, [rows["search"], rows["level"]]) == "level"


def test_a_lab_data_set_or_figure_in_the_address_that_does_not_exist_is_said_with_a_similar_one():
    for query, near in (
        ({"lab": "verifications"}, "'verification'"),
        ({"lab": "verification", "data": "identitys"}, "'identities'"),
        ({"lab": "verification", "figure": "rocs"}, "'roc'"),
    ):
        assert near in " ".join(LabsState.from_query(query).messages.all().values()).partition("did you mean ")[2]
    assert LabsState.from_query({"lab": "verification"}).messages.all() == LabsState.from_query({}).messages.all() == {}


def study_of(lab: str, folder: Path, kept: dict[str, np.ndarray]) -> Study:
    """A study of digits with one trial, which kept these arrays."""
    study = create_study(folder, lab, "quick", "digits")
    trial = LABS[lab].plan("quick", "digits", [])[0]
    if kept:
        study.trial_folder(trial.name).mkdir(parents=True)
        np.savez(study.trial_folder(trial.name) / "playground.npz", **kept)
    study.append(TrialResult(trial=trial, values={}))
    return study


def test_the_town_is_shown_with_its_embeddings(tmp_path: Path) -> None:
    embeddings = np.random.default_rng(0).integers(-127, 128, (TILES**2, 4), np.int8)
    study = study_of("terrapattern", tmp_path / "study", {"embeddings": embeddings})
    assert has_picture(study)
    picture = TypeAdapter(LabPicture).validate_python(lab_picture(study, tmp_path))
    town = build_town(load("digits", tmp_path))
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture["left"].partition(",")[2]))))
    assert image.shape == (picture["side"], picture["side"])
    assert np.array_equal(image[28:56, 56:84], town.tiles[TILES + 2])  # second row, third column
    assert picture["kinds"] == town.labels.tolist()
    (method,) = picture["methods"]
    assert base64.b64decode(str(method["embeddings"])) == embeddings.tobytes()
    assert method["dimensions"] == 4


def test_the_second_view_of_a_scene_shows_a_place_where_the_truth_says(tmp_path: Path) -> None:
    pair = make_scene_pair(load("digits", tmp_path))
    inside = ((pair.truth > PATCH) & (pair.truth < pair.right.shape[0] - PATCH)).all(1)
    assert inside.sum() > 100
    back = np.linalg.inv(affine_matrices(np.array([12.0]), np.array([1 / 1.1])))
    n = int(inside.sum())
    seen = sample(pair.right[None], np.zeros(n, int), pair.truth[inside], np.repeat(back, n, 0), PATCH)
    left = pair.cut(pair.left)[inside].astype(float)
    for a, b in zip(left, seen, strict=True):
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.9


def test_a_scene_is_shown_twice_with_the_scores_of_all_places(tmp_path: Path) -> None:
    scores = np.arange(PLACES**4, dtype=np.uint32).astype(np.uint8).reshape(PLACES**2, PLACES**2)
    picture = lab_picture(study_of("patches", tmp_path / "study", {"scores": scores}), tmp_path)
    assert picture["right"]
    assert picture["truth"] is not None
    assert len(picture["truth"]) == PLACES**2
    assert base64.b64decode(str(picture["methods"][0]["scores"])) == scores.tobytes()


def test_a_study_that_kept_nothing_has_no_picture(tmp_path: Path) -> None:
    study = study_of("terrapattern", tmp_path / "study", {})
    assert not has_picture(study)
    with pytest.raises(UserError, match="nothing to click yet: run the lab first"):
        lab_picture(study, tmp_path)
    with pytest.raises(UserError, match="no such study: run the lab first"):
        named_study("terrapattern", lambda: None, is_ready_made=False)


def test_a_click_downloads_nothing(tmp_path: Path) -> None:
    study = study_of("terrapattern", tmp_path / "study", {"embeddings": np.zeros((TILES**2, 4), np.int8)})
    study.update(dataset="fashion_mnist")
    with pytest.raises(UserError, match="Fashion-MNIST, which is not on disk: train on it once"):
        lab_picture(study, tmp_path)


def shown(lab: str) -> LabPlanes:
    study = ready_made(lab)
    assert study is not None
    assert has_planes(study)
    return TypeAdapter(LabPlanes).validate_python(lab_planes(study))


def points_of(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, 2)


def tiles_of(png: bytes, n: int, side: int) -> np.ndarray:
    return sprite_sheet.tiles([png], side)[:n]


def test_classical_or_mined_has_four_maps_of_the_same_images() -> None:
    maps = shown("classical-or-mined")
    labels = np.frombuffer(base64.b64decode(maps["labels"]), np.uint8)
    assert [plane["title"] for plane in maps["planes"]] == [
        "Pairs, classical",
        "Pairs, mined",
        "Triplets, classical",
        "Triplets, mined",
    ]
    assert (maps["tests"], len(labels), len(maps["names"])) == (2000, 4000, 10)
    for plane in maps["planes"]:
        points = points_of(plane["points"])
        assert points.shape == (4000, 2)
        assert plane["centers"] is None
        means = np.array([points[labels == label].mean(axis=0) for label in range(10)])
        nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == labels).mean() > 0.7  # labels and points are in the same order


def test_the_margin_strip_has_a_circle_for_each_loss_and_margin() -> None:
    maps = shown("margins")
    labels = np.frombuffer(base64.b64decode(maps["labels"]), np.uint8)
    assert [plane["title"] for plane in maps["planes"]] == [
        f"{loss}, m = {margin:g}" for loss in ("CosFace", "ArcFace") for margin in MARGINS
    ]
    assert maps["names"] == list("01234567")
    for plane in maps["planes"]:
        points, centers = points_of(plane["points"]), np.array(plane["centers"])
        assert centers.shape == (8, 2)
        units = points / np.linalg.norm(points, axis=1, keepdims=True)
        assert ((units @ centers.T).argmax(axis=1) == labels).mean() > 0.8
        assert np.linalg.norm(points, axis=1).std() > 0.1  # features, not directions


@pytest.mark.parametrize("lab", ["classical-or-mined", "margins"])
def test_tile_i_is_the_image_of_point_i(lab: str, tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", lab, "quick", "digits")
    data = load("digits", tmp_path)
    if lab == "margins":
        chosen = np.flatnonzero(np.isin(data.test.labels, SEEN_CLASSES))
        expected = data.test.images[some_test_images(data, SEEN_CLASSES, 1500)]
        assert len(expected) == len(chosen)
    else:
        both, tests = both_parts(data, 2000)
        assert tests == len(data.test)
        expected = np.concatenate(
            [split.images[stratified_subset(split.labels, 2000)] for split in (data.test, data.train)]
        )
        assert len(both) == len(expected)
    sheet = plane_sheet(study, tmp_path)
    assert np.array_equal(tiles_of(sheet, len(expected), data.size), expected)
    assert Image.open(io.BytesIO(sheet)).width == sprite_sheet.COLUMNS * data.size


def test_without_points_or_pictures_there_is_a_sentence(tmp_path: Path) -> None:
    study = create_study(tmp_path / "study", "margins", "quick", "digits")
    assert not has_planes(study)
    with pytest.raises(UserError, match="no map yet: run the lab first"):
        lab_planes(study)
    study.update(dataset="fashion_mnist")
    with pytest.raises(UserError, match="Fashion-MNIST are not on disk"):
        plane_sheet(study, tmp_path)
    other: Study = create_study(tmp_path / "other", "scale", "quick", "digits")
    with pytest.raises(UserError, match="has no maps"):
        plane_sheet(other, tmp_path)


@pytest.mark.slow
def test_a_newcomer_is_unknown_until_added_and_gone_when_removed(here, write, monkeypatch):
    config, trained, key = own_gallery.net_config("digits"), [], own_gallery.KEY
    monkeypatch.setattr(type(here.jobs), "train", lambda _, config: trained.append(config))
    test = open_page("labs", lab="gallery", guess="1")
    test.button(key=f"{key}.train").click().run()
    assert trained == [config]
    write(here.runs, config)
    drawing = {"side": 56, "strokes": 1, "ink": base64.b64encode(np.eye(56, dtype=np.uint8) * 255).decode()}
    monkeypatch.setattr(own_gallery, "mount", lambda *_, **__: SimpleNamespace(drawing=drawing))
    embedded = SimpleNamespace(embedding=np.full(config.embedding_dim, 9, np.float32))
    monkeypatch.setattr(own_gallery.query, "query", lambda *_: embedded)

    assert "**7** (" not in words(run(test))
    test.button(key=f"{key}.test.7").click()
    assert "**7** (3)" in words(run(test))
    test.text_input(key=f"{key}.name").set_value("my sign")
    assert "This is **unknown**" in words(run(test))
    test.button(key=f"{key}.add").click()
    assert "This is **my sign**: the nearest, my sign, is 0.00 away" in words(run(test))
    assert "**my sign** (1)" in words(test)
    test.button(key=f"{key}.remove.my sign").click()
    assert "my sign" not in words(run(test))


def words(test):
    return without_terms(" ".join(element.value for element in [*test.markdown, *test.caption]))


@pytest.mark.slow
def test_a_loss_beats_itself_by_tricks_once_it_is_guessed_about(here):
    results = ready_made("reality-check").results()
    test = open_page("labs", lab="reality-check")
    assert "Guess first: the figure is covered until then." in words(test)
    assert "Be the author" not in words(test), "it gives the answer away"
    test.button(key="lab.guess.1").click()
    assert "No trick in use." in words(run(test))
    test.selectbox(key="lab.tricks.favorite").set_value(CONTRASTIVE.key)
    assert "“Contrastive is as good as the contrastive loss.”" in words(run(test))
    test.toggle(key="lab.tricks.untuned").set_value(True)
    assert "1 trick in use" in words(run(test))
    test.toggle(key="lab.tricks.four_nets").set_value(True)
    gain = claim(results, CONTRASTIVE, {"untuned", "four_nets"}).gain
    assert gain > 10
    assert f"“Contrastive is {gain:.0f}% better than the contrastive loss.”" in words(run(test))
    assert test.toggle(key="lab.tricks.best_step").disabled


def test_episodes_follow_each_other_and_the_interval_shrinks(here):
    test = open_page("labs", lab="few-shot", guess=1)
    assert "One episode has no interval." in words(test)
    test.button(key="lab.episodes.more.1").click()
    assert "All 2 so far: " in words(run(test))
    test.button(key="lab.episodes.more.50").click()
    kept = read_arrays(ready_made("few-shot").path / "trials" / "prototypical_60-seed_0" / EMBEDDED)
    mean, low, _ = t_interval(episode_accuracies(kept["embeddings"], kept["labels"], 5, 1, 5, 52).tolist())
    assert f"All 52 so far: **{mean:.1%}**, 95% t-interval over the episodes {low:.1%}" in words(run(test))


def test_a_larger_gallery_is_harder(here):
    results, test = ready_made("reid").results(), open_page("labs", lab="reid", guess=1)
    for size in (751, 11, 10):
        test.slider(key="lab.gallery_size.slider").set_value(size)
        best = max(row.y for row in size_rows(results, size) if row.series == "rank-1")
        assert f"finds {best:.1%} at rank 1" in words(run(test))
    assert "20 queries of camera 0 among the 60 pictures of 10 identities on the other cameras" in words(test)
    table = next(figure for figure in LABS["reid"].figures if figure.name == "table")
    drawn = draw(table, [row for row in LABS["reid"].rows(results) if row.figure == "table"])
    assert drawn.to_json().count('"0.001*"') == 5, "batch hard in free space collapsed with every margin"


SAME = np.repeat([True, False], 30)


def test_a_game_asks_half_of_each_kind_and_no_pair_twice():
    game = PairGame.new(SAME, seed=4)
    assert len(set(game.order)) == 10
    assert SAME[game.order].sum() == 5
    assert PairGame.new(SAME, seed=4).order == game.order
    assert PairGame.new(SAME, seed=5).order != game.order


def test_the_cross_is_the_share_of_each_kind_called_the_same():
    game = PairGame(SAME, order=[0, 1, 30, 31, 32, 33])
    for number, said in enumerate((True, False, True, False, False)):
        game.answer(number, said)
        game.answer(number, not said)  # a click that comes twice
    assert game.current == 33
    game.answer(5, False)
    assert game.current is None
    assert game.operating_point == (0.25, 0.5)
    assert game.right == 1 + 3
    distances = np.zeros(60)
    distances[31:] = 2.0
    assert game.right_of(distances, threshold=1.0) == 2 + 3


def test_before_the_first_answer_nothing_is_known():
    game = PairGame.new(SAME, seed=0)
    assert game.operating_point == (0.0, 0.0)
    assert game.right == 0
    assert game.current == game.order[0]


def test_a_threshold_is_moved_over_pairs_that_are_not_asked_about():
    results = ready_made("verification").results()
    nets = {result.trial.settings["net"]: result for result in results}
    nets["raw pixels"] = nets.pop("pixels")
    images = np.zeros((751 * 8, 4, 4), np.uint8)
    kept = read_arrays(nets["softmax"].folder / KEPT)
    asked = list(range(20))
    props = threshold_props(nets, images, asked, you=(0.2, 0.8))
    free = range(20, 60)
    rows = [row for kind in (True, False) for row in [row for row in free if kept["same"][row] == kind][:SHOWN]]
    assert [pair["same"] for pair in props["pairs"]] == [True] * SHOWN + [False] * SHOWN
    softmax = next(net for net in props["nets"] if net["title"] == "softmax")
    assert softmax["distances"] == pytest.approx(kept["distance"][rows], abs=1e-4)
    assert props["pairs"][3]["pixels"] == pytest.approx(
        read_arrays(nets["raw pixels"].folder / KEPT)["distance"][rows[3]], abs=0.01
    )
    assert props["you"] == [0.2, 0.8]
    assert props["best"] == max(nets, key=lambda net: nets[net].values["accuracy_10_fold"])
    assert all(sum(net["same"]) == pytest.approx(1) for net in props["nets"])
    assert threshold_props(nets, None)["pairs"] == []
