"""How sure an answer is: the rule on numbers made here, and on a net that was trained on MNIST."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from dmlviz.config import TrainConfig
from dmlviz.data import available_datasets, load
from dmlviz.data.query_image import prepare
from dmlviz.errors import UserError
from dmlviz.runs import oriented_gradients, query_calibration
from dmlviz.runs.embed import embed
from dmlviz.runs.query_calibration import Judge, judge_of
from dmlviz.runs.query_confidence import Calibration, NeighborSignals, vote, voting_neighbors
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.files import write_all

CLASSES = ("cat", "dog")


def signals(distance, agreeing=10, shape_distance=None):
    distances = {"embedding": np.asarray(distance, float)}
    if shape_distance is not None:
        distances["shape"] = np.asarray(shape_distance, float)
    return NeighborSignals(distances, np.zeros(len(distance), int), np.broadcast_to(agreeing, len(distance)), 10)


def calibration(known, right=True):
    return Calibration(
        known, np.broadcast_to(right, len(known.agreeing)), "1,000 validation images", "validation images"
    )


@pytest.fixture
def usual():
    """Distances 0 … 999, all right; the 50 images with seven agreeing neighbors or fewer were right by halves."""
    agreeing = np.where(np.arange(1000) % 20 == 0, 7, 10)
    return calibration(signals(np.arange(1000), agreeing), np.arange(1000) % 40 != 0)


def test_as_many_neighbors_vote_as_a_class_has_images_and_at_most_ten():
    assert voting_neighbors(np.array([0, 0, 0, 1, 1, 1, 2, 2])) == 3
    assert voting_neighbors(np.repeat(np.arange(3), (5, 11, 400))) == 10


def test_the_class_of_most_neighbors_wins_and_of_equals_the_nearer():
    label, agreeing = vote(np.array([[3, 5, 5, 1], [2, 2, 9, 9], [4, 8, 8, 4]]))
    assert label.tolist() == [5, 2, 4]
    assert agreeing.tolist() == [2, 2, 2]


def test_one_calibration_image_in_a_hundred_is_unlike_and_five_are_not_sure():
    known = signals(np.arange(1000))
    levels = calibration(known).levels(known)
    assert levels.count("unlike") == 9  # (9 + 1) / (1000 + 1) is the last p-value of one percent or less
    assert levels.count("sure") == 951  # the next image of this kind is as far as the others or farther in 50 of 1,001
    assert levels.index("unsure") == 951


@pytest.mark.parametrize("n", [19, 24, 39, 60, 200])
def test_five_of_a_hundred_images_like_these_are_not_sure_however_few_calibrate(n):
    random, refused = np.random.default_rng(n), []
    for _ in range(300):
        levels = calibration(signals(random.normal(size=n))).levels(signals(random.normal(size=50)))
        refused.append(np.mean([level != "sure" for level in levels]))
    assert np.mean(refused) <= 0.05 + 2 * np.std(refused) / 300**0.5


def test_what_is_farther_than_every_calibration_image_is_unlike():
    (found,) = calibration(signals(np.arange(1000))).describe(signals([5000]), CLASSES)
    assert found["level"] == "unlike"
    assert found["title"] == "Unlike anything here"
    assert found["sentence"].startswith("Farther from its neighbors than all validation images")
    assert found["basis"] == "Calibrated on 1,000 validation images."


def test_what_lies_near_in_the_embedding_is_unlike_if_its_shape_is():
    known = signals(np.arange(1000), shape_distance=np.arange(1000) / 1000)
    near, far = calibration(known).levels(signals([3, 3], shape_distance=[0.2, 4]))
    assert (near, far) == ("sure", "unlike")


def test_the_strangest_part_is_found_as_by_plain_loops_and_one_that_moved_is_not_strange():
    image = np.zeros((28, 28), np.uint8)
    image[6:22, 13:16] = 255
    moved, crossed = np.roll(image, (1, 1), (0, 1)), image.copy()
    crossed[12:15, 6:22] = 200
    known = np.stack([[np.roll(image, 9, 1), image], [np.roll(image, 9, 1), image]])
    far = oriented_gradients._strangest_parts(np.stack([moved, crossed]), known)
    assert far[0] < 0.2 * far[1]

    def parts(picture):
        slopes = oriented_gradients._slopes(oriented_gradients._gray(picture[None]))[0]
        padded = np.pad(slopes, ((0, 0), (4, 4), (4, 4)))
        return np.lib.stride_tricks.sliding_window_view(padded, (2, 5, 5))[0]

    moves = [(y, x) for y in range(-2, 3) for x in range(-2, 3) if y * y + x * x <= 4]
    places, theirs = [(y, x) for y in range(2, 30) for x in range(2, 30)], parts(image)
    for found, mine in zip(far, map(parts, (moved, crossed)), strict=True):
        least = [min(((mine[y, x] - theirs[y + dy, x + dx]) ** 2).sum() for dy, dx in moves) for y, x in places]
        assert found == pytest.approx(max(least) ** 0.5, rel=1e-4)


def test_so_many_neighbors_must_agree_that_99_of_100_are_right(usual):
    assert usual.needed == 8
    found = usual.describe(signals([3, 3, 3], [7, 8, 5]), CLASSES)
    assert [one["level"] for one in found] == ["unsure", "sure", "unsure"]
    assert found[0]["title"] == "Perhaps cat"
    assert "of the validation images with as few or fewer, 50% were right" in found[0]["sentence"]
    assert "5 of 10 neighbors agree: all validation images have more" in found[2]["sentence"]
    assert (found[1]["title"], found[1]["sentence"]) == ("Surely cat", "")


def test_where_neighbors_disagree_often_no_further_image_is_unsure_for_its_distance(usual):
    levels = np.array(usual.levels(usual.signals))
    agreeing = usual.signals.agreeing >= 8
    assert (levels[agreeing] != "sure").sum() == 9  # 50 disagree, more than 4%; 1% may be unlike


def test_nothing_is_sure_if_the_net_is_often_wrong():
    known = signals(np.arange(1000))
    often_wrong = calibration(known, np.arange(1000) % 10 > 0)
    assert "sure" not in often_wrong.levels(known)
    (found,) = often_wrong.describe(signals([3]), CLASSES)
    assert "Farther" not in found["sentence"]  # than 0%
    assert "of such validation images only 90% were right" in found["sentence"]


def often_right(seed, n):
    """Signals and rightness of images; never are 99 of 100 right, and less often with few neighbors or far away."""
    random = np.random.default_rng(seed)
    agreeing, distance = np.minimum(random.integers(5, 16, n), 10), random.random(n)
    return signals(distance, agreeing), random.random(n) < 0.975 - 0.02 * (10 - agreeing) - 0.03 * distance


@pytest.mark.slow
def test_where_99_of_100_are_reached_nowhere_the_sure_ones_are_right_as_often_as_the_answer_says():
    kept = []
    for seed in range(40):
        found, (fresh, right) = calibration(*often_right(seed, 1000)), often_right(seed + 100, 5000)
        answers = found.describe(fresh, CLASSES)
        sure = np.array([one["level"] == "sure" for one in answers])
        assert found.level in (0.95, 0.9)
        assert sure.mean() >= 0.3
        promise = f"Right in {found.level:.0%} of such cases: 99% is reached by no rule here."
        assert {one["sentence"] for one in answers if one["level"] == "sure"} == {promise}
        kept.append(right[sure].mean() >= found.level)
    assert sum(kept) >= 38  # 95%


@pytest.mark.slow
@pytest.mark.parametrize("right", [0.99, 0.95])
def test_a_page_without_a_server_says_the_same(usual, right, page_script):
    if right < 0.99:
        usual = calibration(usual.signals, np.arange(1000) % 50 >= 2)
    assert usual.level == right
    asked = signals([3, 3, 3, 945, 995, 5000, 970], [7, 8, 5, 9, 10, 10, 2])
    expected = usual.describe(asked, CLASSES)
    assert {one["level"] for one in expected} == {"sure", "unsure", "unlike"}
    images = [
        {"distance": distance, "agreeing": int(agreeing), "name": "cat"}
        for distance, agreeing in zip(asked.distances["embedding"].tolist(), asked.agreeing, strict=True)
    ]
    assert page_script("confidence", {"calibration": usual.packed(), "images": images}) == expected


def test_too_few_images_call_nothing_unlike():
    assert calibration(signals(np.arange(50))).levels(signals([1e6])) == ["unsure"]


@pytest.fixture(scope="module")
def mnist_run(tmp_path_factory):
    if not {"mnist", "fashion_mnist"} <= {*available_datasets()}:
        pytest.skip("needs MNIST and Fashion-MNIST")
    run = Runs(tmp_path_factory.mktemp("runs")).create(TrainConfig(steps=250, num_snapshots=2))
    list(train_and_record(run))
    return run


def letters():
    """Letters in print, upright and slanted."""
    drawn = []
    for letter in "ACDEFGHJKMNPRTUVWXYabdefghkmnprtuwxy":  # without those that are digits, too
        for angle in (-10, 0, 10):
            sheet = Image.new("L", (300, 300), 255)
            ImageDraw.Draw(sheet).text((100, 80), letter, 0, font=ImageFont.load_default(size=100))
            drawn.append(np.asarray(sheet.rotate(angle, fillcolor=255)))
    return drawn


def noise():
    random = np.random.default_rng(0)
    even = random.integers(0, 256, (60, 28, 28)).astype(np.uint8)
    normal = np.clip(random.normal(0, 60, (60, 28, 28)), 0, 255).astype(np.uint8)
    nearly_blank = np.clip(random.normal(230, 12, (60, 100, 100)), 0, 255).astype(np.uint8)
    return [*even, *normal, *nearly_blank]


def prepared(picture):
    """The net's input; None for a picture that is refused."""
    try:
        return prepare(picture, "mnist").image
    except UserError:
        return None


