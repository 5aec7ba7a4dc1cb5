"""The labs verification, reid, gallery and few-shot on data made from the digits of the program."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.data import load
from dmlviz.errors import UserError
from dmlviz.labs import kept_arrays
from dmlviz.labs.few_shot import measure as few_shot
from dmlviz.labs.few_shot.episode_map import draw_episode, episode_map
from dmlviz.labs.gallery import measure as gallery
from dmlviz.labs.lab_study import check_dataset, ready_made
from dmlviz.labs.registry import LABS
from dmlviz.labs.reid import GALLERY_SIZES, size_rows
from dmlviz.labs.reid import measure as reid
from dmlviz.labs.run import measurement
from dmlviz.labs.training import embed, train_net, train_to_the_end
from dmlviz.labs.verification import measure as verification
from dmlviz.metrics.few_shot import episode_accuracies
from dmlviz.studies.trial import Trial, TrialContext, TrialResult, TrialStoppedError

OURS = ("verification", "reid", "gallery", "few-shot")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, made_folder: Path) -> Path:
    root = tmp_path_factory.mktemp("data")
    (root / "made").symlink_to(made_folder)
    return root


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Fewer pairs, episodes and draws; pictures from the same data folder."""
    monkeypatch.setenv("DMLVIZ_DATA", str(root))
    monkeypatch.setattr(verification, "ROC_SAME", 300)
    monkeypatch.setattr(verification, "ROC_DIFFERENT", 500)
    monkeypatch.setattr(verification, "RESAMPLES", 10)
    monkeypatch.setattr(few_shot, "EPISODES", 100)
    monkeypatch.setattr(few_shot, "FEWER_EPISODES", 10)
    monkeypatch.setattr(gallery, "DRAWS", 2)
    kept_arrays.find_images.cache_clear()


@cache
def first_results(name: str, root: Path) -> tuple[TrialResult, ...]:
    """What the first trial of a lab, in the quick size, reported while it went on, and at last its result."""
    trial = LABS[name].plan("quick", LABS[name].datasets[0], [])[0]
    folder = root / "trials" / name
    folder.mkdir(parents=True)
    reports: list[dict] = []

    def report(share: float, **values: object) -> None:
        if values:
            reports.append(json.loads(json.dumps(values)))

    values = measurement(name)(trial, TrialContext(folder=folder, data_root=root, report=report))
    return tuple(TrialResult(trial=trial, values=each, folder=folder) for each in (*reports, values))


def first_result(name: str, root: Path) -> TrialResult:
    """The result of the first trial of a lab, in the quick size."""
    return first_results(name, root)[-1]


@pytest.mark.parametrize("name", OURS)
def test_every_trial_of_a_plan_is_a_training_that_can_be_done(name: str) -> None:
    lab = LABS[name]
    for size in ("quick", "full"):
        trials = lab.plan(size, lab.datasets[0], [])
        assert len({trial.name for trial in trials}) == len(trials)
        assert lab.total(size, lab.datasets[0]) == (len(trials), sum(trial.seconds for trial in trials))
        for trial in trials:
            if trial.settings["fields"]:
                TrainConfig(dataset=trial.dataset, **trial.settings["fields"])
    assert lab.total("quick", lab.datasets[0])[1] < 240, "two minutes on two cores"
    assert {row.figure for row in lab.literature} <= {figure.name for figure in lab.all_figures}
    with pytest.raises(UserError, match="uses"):
        check_dataset(lab, "mnist")


@pytest.mark.slow
def test_a_timed_training_is_scored_as_it_goes_on_and_its_looks_take_none_of_its_time(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = next(trial for trial in LABS["reid"].plan("quick", "identities", []) if trial.name == "time-offline_hard")
    settings = {**trial.settings, "looks": 2, "fields": {**trial.settings["fields"], "steps": 40}}
    trial = Trial(name="time", settings=settings, dataset="identities", seconds=1)
    clock = [0.0]
    monkeypatch.setattr(reid.time, "process_time", lambda: clock[0])
    embed_images = reid.embed
    monkeypatch.setattr(reid, "embed", lambda *all: clock.__setitem__(0, clock[0] + 1000) or embed_images(*all))
    context = TrialContext(folder=tmp_path, data_root=root, report=lambda *_, **__: clock.__setitem__(0, clock[0] + 3))
    values = reid.measure(trial, context)
    assert [seconds for seconds, _ in values["curve"]] == [3, 6]
    assert values["curve"][-1][1] == pytest.approx(values["map"])
    rows = [row for row in LABS["reid"].rows([TrialResult(trial=trial, values=values)]) if row.figure == "time"]
    assert {row.series for row in rows} == {"triplets, offline hard mining"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OURS if LABS[name].live])
