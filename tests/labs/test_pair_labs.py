"""The labs patches, tracking, two-domains, metric, terrapattern: their measures by hand, and a tiny trial of each."""

import dataclasses
import json
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

from dmlviz.data import load
from dmlviz.data.dataset import Dataset, Split
from dmlviz.data.made.patches import SIDE, StereoPair, make_stereo_pair
from dmlviz.data.made.town import TILES, build_town
from dmlviz.labs import pair_training
from dmlviz.labs.kept_arrays import PICTURES
from dmlviz.labs.lab import Lab
from dmlviz.labs.lab_study import ready_made
from dmlviz.labs.metric import measure as metric
from dmlviz.labs.metric import signed_picture
from dmlviz.labs.metric.measure import label_notions, slant, stroke_thickness
from dmlviz.labs.patches import NETS
from dmlviz.labs.patches import measure as patches
from dmlviz.labs.patches.measure import build_patch_net
from dmlviz.labs.registry import LABS
from dmlviz.labs.terrapattern import measure as terrapattern
from dmlviz.labs.tracking import measure as tracking
from dmlviz.labs.two_domains import measure as two_domains
from dmlviz.ops.nearest_neighbors import NearestNeighbors
from dmlviz.studies.trial import Trial, TrialContext, TrialResult

NAMES = ("patches", "tracking", "two-domains", "metric", "terrapattern")


@pytest.fixture(autouse=True)
def made_once(tmp_path: Path, made_folder: Path) -> None:
    (tmp_path / "made").symlink_to(made_folder)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ["quick", "full"])
def test_a_plan_names_each_trial_once_and_tells_its_cost(name: str, size: str) -> None:
    lab = LABS[name]
    for dataset in lab.datasets:
        trials = lab.plan(size, dataset, [])  # type: ignore[arg-type]
        assert len({trial.name for trial in trials}) == len(trials)
        assert len({json.dumps(trial.settings, sort_keys=True) for trial in trials}) == len(trials)
        count, seconds = lab.total(size, dataset)  # type: ignore[arg-type]
        assert count == len(trials)
        assert seconds == pytest.approx(sum(trial.seconds for trial in trials))
        assert size == "full" or seconds < 240, "a quick study ends in two minutes on two cores"
        assert not lab.rows([])


def check_report(lab: Lab, trial: Trial, share: float, **values: object) -> None:
    """What a trial reports while it goes on has its place in a figure."""
    assert 0 <= share <= 1
    assert bool(values) <= lab.live
    if values:
        assert lab.rows([TrialResult(trial=trial, values=json.loads(json.dumps(values)))])


def tiny_results(lab: Lab, folder: Path, trials: slice, *, most: int = 2, **changes: object) -> list[TrialResult]:
    module, _, function = lab.measure.partition(":")
    results = []
    for trial in lab.plan("quick", "digits", [])[trials]:
        steps = min(most, trial.settings["steps"])
        trial = dataclasses.replace(trial, settings={**trial.settings, "steps": steps, **changes})
        own = folder / trial.name
        own.mkdir()
        context = TrialContext(folder=own, data_root=folder, report=partial(check_report, lab, trial))
        values = getattr(import_module(module), function)(trial, context)
        results.append(TrialResult(trial=trial, values=json.loads(json.dumps(values)), folder=own))
    return results


@pytest.mark.parametrize("name", LABS)
def test_ready_made_results_hold_no_images_of_a_data_set(name: str) -> None:
    study = ready_made(name)
    assert study is not None
    assert not [*study.path.rglob(PICTURES)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "trials"), [("two-domains", slice(3, None, 6)), ("metric", slice(4))])
def test_a_tiny_study_fills_every_figure_and_has_pictures(name: str, trials: slice, tmp_path: Path) -> None:
    lab = LABS[name]
    results = tiny_results(lab, tmp_path, trials)
    rows = lab.rows(results)
    assert {row.figure for row in rows} == {figure.name for figure in lab.figures}
    assert np.isfinite([row.y for row in rows]).all()
    assert lab.guess.answer(results)
    assert lab.pictures is not None
    for figure in lab.figures:
        row = next(row for row in rows if row.figure == figure.name)
        pictures = lab.pictures(results, row.figure, row.series, row.x)
        assert pictures
        assert all(image.dtype == np.uint8 for pair in pictures for image in pair.images)
    without = [dataclasses.replace(result, folder=None) for result in results]
    assert lab.pictures(without, row.figure, row.series, row.x) == [] or name == "metric"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trials", "changes"),
    [("patches", slice(1, 2), {}), ("tracking", slice(1), {"distractors": [0, 1]}), ("terrapattern", slice(1, 2), {})],
)
def test_one_trial_gives_rows_and_pictures(name: str, trials: slice, changes: dict, tmp_path: Path) -> None:
    lab = LABS[name]
    results = tiny_results(lab, tmp_path, trials, **changes)
    rows = lab.rows(results)
    assert np.isfinite([row.y for row in rows]).all()
    assert lab.pictures is not None
    assert lab.pictures(results, rows[0].figure, rows[0].series, rows[0].x)
    assert lab.guess.answer(results)


