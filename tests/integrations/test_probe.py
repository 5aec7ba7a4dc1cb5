"""What a callback takes as the images that it embeds, and which nets it leaves alone."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import distributed, nn
from torch.utils.data import TensorDataset

from dmlviz.errors import UserError
from dmlviz.integrations import probe
from dmlviz.integrations.probe import Probe, to_probe
from dmlviz.recording import RecordingWarning
from dmlviz.runs.store import Runs

IMAGES = torch.arange(3 * 4).float().reshape(3, 1, 2, 2)
LABELS = [0, 2, 1]
MAPPINGS = [{"pixel_values": image, "labels": label} for image, label in zip(IMAGES, LABELS, strict=True)]


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        (IMAGES, None),
        (IMAGES.numpy(), None),
        (list(IMAGES), None),
        (list(IMAGES.numpy()), None),
        (TensorDataset(IMAGES), None),
        (TensorDataset(IMAGES, torch.tensor(LABELS)), LABELS),
        (MAPPINGS, LABELS),
    ],
)
def test_every_way_to_keep_images_gives_one_tensor(images, labels):
    tensor, found = to_probe(images, None)
    assert torch.equal(tensor, IMAGES)
    assert found == labels
    assert to_probe(images, [5, 6, 7])[1] == [5, 6, 7]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([Image.new("L", (2, 2))] * 3, "got list of Image: apply the transform of the training first"),
        ([torch.zeros(1, 2, 2), torch.zeros(1, 2, 3)], r"got shapes \(1, 2, 2\) and \(1, 2, 3\)"),
        ([], "got none"),
        (iter(IMAGES), "got generator|got .*iterator"),
        (["a.png"] * 3, "got list of str"),
    ],
)
def test_other_images_are_refused(images, message):
    with pytest.raises(UserError, match=message):
        to_probe(images, None)


def test_more_than_fits_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(probe, "MAX_BYTES", 40)
    with pytest.raises(UserError, match=r"got 3 with .* GB: pass fewer, as with torch.utils.data.Subset"):
        to_probe(TensorDataset(IMAGES), None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "Each image has one label; got 3 images and 2 labels"),
        ({"labels": np.ones((3, 4))}, "one label for each"),
        ({"shown": None}, "needs labels, or images to show"),
        ({"batch_size": 0}, "batch_size is at least 1; got 0"),
        ({"labels": [0, 1, 0], "projection": "mds"}, "no projection called 'mds'"),
    ],
)
def test_what_is_wrong_is_said_before_the_training(arguments, message):
    with pytest.raises(UserError, match=message):
        Probe("wrong", IMAGES, **arguments)
    with pytest.raises(TypeError, match="stepz"):
        Probe("wrong", IMAGES, LABELS, stepz=3)


def test_a_net_that_is_spread_over_processes_is_left_alone(tmp_path):
    """One process that asks for the weights of the others would wait for them for ever."""
    from torch.distributed.device_mesh import init_device_mesh  # a second, which no other test needs
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        net = fully_shard(nn.Linear(4, 4), mesh=init_device_mesh("cpu", (2,)))
        probe = Probe("spread", IMAGES, LABELS, runs=tmp_path, data=tmp_path)
        with pytest.warns(RecordingWarning, match="weights are spread over processes"):
            probe.snapshot(net, 0)
        probe.end()
    finally:
        distributed.destroy_process_group()
    assert Runs(tmp_path, bundled=tmp_path / "none").list() == []