def test_what_a_trial_reports_while_it_goes_on_is_in_the_figure_as_it_stays(name: str, root: Path) -> None:
    *reports, last = first_results(name, root)
    assert reports
    rows = {(row.figure, row.series, row.x): row.y for row in LABS[name].rows([last])}
    before: set = set()
    for report in reports:
        early = {(row.figure, row.series, row.x): row.y for row in LABS[name].rows([report])}
        assert before < early.keys() < rows.keys()
        assert all(y == pytest.approx(rows[key]) for key, y in early.items())
        before = set(early)


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_a_figure_grows_from_the_first_result_and_its_pictures_are_there(name: str, root: Path, tmp_path: Path) -> None:
    lab = LABS[name]
    results = [first_result(name, root)]
    rows = lab.rows(results)
    assert lab.rows([]) == []
    assert {row.figure for row in rows} <= {figure.name for figure in lab.figures}
    for row in rows:
        assert 0 <= row.y <= 1
        assert row.low is None or (row.low <= row.y <= row.high and row.n > 1)
    assert isinstance(lab.guess.answer(results), str)
    row = next(row for row in rows if row.figure == lab.figures[0].name)
    pictures = lab.pictures(results, row.figure, row.series, row.x)
    assert pictures
    assert all(image.dtype == np.uint8 for pair in pictures for image in pair.images)
    (tmp_path / "raw").mkdir()
    other = [TrialResult(trial=results[0].trial, values={**results[0].values, "images": "0" * 16}, folder=tmp_path)]
    assert not lab.pictures(other, row.figure, row.series, row.x), "pictures of other images are not shown"


def test_the_search_leaves_out_the_querys_own_camera(root: Path) -> None:
    """The scores are those of a loop over queries, with the rule of Market-1501."""
    test = load("identities", root).test.first(40 * 8)
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(len(test), 5)) + 0.7 * rng.normal(size=(2000, 5))[test.labels]
    scores = reid.search(embeddings, test)
    first, average = [], []
    for query in np.flatnonzero(test.roles["query"]):
        others = np.flatnonzero(test.roles["query"] == 0)
        same = (test.labels[others] == test.labels[query]) & (
            test.roles["camera"][others] == test.roles["camera"][query]
        )
        others = others[~same]
        ranked = others[np.argsort(((embeddings[others] - embeddings[query]) ** 2).sum(axis=1))]
        hits = test.labels[ranked] == test.labels[query]
        first.append(hits.argmax() + 1)
        average.append(np.mean((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits]))
    assert scores["map"] == pytest.approx(np.mean(average))
    for rank in (1, 5, 10):
        assert scores[f"cmc_at_{rank}"] == pytest.approx(np.mean(np.array(first) <= rank))
    few = reid.search(embeddings, test, 10)
    assert few["queries"] == 20
    assert few["cmc_at_1"] >= scores["cmc_at_1"]
    sizes = reid.size_scores(embeddings, test)
    for size, searched in ((10, few), (40, scores)):
        assert sizes["rank1"][size - 1] == pytest.approx(searched["cmc_at_1"])
        assert sizes["map"][size - 1] == pytest.approx(searched["map"])
    assert sizes["map"][0] == 1, "alone in the gallery"
    one_point = reid.size_scores(np.zeros_like(embeddings), test)
    assert one_point["rank1"][1:].max() == 0, "of equally near pictures the wrong ones come first"


@pytest.mark.slow
def test_few_shot_intervals_are_those_of_scipy(root: Path) -> None:
    folder = first_result("few-shot", root).folder
    assert folder is not None
    mean, half = few_shot._interval(np.array([0.2, 0.4, 0.9, 0.5]))
    low, high = stats.t.interval(0.95, 3, loc=0.5, scale=stats.sem([0.2, 0.4, 0.9, 0.5]))
    assert (mean - half, mean + half) == pytest.approx((low, high))
    test_classes = set(DATASETS["numbers"].class_split.parts["test"])  # type: ignore[union-attr]
    kept = np.load(folder / "episodes.npz")
    assert set(load("numbers", root).test.labels[kept["support"]].ravel()) <= test_classes


@pytest.mark.slow
def test_newcomers_are_named_by_the_gallery_and_never_by_the_classifier(root: Path, tmp_path: Path) -> None:
    trials = LABS["gallery"].plan("quick", "identities", [])
    trial = next(trial for trial in trials if trial.settings["part"] == "newcomers")
    settings = {**trial.settings, "fields": {**trial.settings["fields"], "steps": 60}}
    few = Trial(name=trial.name, settings=settings, dataset=trial.dataset, seconds=1)
    values = gallery.measure(few, TrialContext(folder=tmp_path, data_root=root))
    assert values["classifier"] == 0
    assert values["newcomers"][0] < values["newcomers"][-1] > 0.5