def test_a_query_finds_its_partner_by_distance_and_ties_count_against_it() -> None:
    gallery = np.array([[0.0], [1.0], [2.0], [3.0]])
    queries = np.array([[0.1], [1.9], [2.1], [0.0]])  # ranks 1, 2, 1, 4
    scores = two_domains.retrieval_scores(queries, gallery, np.array([0, 1, 1, 0]))
    assert scores["recall"] == [[1, 0.5], [2, 0.75]]
    assert scores["recall_at_1_percent"] == 0.5
    assert scores["class_at_1"] == 1.0
    collapsed = two_domains.retrieval_scores(np.zeros((4, 1)), np.zeros((4, 1)), np.arange(4))
    assert collapsed["recall"] == [[1, 0.0], [2, 0.0]]


def test_the_loss_of_a_match_is_the_mean_of_both_directions() -> None:
    a = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    b = torch.randn(5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    total = 0.0
    for first, second in ((a, b), (b, a)):
        for i in range(5):
            cosines = [float(torch.cosine_similarity(first[i], second[j], dim=0)) / 0.1 for j in range(5)]
            total -= cosines[i] - np.log(np.exp(cosines).sum())
    assert float(two_domains.match_loss(a, b)) == pytest.approx(total / 10)


def test_a_patch_is_found_along_its_row_of_a_stereo_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "PLACES_A_SIDE", 3)
    right = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE), np.uint8)
    context = TrialContext(folder=tmp_path)
    for told, share in ((7.0, 1.0), (8.9, 1.0), (9.1, 0.0)):
        pair = StereoPair(np.roll(right, 7, axis=1), right, np.full((SIDE, SIDE), told))
        assert patches._stereo(patches.PixelScore(), pair, context) == share
    pair = make_stereo_pair(load("digits"))
    rows, columns = np.mgrid[60:200:7, 60:200:7]
    seen = pair.right[rows, np.rint(columns - pair.disparity[rows, columns]).astype(int)]
    assert np.corrcoef(pair.left[rows, columns].ravel(), seen.ravel())[0, 1] > 0.8
    assert np.ptp(pair.disparity) == pytest.approx(24)


def test_contrastive_pairs_pull_matches_and_push_negatives_of_the_asked_classes() -> None:
    a, b = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), torch.tensor([[0.3, 0.4], [0.6, 0.0], [0.0, 2.0]])
    assert float(two_domains.contrastive_loss(a, b, 1)) == pytest.approx((0.5**2 + 0.4**2) / 3, rel=1e-5)
    classes, rng = np.repeat(np.arange(4), 50), np.random.default_rng(0)
    anchors = rng.integers(200, size=2_000)
    for share in (0.0, 0.2, 1.0):
        found = two_domains.negatives(anchors, classes, share, rng)
        assert (found != anchors).all()
        assert np.mean(classes[found] == classes[anchors]) == pytest.approx(share, abs=0.03)


def test_images_turn_by_their_own_angles() -> None:
    images = torch.rand(3, 1, 9, 9, generator=torch.Generator().manual_seed(0))
    turned = two_domains.turned(images, np.array([0.0, 90.0, -90.0]))
    expected = [torch.rot90(image, quarters, (1, 2)) for image, quarters in zip(images, (0, 1, -1), strict=True)]
    torch.testing.assert_close(turned, torch.stack(expected), atol=1e-5, rtol=0)


