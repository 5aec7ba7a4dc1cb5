"""Features computed by a worker: stopped, continued, finished; and files that hold no weights of the backbone."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from dmlviz import data
from dmlviz.catalog import custom_datasets
from dmlviz.catalog.dataset_spec import DatasetSpec
from dmlviz.catalog.datasets import DATASETS
from dmlviz.cli.main import main
from dmlviz.data.backbone_weights import kept_weights, lock_of, remove_dataset, remove_unused, weights_of
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.jobs import job_record
from dmlviz.jobs.job_record import JobRecord, Work
from dmlviz.jobs.order import features as features_order
from dmlviz.nets import features as features_module
from dmlviz.storage.file_lock import FileLock
from dmlviz.workers import kinds
from dmlviz.workers.kinds import compute_features

PICTURES = "custom-00000000fea70e55"


class MeanPixel:
    """A backbone that says of each image its mean; it counts the images that it sees."""

    seen = 0

    def __init__(self, spec, weights):
        self.spec = spec

    def to(self, device):
        return self

    def features(self, images):
        MeanPixel.seen += len(images)
        return np.repeat(images.reshape(len(images), -1).mean(axis=1)[:, None], self.spec.dimensions, axis=1)


@pytest.fixture
def root(tmp_path):
    """A data folder with 12 images to train on and 4 to test on."""
    spec = DatasetSpec(name=PICTURES, title="Squares", summary="", classes=("a", "b"), size=8, mean=0.5, std=0.5)
    images, labels = np.random.default_rng(0).integers(0, 256, (16, 8, 8), np.uint8), np.arange(16) % 2
    parts = {"train_images": images[:12], "train_labels": labels[:12], "test_images": images[12:]}
    custom_datasets.save(tmp_path, PICTURES, spec.to_dict(), parts | {"test_labels": labels[12:]})
    DATASETS.add_search_path(tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Blocks of 4 images, a net that only takes means, and no wait between two words on the progress."""
    MeanPixel.seen = 0
    monkeypatch.setattr(features_module, "BLOCK", 4)
    monkeypatch.setattr(features_module, "Backbone", MeanPixel)
    monkeypatch.setattr(features_module, "find_weights", lambda spec, path: {"one": torch.ones(2)})
    monkeypatch.setattr(job_record, "REPORT_INTERVAL_S", 0.0)


def order(root, weights=None, **more):
    asked = {"dataset": PICTURES, "backbone": "resnet18", "weights": None if weights is None else str(weights)}
    return features_order(root / "order", {"kind": "features", **asked, "title": "Seen", **more}).begin()


def test_features_are_computed_with_progress_and_become_a_data_set(root, quick):
    record = order(root)
    compute_features(Work(record.path, root))
    events = record.events()
    assert [event["event"] for event in events] == ["started", *["progress"] * 5, "finished"]
    assert [event["done"] for event in events[1:-1]] == [0, 4, 8, 12, 16]
    assert {event["of"] for event in events[1:-1]} == {16}
    assert events[1]["left"] is None
    assert events[4]["left"] > 0
    assert record.progress == events[-2]
    made = record.end["dataset"]
    assert DATASETS[made].title == "Seen"
    assert DATASETS[made].features.dimensions == 512
    images = data.load(PICTURES, root).test.images
    np.testing.assert_allclose(data.load(made, root).test.features[:, 0], images.mean(axis=(1, 2)), rtol=1e-3)


def test_what_was_stopped_goes_on_from_there_and_nothing_is_listed_before_the_end(root, quick):
    record = order(root)
    compute_features(Work(record.path, root, lambda: MeanPixel.seen >= 8))
    assert record.end["event"] == "stopped"
    assert record.progress["done"] == 8
    assert list(custom_datasets.list_names(root)) == [PICTURES]
    assert kept_weights(root, "resnet18") == []
    again = order(root)
    compute_features(Work(again.path, root))
    assert again.events()[1]["done"] == 8
    assert MeanPixel.seen == 16
    assert again.end["event"] == "finished"


def test_a_computation_stops_at_its_room_and_goes_on_with_more(root, quick):
    record = order(root, room=5_000)  # three blocks of 4 × 512 halves are 12 kB
    compute_features(Work(record.path, root))
    assert record.end["event"] == "stopped"
    assert record.end["reason"] == "stopped: it may take 5 kB; delete runs, data or studies, and go on"
    assert 0 < record.progress["done"] < 16
    compute_features(Work(order(root, room=10_000_000).path, root))
    assert (record.end["event"], MeanPixel.seen) == ("finished", 16)


def test_of_two_equal_computations_at_once_one_waits_to_be_asked_again(root, quick):
    place = root / "backbones"
    refused = []

    def begin_again(done, of):
        with pytest.raises(UserError, match="Another process is computing these features of Squares") as error:
            features_module.add_features(PICTURES, "resnet18", data=root)
        refused.append(error)

    made = features_module.add_features(PICTURES, "resnet18", data=root, progress=begin_again)
    assert len(refused) == 5
    assert MeanPixel.seen == 16
    assert features_module.add_features(PICTURES, "resnet18", data=root) == made
    assert [path.suffix for path in place.iterdir()] == [".safetensors"]  # neither blocks nor a lock are left