def test_a_trial_that_is_stopped_does_not_wait_for_scores(tmp_path: Path) -> None:
    events: list[object] = []
    context = TrialContext(folder=tmp_path, stop=lambda: len(events) > 4)
    config = TrainConfig(dataset="digits", net="mlp", steps=40, embedding_dim=8)
    with pytest.raises(TrialStoppedError):
        train_to_the_end(config, load("digits"), context, on_event=events.append)
    assert "Embedded" not in [type(event).__name__ for event in events]


@pytest.mark.slow
def test_a_net_is_trained_and_embeds_until_it_is_asked_to_stop(root: Path, tmp_path: Path) -> None:
    data, shares = load("digits", root), []
    config = TrainConfig(dataset="digits", net="mlp", steps=40, embedding_dim=8)
    context = TrialContext(folder=tmp_path, report=lambda share, **values: shares.append(share))
    embeddings = embed(train_net(config, data, context, share=(0.5, 1.0)), data.test.images, data)
    assert embeddings.shape == (len(data.test), 8)
    assert shares == [0.75, 1.0]
    with pytest.raises(TrialStoppedError):
        train_net(config, data, TrialContext(folder=tmp_path, stop=lambda: True))
    broken = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    torch.nn.init.constant_(broken[1].weight, float("nan"))
    with pytest.raises(UserError, match="diverged"):
        embed(broken, data.test.images, data)


@pytest.mark.parametrize("name", OURS)
def test_ready_made_results_are_those_of_the_plan_and_hold_no_pictures(name: str) -> None:
    study = ready_made(name)
    assert study is not None
    info = study.info
    planned = {trial.name: trial for trial in LABS[name].plan(info["size"], info["dataset"], study.results())}
    kept = {result.trial.name: result.trial for result in study.results()}
    assert {trial: dict(kept[trial].settings) for trial in kept} == {
        trial: dict(planned[trial].settings) for trial in planned
    }
    for path in study.path.rglob("*.npz"):
        with np.load(path) as arrays:
            assert max(arrays[key].ndim for key in arrays) <= 3
            assert all(arrays[key].size < 10_000 for key in arrays if key != "embeddings"), "no images"
            assert arrays.get("embeddings", np.zeros((1, 1))).shape[1] <= 64


def test_an_episode_on_the_map_is_the_one_that_is_scored():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 8)
    embeddings = rng.normal(size=(6, 5))[labels] + 0.4 * rng.normal(size=(48, 5))
    accuracies = episode_accuracies(embeddings, labels, 3, 2, 4, count=5)
    for number in range(5):
        drawn = episode_map(embeddings, labels, 3, 2, 4, number)
        assert drawn.accuracy == accuracies[number]
        # PCA is linear: the prototype is the mean on the map, too, and no two of its distances grow.
        np.testing.assert_allclose(drawn.prototypes, drawn.support.mean(axis=1))
        prototypes = embeddings[drawn.episode.support].mean(axis=1)
        for way in range(3):
            far = np.linalg.norm(embeddings[drawn.episode.queries[way]] - prototypes[way], axis=1)
            assert (np.linalg.norm(drawn.queries[way] - drawn.prototypes[way], axis=1) <= far + 1e-9).all()
    figure = draw_episode(drawn, ["a", "b", "c"])
    right, wrong = (int(trace.name.partition(": ")[2]) for trace in figure.data[:2])
    assert (right, right + wrong) == (round(12 * drawn.accuracy), 12)
    lines = np.column_stack([figure.data[0].x, figure.data[0].y]).reshape(-1, 3, 2)
    assert len(lines) == right
    for line in lines:
        assert np.abs(drawn.queries - line[0]).sum(axis=2).min() < 1e-9
        assert np.abs(drawn.prototypes - line[1]).sum(axis=1).min() < 1e-9


def test_a_gallery_of_some_size_has_the_scores_that_were_measured_there():
    results = ready_made("reid").results()
    pixels = next(result for result in results if result.trial.settings.get("net") == "pixels")
    for at, size in enumerate(GALLERY_SIZES):
        rows = {(row.series, row.x): row.y for row in size_rows(results, size)}
        assert rows["rank-1", "raw pixels"] == pytest.approx(pixels.values["gallery"]["rank1"][at], abs=1e-6)
        assert rows["mAP", "raw pixels"] == pytest.approx(pixels.values["gallery"]["map"][at], abs=1e-6)
        assert len(rows) == 2 * len({result.trial.settings.get("net") for result in results} - {None})
    assert len(size_rows(results, 237)) == len(rows)
    assert size_rows([], 100) == []