@pytest.mark.slow
def test_images_of_another_kind_are_not_sure_and_test_images_are(mnist_run):
    # Test images are among those that are searched: a tenth of them is asked of half of the others.
    asked, kept = np.arange(0, 10_000, 10), np.setdiff1d(np.arange(10_000), np.arange(0, 10_000, 10))[::2]
    judge = Judge(mnist_run, items=kept)

    def not_sure(pictures):
        images = [image for picture in pictures if (image := prepared(picture)) is not None]
        answers = judge.judge(np.stack(images), embed(mnist_run, np.stack(images)))
        refused = len(pictures) - len(images)  # as blank: nothing is said of them
        return np.array([answer["level"] != "sure" for answer in answers] + refused * [True])

    garments, random = not_sure(load("fashion_mnist").test.images[:200]), not_sure(noise())
    assert min(np.mean(garments), np.mean(random)) >= 0.9
    printed = not_sure(letters())
    assert np.mean(printed) >= 0.88
    test = load("mnist").test
    signals = judge.signals(test.images[asked], mnist_run.embeddings[asked])
    sure = np.array(judge.calibration.levels(signals)) == "sure"
    assert np.mean(~sure) <= 0.06  # 5%, and a standard error and a half of these 1,000
    assert np.mean(signals.label[sure] == test.labels[asked][sure]) >= 0.99


@pytest.mark.slow
def test_a_calibration_is_kept_with_its_run_until_the_net_changes(tmp_path, monkeypatch):
    run = Runs(tmp_path).create(TrainConfig(dataset="digits", net="mlp", steps=60, num_snapshots=2))
    list(train_and_record(run))
    images_of, calibrated = query_calibration._images_of, []
    monkeypatch.setattr(query_calibration, "_images_of", lambda *args: calibrated.append(args) or images_of(*args))

    def answers():
        query_calibration._judge.cache_clear()  # as in a process that begins
        return judge_of(run).judge(load("digits").test.images[:200] // 2, run.embeddings[:200])

    assert answers() == answers() == answers()
    assert len(calibrated) == 1
    write_all(run.path / "weights.safetensors", io.BytesIO((run.path / "weights.safetensors").read_bytes()))
    assert answers() == answers()
    assert len(calibrated) == 2
    (run.path / query_calibration.KEPT).write_bytes(b"cut off")
    assert answers()[0]["basis"] == "Calibrated on 596 test images, each against the others."
    monkeypatch.setattr(query_calibration, "_images_of", lambda *args: None)  # the data set is not on this machine
    assert [*Judge(run).calibration.signals.distances] == ["embedding"]
