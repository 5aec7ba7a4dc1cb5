"""What the playgrounds of the labs ask the nets that trials kept."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dmlviz.data import data_root
from dmlviz.data.made.tracks import FRAMES, SIDE
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.labs.kept_arrays import NET
from dmlviz.labs.measures.kept_net import fill_with_kept, keep_net
from dmlviz.labs.measures.tracking import box_overlap, build_tracker
from dmlviz.labs.playground import answer


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
        assert one["kept"] == (lost[0] if lost else FRAMES)
        maps = np.frombuffer(base64.b64decode(one["maps"]), np.uint8).reshape(FRAMES, SIDE // 2, SIDE // 2)
        assert (maps.max(axis=(1, 2)) == 255).all()
        assert (maps.min(axis=(1, 2)) == 0).all()


def test_fewer_distractors_and_less_noise_leave_the_target_on_its_way(tracker_folder: Path) -> None:
    calm, noisy = follow(tracker_folder, noise=0), follow(tracker_folder, noise=30)
    assert follow(tracker_folder, distractors=0)["truth"] == calm["truth"] == noisy["truth"]
    without, some = (frames_of(follow(tracker_folder, noise=0, distractors=n)).astype(int) for n in (0, 3))
    changed = np.abs(without - some).max(axis=0) > 0
    assert 0.02 < changed.mean() < 1  # only where a distractor was
    difference = frames_of(noisy).astype(int) - frames_of(calm)
    assert 20 < difference[:, 4:-4, 4:-4].std() < 31  # a little less than 30: no gray is below 0


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
