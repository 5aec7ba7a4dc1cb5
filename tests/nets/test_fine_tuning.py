"""Unfrozen blocks of a pretrained backbone, and mixed precision: from the settings to a run and its queries."""

import io
import re

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from dmlviz import TrainConfig, add_features, data
from dmlviz.catalog.backbones import BACKBONES, blocks_of
from dmlviz.catalog.datasets import DATASETS
from dmlviz.config.training import cost_note
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.onnx_file import behind_backbone, save_net
from dmlviz.export.query_net import query_net
from dmlviz.export.weights import loading
from dmlviz.jobs.order import LARGE_NET_FACTOR, training
from dmlviz.nets import build
from dmlviz.nets.backbones import Backbone
from dmlviz.nets.features import backbone_of
from dmlviz.nets.fine_tuned import FineTunedNet, fine_tuned
from dmlviz.ops.pairwise import l2_normalize
from dmlviz.runs.archive import export_run, import_run
from dmlviz.runs.damage import check
from dmlviz.runs.embed import embed, embed_and_place, embed_untrained, trained_net
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.search_api.service import SearchService
from dmlviz.training.batch_record import BatchRecord
from dmlviz.training.events import Finished, Snapshot, Started
from dmlviz.training.loop import train
from dmlviz.training.optimizers import Precision
from dmlviz.training.trainer import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_backbone")]

