"""What the playgrounds of the labs ask the nets that trials kept."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dmlviz.catalog.datasets import DATASETS
from dmlviz.data import data_root, made
from dmlviz.data.made.tracks import FRAMES, SIDE
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.labs.kept_arrays import NET
from dmlviz.labs.pair_training import normalize
from dmlviz.labs.registry import answer
from dmlviz.labs.terrapattern import measure as terrapattern
from dmlviz.labs.tracking.measure import box_overlap, build_tracker
from dmlviz.labs.training import fill_with_kept, keep_net
from dmlviz.labs.two_domains import VARIANTS
from dmlviz.labs.two_domains.measure import build_towers, domains
from dmlviz.labs.two_domains.playground import prepare


@pytest.fixture(scope="module")
def tracker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracker")
    keep_net(build_tracker("trained", 3), folder)
    return folder


def follow(folder: Path, **changes: Any) -> dict[str, Any]:
    about = {"lab": "tracking", "folder": str(folder), "stamp": 0, "dataset": "digits", "data": str(data_root(None))}
    return answer(about | {"video": 4, "distractors": 3, "noise": 8, "box": None} | changes)


def frames_of(video: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(video["frames"]), np.uint8).reshape(FRAMES, SIDE, SIDE)


def test_a_video_is_followed_by_each_method_from_the_true_box(tracker_folder: Path) -> None:
    video = follow(tracker_folder)
    truth = np.array(video["truth"])
    assert video["first"] == video["truth"][0]
    assert [one["title"] for one in video["followers"]] == ["learned similarity", "pixel correlation", "untrained net"]
    for one in video["followers"]:
        boxes = np.array(one["boxes"])
        assert boxes.shape == (FRAMES, 3)
        assert one["overlaps"] == pytest.approx(box_overlap(boxes, truth).tolist(), abs=0.02)  # both are rounded
        assert one["overlaps"][0] == 1
        lost = [i for i, overlap in enumerate(one["overlaps"]) if overlap <= 0.1]
        assert one["frames_followed"] == (lost[0] if lost else FRAMES)
        maps = np.frombuffer(base64.b64decode(one["maps"]), np.uint8).reshape(FRAMES, SIDE // 2, SIDE // 2)
        assert (maps.max(axis=(1, 2)) == 255).all()
        assert (maps.min(axis=(1, 2)) == 0).all()


@pytest.mark.slow
def test_fewer_distractors_and_less_noise_leave_the_target_on_its_way(tracker_folder: Path) -> None:
    calm, noisy = follow(tracker_folder, noise=0), follow(tracker_folder, noise=30)
    assert follow(tracker_folder, distractors=0)["truth"] == calm["truth"] == noisy["truth"]
    without, some = (frames_of(follow(tracker_folder, noise=0, distractors=n)).astype(int) for n in (0, 3))
    changed = np.abs(without - some).max(axis=0) > 0
    assert 0.02 < changed.mean() < 1  # only where a distractor was
    difference = frames_of(noisy).astype(int) - frames_of(calm)
    assert 20 < difference[:, 4:-4, 4:-4].std() < 31  # a little less than 30: no gray is below 0


@pytest.mark.slow
def test_a_box_around_a_distractor_is_judged_by_that_distractor(tracker_folder: Path) -> None:
    target = np.array(follow(tracker_folder)["truth"])
    row, column, _ = target[0]
    far = [SIDE - 12 if row < SIDE / 2 else 12, SIDE - 12 if column < SIDE / 2 else 12, 20]
    other = follow(tracker_folder, distractors=6, box=far)
    assert other["first"] == far
    assert np.abs(np.array(other["truth"]) - target).max() > 5
    tiny = follow(tracker_folder, box=[-50, 500, 0.1])
    assert tiny["first"] == [0, SIDE - 1, 6]


@pytest.mark.parametrize("wrong", [{"video": -1}, {"distractors": 7}, {"noise": 61}, {"noise": float("nan")}])
def test_numbers_out_of_range_are_refused(tracker_folder: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match="There are 100 videos, with up to 6 distractors"):
        follow(tracker_folder, **wrong)


@pytest.mark.parametrize("wrong", [{"box": [1, 2]}, {"box": "here"}, {"video": "one"}])
def test_a_question_that_makes_no_sense_gets_a_sentence(tracker_folder: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"A box is the row and the column|does not understand the question"):
        follow(tracker_folder, **wrong)


def test_a_lab_without_a_playground_says_so() -> None:
    with pytest.raises(UserError, match="The lab scale has no playground that asks"):
        answer({"lab": "scale"})


def test_a_kept_net_gives_what_it_gave_before(tmp_path: Path) -> None:
    net = torch.nn.Linear(3, 2)
    keep_net(net, tmp_path)
    x = torch.eye(3)
    torch.testing.assert_close(fill_with_kept(torch.nn.Linear(3, 2), tmp_path)(x), net(x), atol=2e-3, rtol=0)
    with pytest.raises(DamagedFileError, match="does not hold the weights"):
        fill_with_kept(torch.nn.Linear(4, 2), tmp_path)
    (tmp_path / NET).write_bytes(b"nonsense")
    with pytest.raises(DamagedFileError):
        fill_with_kept(torch.nn.Linear(3, 2), tmp_path)


@pytest.fixture(scope="module")
def towers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("towers")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        keep_net(build_towers(VARIANTS["match, last shared"]._asdict(), 28), folder)
    return folder


def search(folder: Path, data: Path, **changes: Any) -> dict[str, Any]:
    about = {"lab": "two-domains", "folder": str(folder), "stamp": 0, "dataset": "digits", "data": str(data)}
    return answer(about | {"variant": "match, last shared", "drawing": None} | changes)


def test_a_drawing_finds_the_photographs_that_are_nearest(towers_folder: Path, tmp_path: Path) -> None:
    empty = search(towers_folder, tmp_path)
    assert empty["answer"] is None
    assert np.array(empty["places"]).shape == (2, 150, 2)
    source = made.load(DATASETS["sketches"], "digits", tmp_path)
    drawn = source.test.images[1]  # the sketch of the first photograph
    drawing = {"side": 28, "ink": base64.b64encode(drawn.tobytes()).decode(), "strokes": 1}
    reply = search(towers_folder, tmp_path, drawing=drawing)["answer"]

    net = fill_with_kept(build_towers(VARIANTS["match, last shared"]._asdict(), 28), towers_folder)
    photographs, _ = domains(source.test, source.mean, source.std)
    asked = normalize(prepare(drawn, 28)[None], source.mean, source.std)
    distances = torch.cdist(net.b(asked), net.a(photographs))[0]  # by another formula
    order = distances.argsort()[:12]
    assert [one["distance"] for one in reply["nearest"]] == pytest.approx(distances[order].tolist(), abs=2e-3)
    garments = source.test.roles["garment"][0::2]
    assert [one["garment"] for one in reply["nearest"]] == garments[order.numpy()].tolist()
    assert all(one["item"] == (item if item < 150 else -1) for one, item in zip(reply["nearest"], order, strict=True))


def test_a_drawing_fills_the_image_as_the_sketches_do() -> None:
    drawing = np.zeros((56, 56), np.uint8)
    drawing[40:50, 3:8] = 255  # 10 high, 5 wide, in a corner
    image = prepare(drawing, 28)
    rows, columns = np.nonzero(image > 128)
    assert (rows.max() - rows.min() + 1, columns.max() - columns.min() + 1) == (26, 13)
    assert abs((rows.max() + rows.min()) / 2 - 13.5) <= 1
    assert abs((columns.max() + columns.min()) / 2 - 13.5) <= 1
    with pytest.raises(UserError, match="Nothing is drawn yet"):
        prepare(np.zeros((56, 56), np.uint8), 28)


@pytest.mark.slow
@pytest.mark.parametrize("drawing", [{"side": 28, "ink": "AAAA"}, {"side": 0, "ink": ""}, {"side": 9000, "ink": ""}])
def test_half_a_drawing_is_refused(towers_folder: Path, tmp_path: Path, drawing: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="did not arrive whole"):
        search(towers_folder, tmp_path, drawing=drawing)


def test_the_tiles_of_a_picture_are_embedded_row_after_row(tmp_path: Path) -> None:
    net = terrapattern.build_net(28, 5)
    keep_net(net, tmp_path)
    tiles = np.random.default_rng(0).integers(0, 256, (144, 28, 28), np.uint8)
    picture = tiles.reshape(12, 12, 28, 28).swapaxes(1, 2).reshape(336, 336)
    about = {"lab": "terrapattern", "folder": str(tmp_path), "stamp": 0, "dataset": "digits", "data": ""}
    pixels = base64.b64encode(picture.tobytes()).decode()
    reply = answer(about | {"columns": 12, "pixels": pixels})
    spec = DATASETS["digits"]
    rows = np.frombuffer(base64.b64decode(reply["embeddings"]), np.int8).reshape(144, reply["dimensions"])
    expected = terrapattern.directions(net.eval()(normalize(tiles, spec.mean, spec.std)).detach().numpy())
    assert np.abs(rows.astype(int) - expected).max() <= 2  # the weights are kept in 16 bits
    assert np.abs(np.linalg.norm(rows, axis=1) - 127).max() < 3
    with pytest.raises(UserError, match="did not arrive whole"):
        answer(about | {"columns": 13, "pixels": pixels})
    with pytest.raises(UserError, match="12 to 56 tiles in a row; got 400"):
        answer(about | {"columns": 400, "pixels": pixels})