def test_pairs_match_where_they_say_so() -> None:
    groups = np.arange(24).reshape(6, 4)
    batches = pair_training.pair_batches(groups, 8, seed=0)
    for _ in range(5):
        first, second, sign = next(batches)
        assert ((first // 4 == second // 4) == (sign > 0)).all()
        assert (first != second).all()
        assert sign.tolist() == [1] * 4 + [-1] * 4


def test_a_click_by_known_descriptors_gives_the_scores_of_all_pairs() -> None:
    generator = torch.Generator().manual_seed(0)
    patch, places = (torch.randn(n, 1, 32, 32, generator=generator) for n in (1, 7))
    for kind in NETS:
        net = build_patch_net(kind, 32, seed=0).eval()
        with torch.inference_mode():
            one_by_one = torch.cat([net(patch, places[i : i + 1]) for i in range(7)])
            assert torch.allclose(patches.compare_with(net, places)(patch), one_by_one, atol=1e-5), kind


def test_the_overlap_of_squares_is_intersection_over_union() -> None:
    box = np.array([10.0, 10.0, 4.0])
    others = np.array([[10, 10, 4], [10, 12, 4], [20, 20, 4], [10, 10, 2]], float)
    assert tracking.box_overlap(box[None], others).tolist() == pytest.approx([1, 8 / 24, 0, 4 / 16])


def test_a_target_that_was_lost_once_is_not_kept() -> None:
    overlaps = np.array([[1, 0.9, 0.05, 0.9], [1, 0.6, 0.4, 0.2]])
    told = tracking.summary(overlaps)
    assert told["kept"] == [1.0, 1.0, 0.5, 0.5]
    assert told["iou"] == pytest.approx((0.9 + 0.05 + 0.9 + 0.6 + 0.4 + 0.2) / 6)
    assert told["success"][10] == [0.5, 0.5]  # 3 of 6 frames above 0.5


def test_the_template_scores_highest_where_it_was_cut_out() -> None:
    frames = torch.randn(1, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    tracker = tracking.build_tracker("pixels", 0)
    boxes = np.array([[[30.0, 34.0, 20.0]]])
    exemplar = tracking._exemplars(frames[:, 0][:, None], boxes, np.zeros(1, int), np.zeros(1, int))
    with torch.inference_mode():
        scores = tracker(tracker.template(exemplar), frames)[0]
    row, column = divmod(int(scores.argmax()), scores.shape[1])
    assert abs(2 * row - 30) <= 2
    assert abs(2 * column - 34) <= 2


def test_both_kinds_of_places_count_half_in_the_balanced_loss() -> None:
    scores, positive = torch.tensor([[[2.0, -1.0, 0.5, 0.0]]]), torch.tensor([[[True, False, False, False]]])
    expected = (np.log1p(np.exp(-2)) + np.mean(np.log1p(np.exp([-1.0, 0.5, 0.0])))) / 2
    assert float(tracking.balanced_logistic(scores, positive)) == pytest.approx(expected, rel=1e-5)


def test_far_jumps_are_damped() -> None:
    rows = np.arange(0, 64, 2)
    scores = np.zeros((1, 32, 32))
    scores[0, 3, 3], scores[0, 25, 25] = 1.0, 1.1
    near = tracking.damped_peak(scores, np.array([[6.0, 8.0]]), rows)
    assert near.tolist() == [[6.0, 6.0]]


def test_the_majority_of_three_decides_and_of_a_tie_the_nearest() -> None:
    gallery, labels = np.array([[0.0], [1.0], [1.2], [9.0]]), np.array([0, 1, 1, 2])
    assert metric.knn_error(np.array([[0.1]]), np.array([1]), gallery, labels) == 0.0
    assert metric.knn_error(np.array([[0.1]]), np.array([0]), gallery, labels) == 1.0
    different = np.array([0, 1, 2, 3])
    assert metric.knn_error(np.array([[0.1]]), np.array([0]), gallery, different) == 0.0


def test_thickness_and_slant_of_drawn_lines() -> None:
    images = np.zeros((3, 28, 28), np.uint8)
    images[0, 4:24, 12:15] = 255  # three wide, upright
    images[1, 4:24, 10:17] = 255  # seven wide
    for row in range(4, 24):
        images[2, row, 20 - row // 2 : 23 - row // 2] = 255  # half a pixel to the right from row to row above
    thin, thick, _ = stroke_thickness(images)
    assert 2.5 < thin < 4 < 6 < thick < 11
    assert slant(images).tolist() == pytest.approx([0, 0, 0.5], abs=0.01)


def test_groups_by_thickness_are_equally_large_in_training() -> None:
    rng = np.random.default_rng(0)
    split = Split(rng.integers(0, 256, (200, 28, 28)).astype(np.uint8), rng.integers(0, 10, 200))
    labels = label_notions(split, split)
    assert labels["parity"][0].tolist() == (split.labels % 2).tolist()
    assert np.bincount(labels["slant"][0]).tolist() == [50, 50, 50, 50]


def test_weights_become_gray_where_they_are_zero() -> None:
    assert signed_picture(np.array([[0.0, 2.0], [-2.0, 1.0]])).tolist() == [[127, 255], [0, 191]]


def test_a_town_has_its_districts_and_an_image_is_not_its_own_neighbor() -> None:
    rng = np.random.default_rng(0)
    split = Split(rng.integers(0, 256, (60, 28, 28)).astype(np.uint8), np.arange(60) % 3)
    town = build_town(Dataset("noise", ("a", "b", "c"), split, split, 0.5, 0.3))
    assert town.tiles.shape == (TILES**2, 28, 28)
    assert (split.labels[town.image] == town.labels).all()
    assert np.array_equal(town.tiles[17], split.images[town.image[17]])
    largest = [np.bincount(town.labels[town.district == d]).max() / (town.district == d).sum() for d in range(24)]
    assert np.median(largest) > 0.8
    embedded, image = np.repeat(rng.standard_normal((20, 3)), 2, axis=0), np.repeat(np.arange(20), 2)
    found = terrapattern.others_of_another_image(NearestNeighbors(embedded), image, 5, np.arange(len(embedded)))
    assert (image[found] != image[:, None]).all()