SETTINGS = {"net": "linear", "embedding_dim": 4, "classes_per_batch": 2, "images_per_class": 4, "num_snapshots": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with features of 20 red pictures and 20 blue ones, by a ResNet-18 with random weights."""
    root, pictures = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for channel, name in ((0, "red"), (2, "blue")):
        (pictures / name).mkdir()
        for number in range(20):
            pixels = rng.integers(0, 120, (16, 16, 3), np.uint8)
            pixels[..., channel] += 130
            Image.fromarray(pixels).save(pictures / name / f"{number}.png")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        state = pytest.importorskip("torchvision.models").get_model("resnet18", weights=None).state_dict()
    save_file(state, root / "resnet18.safetensors")
    from dmlviz.runs.add_data import add_data

    name = add_features(add_data(pictures, data=root), "resnet18", weights=root / "resnet18.safetensors", data=root)
    return root, name


@pytest.fixture(scope="module")
def dataset(folder):
    root, name = folder
    return data.load(name, root)


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    root, name = folder
    config = TrainConfig(dataset=name, steps=6, unfrozen_blocks=1, **SETTINGS)
    run = Runs(tmp_path_factory.mktemp("runs")).create(config)
    list(train_and_record(run, data_root=root))
    return Run(run.path)


@pytest.mark.parametrize("name", list(BACKBONES))
def test_the_blocks_of_each_backbone_come_in_the_order_of_its_parameters(name):
    spec = BACKBONES[name]
    with torch.device("meta"):
        if spec.library == "timm":
            net = pytest.importorskip("timm").create_model(spec.weights, pretrained=False)
        else:
            net = pytest.importorskip("torchvision.models").get_model(name, weights=None)
    names = [each for each, _ in net.named_parameters()]
    starts = [next(i for i, each in enumerate(names) if each.startswith(f"{block}.")) for block in spec.blocks]
    assert starts == sorted(starts)
    assert starts[0] > 0
    behind = [each for each in names[starts[-1] :] if not each.startswith((f"{spec.blocks[-1]}.", f"{spec.head}."))]
    assert all(
        re.match(r"(encoder\.ln|norm|features\.\d|classifier\.0)\.", each) for each in behind
    )  # no stem, no token


def test_before_the_first_step_embeddings_are_those_of_the_head_on_the_features(folder, dataset):
    _, name = folder
    config = TrainConfig(dataset=name, steps=1, **SETTINGS)
    cpu = torch.device("cpu")
    frozen, unfrozen = Trainer(config, dataset, cpu), Trainer(config.replace(unfrozen_blocks=2), dataset, cpu)
    expected = frozen.embed(frozen.test_images)
    np.testing.assert_allclose(unfrozen.embed(unfrozen.test_images), expected, atol=5e-3)
    rows = np.array([3, 1])
    np.testing.assert_allclose(
        unfrozen.embed(unfrozen.validation_images, rows), frozen.embed(frozen.validation_images, rows), atol=5e-3
    )


def test_only_the_unfrozen_blocks_and_the_head_move(folder, dataset):
    _, name = folder
    trainer = Trainer(
        TrainConfig(dataset=name, steps=3, unfrozen_blocks=1, weight_decay=0.1, **SETTINGS),
        dataset,
        torch.device("cpu"),
    )
    assert isinstance(trainer.net, FineTunedNet)
    before = {key: value.clone() for key, value in trainer.net.state_dict().items()}
    for step in range(1, 4):
        trainer.train_step(step)
    after = trainer.net.state_dict()
    moved = {key for key in before if not torch.equal(before[key], after[key])}
    assert moved == {
        key for key, parameter in trainer.net.named_parameters() if key.startswith(("head.", "backbone.body.layer4."))
    }
    assert not any("running" in key for key in moved)  # the statistics of batch normalization are kept
    kept = trainer.weights()
    assert set(kept) == moved
    rates = [group["lr"] for group in trainer.optimizer.param_groups]
    assert rates[1] == pytest.approx(0.01 * rates[0])


def test_frozen_batch_norm_stays_in_the_unfrozen_blocks_and_is_not_kept(folder, dataset):
    _, name = folder
    config = TrainConfig(dataset=name, steps=3, unfrozen_blocks=1, frozen_batch_norm=True, **SETTINGS)
    trainer = Trainer(config, dataset, torch.device("cpu"))
    before = {key: value.clone() for key, value in trainer.net.state_dict().items()}
    for step in range(1, 4):
        trainer.train_step(step)
    moved = {key for key, value in trainer.net.state_dict().items() if not torch.equal(before[key], value)}
    assert "backbone.body.layer4.0.conv1.weight" in moved
    assert not any(".bn" in key for key in moved)
    kept = {key: torch.from_numpy(value) for key, value in trainer.weights().items()}
    assert kept.keys() == {key for key in fine_tuned(config).load_trained(kept).trained_state() if ".bn" not in key}


def test_gradients_stop_at_the_first_unfrozen_block(folder):
    _, name = folder
    net = fine_tuned(TrainConfig(dataset=name, unfrozen_blocks=1, **SETTINGS), seed=0)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x.shape) or x, lambda x: x):
        net(torch.zeros(2, 3, 16, 16, dtype=torch.uint8))
    assert (2, 64, 8, 8) not in saved  # what the first block gets; nothing before the last one is remembered
    assert (2, 256, 2, 2) in saved  # what the last block gets


def test_a_run_keeps_what_was_trained_once_and_everything_embeds_with_it(run, dataset, tmp_path):
    assert run.state == "finished"
    assert run.info["precision"] == "float32"
    assert run.checkpoint_steps == []
    stored = load_file(run.path / "weights.safetensors")
    assert {key.split(".")[2] for key in stored if key.startswith("backbone.")} == {"layer4"}
    assert not list(check(run, thorough=True))
    images = dataset.test.images
    np.testing.assert_allclose(embed(run, images), run.embeddings, atol=1e-5)
    answer = embed_and_place(run, images[:2], trajectory=True)
    np.testing.assert_allclose(answer["embeddings"], run.embeddings[:2], atol=1e-5)
    assert answer["trajectory"]["steps"] == []
    with pytest.raises(UserError, match="keeps no weights of step 0: of a large net only the last are kept"):
        embed(run, images[:1], step=0)
    untrained = embed_untrained(run, images)
    np.testing.assert_allclose(untrained[run.tracked_indices], run.snapshot(0), atol=5e-3)
    Image.fromarray(images[5]).save(tmp_path / "picture.png")
    found = SearchService(run, None).answer((tmp_path / "picture.png").read_bytes(), 1)
    assert found["neighbors"][0]["item"] == 5


def test_a_step_of_a_large_net_has_time_to_end_when_its_training_is_stopped(run):
    usual, large = TrainConfig(dataset="digits"), run.config
    orders = [training(Runs(run.path.parent), config) for config in (usual, large.replace(seed=1))]
    assert [order.timeout_factor for order in orders] == [1, LARGE_NET_FACTOR]


def test_the_loading_code_works_and_a_page_does_not_hold_the_net(run, dataset, monkeypatch):
    export = RunExport(run, None)
    monkeypatch.chdir(run.path)
    names = {"images": torch.from_numpy(dataset.test.images).permute(0, 3, 1, 2)}
    exec(loading(export).replace(export.file_name("weights"), "weights.safetensors"), names)
    np.testing.assert_allclose(names["embeddings"].detach().numpy(), run.embeddings, atol=1e-5)
    with pytest.raises(UserError, match="needs its backbone"):
        query_net(export)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's exporter warns of what it does itself
def test_an_onnx_file_scales_pixels_as_the_backbone_does(run, dataset):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    net, file = behind_backbone(trained_net(run), run.config.dataset), io.BytesIO()
    images = torch.from_numpy(dataset.test.images[:3]).permute(0, 3, 1, 2)
    with torch.inference_mode():
        np.testing.assert_allclose(net(images), run.embeddings[:3], atol=1e-5)
        body = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, 5), torch.nn.Flatten(), torch.nn.LazyLinear(512))
        body(torch.zeros(1, 3, 32, 32))
    net.backbone.body = body  # ResNet-18 would take five seconds to write
    save_net(net, images[:2], file)
    given = onnxruntime.InferenceSession(file.getvalue()).run(None, {"images": images.numpy()})[0]
    with torch.inference_mode():
        np.testing.assert_allclose(given, net(images), atol=1e-5)


def test_a_head_on_features_is_exported_behind_its_backbone(folder, dataset):
    head = build("mlp", embedding_dim=4, features=512, seed=0).eval()
    net = behind_backbone(head, folder[1])
    features = DATASETS[folder[1]].features
    given = (torch.from_numpy(dataset.test.features.astype(np.float32)) - features.mean) / features.std
    with torch.inference_mode():
        expected = head(given[:, :, None, None])
        embeddings = net(torch.from_numpy(dataset.test.images).permute(0, 3, 1, 2))
    np.testing.assert_allclose(embeddings, expected, atol=5e-3)


def test_an_imported_run_embeds_where_the_backbone_is_and_says_so_where_it_is_not(run, folder, dataset, tmp_path):
    with (tmp_path / "run.zip").open("wb") as file:
        export_run(run, file)
    with (tmp_path / "run.zip").open("rb") as file:
        moved = import_run(file, Runs(tmp_path / "runs"))
    np.testing.assert_allclose(embed(moved, dataset.test.images[:2]), run.embeddings[:2], atol=1e-5)
    (file,) = (folder[0] / "backbones").glob("*.safetensors")
    away = file.rename(file.with_suffix(".away"))
    weights = moved.path / "weights.safetensors"
    try:
        weights.touch()  # not the net that is kept in memory
        with pytest.raises(
            UserError, match=r"unfrozen blocks needs the file of weights resnet18-\w+\.safetensors.*copy it"
        ):
            embed(moved, dataset.test.images[:1])
    finally:
        away.rename(file)
    stored = load_file(weights)
    for damage in ({**stored, "backbone.body.conv1.weight": torch.zeros(1)}, dict(list(stored.items())[1:])):
        save_file(damage, weights)
        with pytest.raises(DamagedFileError, match="does not hold the weights"):
            embed(moved, dataset.test.images[:1])


def test_with_unfrozen_blocks_images_are_augmented_and_views_made(folder, dataset):
    _, name = folder
    config = TrainConfig(
        dataset=name, steps=1, unfrozen_blocks=1, views=2, augmentation={"rotate": 20.0}, use_labels=False,
        batch_size=6, **{key: SETTINGS[key] for key in ("net", "embedding_dim", "num_snapshots")},
    )  # fmt: skip
    events = list(train(config, data=dataset))
    (batch,) = [event for event in events if isinstance(event, BatchRecord)]
    assert batch.pixels.shape == (12, 16, 16, 3)
    assert not np.array_equal(batch.pixels[0], batch.pixels[6])
    assert batch.images[0] == batch.images[6]
    assert isinstance(events[-1], Finished)


def test_settings_that_do_not_go_with_the_data_are_refused_in_a_sentence(folder):
    _, name = folder
    assert blocks_of(DATASETS[name]) == 4
    assert not blocks_of(DATASETS["digits"])
    with pytest.raises(UserError, match="has 4 blocks; got unfrozen_blocks = 5: use 4 or fewer"):
        TrainConfig(dataset=name, unfrozen_blocks=5)
    with pytest.raises(UserError, match="and Digits 8 × 8 has none; got unfrozen_blocks = 1"):
        TrainConfig(dataset="digits", unfrozen_blocks=1)
    with pytest.raises(UserError, match="or unfreeze blocks"):
        TrainConfig(dataset=name, augmentation={"rotate": 15.0})
    frozen = TrainConfig(dataset=name)
    assert len({frozen.replace(unfrozen_blocks=count).id for count in range(5)}) == 5
    assert "unfrozen_blocks" not in frozen.to_json()
    config = TrainConfig(dataset=name, unfrozen_blocks=4, backbone_rate=0.5, augmentation={"rotate": 15.0})
    digits = config.replace(dataset="digits", net="mlp")
    assert (digits.unfrozen_blocks, digits.backbone_rate, digits.augmentation) == (0, 0.01, {"rotate": 15.0})
    assert digits.replace(dataset=name).augmentation == {}
    assert config.replace(loss="triplet").unfrozen_blocks == 4
    assert "last 4 blocks of the backbone trained, too, at 0.5 ×" in config.views_note
    images = config.effective_batch_size
    assert f"40 ms of one core for each image: {0.04 * images:.1f} s for a step of {images}" in cost_note(config)
    assert cost_note(frozen) == ""


def test_mixed_precision_gives_nearly_the_same_and_the_end_is_exact(folder, dataset, run):
    root, _ = folder
    config = run.config.replace(mixed_precision=True)
    events = list(train(config, data=dataset, root=root))
    assert next(event for event in events if isinstance(event, Started)).precision in ("bfloat16", "float16")
    first, end = next(event for event in events if isinstance(event, Snapshot)), events[-1]
    assert first.embeddings.dtype == np.float32
    np.testing.assert_allclose(first.embeddings, run.snapshot(0), atol=0.05)
    assert not np.array_equal(first.embeddings, run.snapshot(0))
    net = fine_tuned(config).load_trained({key: torch.from_numpy(value) for key, value in end.net_weights.items()})
    np.testing.assert_allclose(end.embeddings, net.embed(dataset.test.images), atol=1e-5)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_each_half_precision_moves_weights_as_32_bits_do_and_records_the_same_gradients(half):
    digits = data.load("digits")
    config = TrainConfig(dataset="digits", net="mlp", embedding_dim=4, optimizer="sgd", learning_rate=0.1, steps=3)
    plain, mixed = (Trainer(config, digits, torch.device("cpu")) for _ in range(2))
    mixed.precision = Precision(torch.device("cpu"), mixed=True, half=half)
    before = {key: value.copy() for key, value in plain.weights().items()}
    one, other = (trainer.record_batch(1, trainer.train_step(1, record=True)) for trainer in (plain, mixed))
    largest = np.abs(one.gradient).max()
    np.testing.assert_allclose(other.gradient, one.gradient, atol=0.1 * largest)
    for key, start in before.items():
        moved, also = plain.weights()[key] - start, mixed.weights()[key] - start
        assert mixed.weights()[key].dtype == np.float32
        assert np.linalg.norm(also - moved) < 0.1 * np.linalg.norm(moved) + 1e-9


def test_gradients_that_overflow_float16_skip_a_step_and_are_scaled_less():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    precision = Precision(torch.device("cpu"), mixed=True, half=torch.float16)
    scale = precision.gradient_scale
    assert not precision.update((weight * torch.inf).sum(), optimizer)
    assert torch.equal(weight, torch.ones(2))
    assert precision.gradient_scale == scale / 2
    assert precision.update(weight.sum(), optimizer)
    assert torch.equal(weight, torch.zeros(2))
    with torch.no_grad():
        weight.copy_(torch.tensor([3.0, 4.0]))
    with precision.autocast():
        embedding = l2_normalize((weight[None] @ torch.eye(2)).requires_grad_())
    assert not precision.update(1e6 * embedding[0, 0], optimizer)  # not cut off on its way back


def test_mixed_precision_is_for_any_net():
    config = TrainConfig(dataset="digits", net="small", steps=3, num_snapshots=1, mixed_precision=True)
    events = list(train(config, data=data.load("digits"), device="cpu"))
    assert events[0].precision == "bfloat16"
    assert np.isfinite(events[-1].embeddings).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
@pytest.mark.parametrize("mixed", [False, True])
def test_on_a_gpu_blocks_are_trained_and_the_run_embeds_on_the_processor(folder, dataset, tmp_path, mixed):
    root, name = folder
    config = TrainConfig(
        dataset=name, steps=4, unfrozen_blocks=2, mixed_precision=mixed, augmentation={"rotate": 5.0}, **SETTINGS
    )
    run = Runs(tmp_path).create(config)
    list(train_and_record(run, data_root=root))
    run = Run(run.path)
    assert run.info["device"].startswith("cuda")
    expected = fine_tuned(config).load_trained(load_file(run.path / "weights.safetensors")).embed(dataset.test.images)
    np.testing.assert_allclose(run.embeddings, expected, atol=5e-3)  # a GPU's convolutions keep 10 bits
    np.testing.assert_allclose(embed(run, dataset.test.images), run.embeddings, atol=5e-3)


def test_a_backbone_gives_the_same_features_at_any_chunk(folder, dataset, monkeypatch):
    backbone = backbone_of(folder[1], "A test")
    whole = backbone.features(dataset.test.images)
    monkeypatch.setattr(Backbone, "chunk", 3)
    np.testing.assert_allclose(backbone.features(dataset.test.images), whole, atol=1e-5)