def test_a_computation_that_ends_before_its_first_image_leaves_nothing(root, quick):
    record = order(root)
    compute_features(Work(record.path, root, lambda: True))
    assert record.end["event"] == "stopped"
    assert not [*record.path.glob(".custom-*")]


def test_the_command_line_says_how_far_it_is_and_what_ctrl_c_keeps(root, quick, monkeypatch, capsys):
    def command():
        with pytest.raises(SystemExit) as end:
            main(["data", "features", PICTURES, "--data", str(root)])
        return end.value.code or 0, capsys.readouterr().out.splitlines()

    def interrupted(net, images):
        if MeanPixel.seen == 8:
            raise KeyboardInterrupt
        return computed(net, images)

    computed = MeanPixel.features
    monkeypatch.setattr(MeanPixel, "features", interrupted)
    kept = "The features of 8 of 16 images are kept: the same command goes on from there."
    assert command() == (130, ["4 of 16 images", "8 of 16 images", kept])
    monkeypatch.setattr(MeanPixel, "features", computed)
    code, lines = command()
    assert (code, lines[:3]) == (0, ["8 of 16 images", "12 of 16 images", "16 of 16 images"])
    assert lines[-1] in custom_datasets.list_names(root)


def test_weights_stay_as_long_as_a_data_set_needs_them(root, quick):
    record = order(root)
    compute_features(Work(record.path, root))
    made = record.end["dataset"]
    file = weights_of(root, made)
    assert file.exists()
    assert kept_weights(root, "resnet18") == [DATASETS[made].features.weights]
    assert weights_of(root, PICTURES) is None
    long_ago = file.stat().st_mtime - 1e6
    os.utime(file, (long_ago, long_ago))
    remove_unused(root)
    assert file.exists()
    custom_datasets.remove(root, made)
    remove_unused(root)
    assert not file.exists()


def test_with_the_last_data_set_of_its_weights_they_go_at_once(root, quick, monkeypatch):
    made = features_module.add_features(PICTURES, "resnet18", data=root)
    monkeypatch.setattr(features_module, "VERSION", 2)
    other = features_module.add_features(PICTURES, "resnet18", data=root)
    file = weights_of(root, made)
    assert (made != other, weights_of(root, other)) == (True, file)
    remove_dataset(root, made)
    assert file.exists()
    remove_dataset(root, other)
    assert not file.exists()


def test_what_nobody_went_on_computing_is_deleted_unless_a_process_is_at_it(root, quick):
    def interrupted(done, of):
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        features_module.add_features(PICTURES, "resnet18", data=root, progress=interrupted)
    (blocks,) = (path for path in (root / "backbones").iterdir() if path.is_dir())
    assert len([*blocks.iterdir()]) == 2
    remove_unused(root)
    assert blocks.exists()
    os.utime(blocks, (0, 0))
    lock = FileLock(lock_of(blocks))
    assert lock.acquire()
    remove_unused(root)
    assert blocks.exists()
    lock.release()
    remove_unused(root)
    assert [*(root / "backbones").iterdir()] == []


class Code:
    """What a pickle with code holds: it makes a folder when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_file_without_the_weights_of_the_backbone_is_one_sentence(root, monkeypatch):
    (root / "text.pth").write_text("no weights")
    torch.save({"conv1.weight": torch.zeros(64, 3, 7, 7), "more": torch.zeros(1)}, root / "other.pth")
    (root / "cut.pth").write_bytes((root / "other.pth").read_bytes()[:9000])
    (root / "code.pth").write_bytes(pickle.dumps(Code(str(root / "executed"))))
    torch.save({"conv1.weight": Code(str(root / "executed"))}, root / "zipped.pth")
    for name, words in {
        "text.pth": "is neither",
        "other.pth": "choose the backbone that the file belongs to",
        "cut.pth": "is cut off or damaged",
        "code.pth": "holds more than tensors, which is never executed",
        "zipped.pth": "holds more than tensors, which is never executed",
        "none.pth": "There is no file",
    }.items():
        record = order(root, root / name)
        compute_features(Work(record.path, root))
        assert record.end["event"] == "failed"
        assert words in record.end["reason"]
        assert name in record.end["reason"]
        assert "Internal error" not in record.end["reason"]
    assert not (root / "executed").exists()
    assert kept_weights(root, "resnet18") == []

    monkeypatch.setattr(kinds, "MAX_UNPACKED_BYTES", 10_000)
    with zipfile.ZipFile(root / "bomb.pth", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(1_000_000))
    record = order(root, root / "bomb.pth")
    compute_features(Work(record.path, root))
    assert "bomb.pth unpacks to" in record.end["reason"]


def test_an_order_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(DamagedFileError, match="holds no order"):
        _ = JobRecord(tmp_path).order
