"""Pretrained backbones, without a network: random weights in a file, from there to a run and its queries."""

import io
import sys

import numpy as np
import pyarrow
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from dmlviz import TrainConfig, add_features, data
from dmlviz.catalog.backbones import BACKBONES
from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.nets import nets_for
from dmlviz.cli.main import main
from dmlviz.errors import UserError
from dmlviz.export.contents import RunExport
from dmlviz.export.query_net import query_net
from dmlviz.export.weights import loading
from dmlviz.nets import backbones, build
from dmlviz.nets import features as features_module
from dmlviz.nets.torchvision_operators import register_missing
from dmlviz.runs.add_data import add_data
from dmlviz.runs.embed import embed_and_place
from dmlviz.runs.run import Run
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.search_api.service import SearchService

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_backbone")]


@pytest.fixture(scope="module")
def models():
    """torchvision's models; to import them takes as long as to import torch."""
    register_missing()
    return pytest.importorskip("torchvision.models")


@pytest.fixture(scope="module")
def state(models):
    """The weights of a ResNet-18 with its classification layer, drawn at random."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return models.get_model("resnet18", weights=None).state_dict()


@pytest.fixture(scope="module")
def weights(state, tmp_path_factory):
    """Files with these weights: of torch.save, of safetensors, and of a checkpoint of a training on several GPUs."""
    folder = tmp_path_factory.mktemp("weights")
    torch.save(state, folder / "plain.pth")
    save_file(state, folder / "plain.safetensors")
    (folder / "renamed.pth").symlink_to("plain.safetensors")
    torch.save({"epoch": 3, "state_dict": {f"module.{key}": value for key, value in state.items()}}, folder / "own.pt")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with a data set of pictures: 24 red ones and 24 blue ones, with noise."""
    root, pictures = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for channel, name in ((0, "red"), (2, "blue")):
        (pictures / name).mkdir()
        for number in range(24):
            pixels = rng.integers(0, 120, (16, 16, 3), np.uint8)
            pixels[..., channel] += 130
            Image.fromarray(pixels).save(pictures / name / f"{number}.png")
    return root, add_data(pictures, data=root)


@pytest.fixture(scope="module")
def added(folder, weights):
    root, pictures = folder
    progress = []
    name = add_features(
        pictures,
        "resnet18",
        weights=weights / "plain.pth",
        data=root,
        progress=lambda done, of: progress.append((done, of)),
    )
    assert progress[0] == (0, 48)
    assert progress[-1] == (48, 48)
    return name


@pytest.fixture(scope="module")
def run(added, folder, tmp_path_factory):
    config = TrainConfig(dataset=added, steps=20, num_snapshots=3, embedding_dim=8, images_per_class=8)
    run = Runs(tmp_path_factory.mktemp("runs")).create(config)
    list(train_and_record(run, data_root=folder[0]))
    return Run(run.path)


@pytest.mark.parametrize("file", ["plain.pth", "plain.safetensors", "own.pt", "renamed.pth"])
def test_weights_are_read_from_each_format_without_the_classification_layer(weights, state, file):
    read = backbones.read_weights(BACKBONES["resnet18"], weights / file)
    assert set(read) == {key for key in state if not key.startswith("fc.")}
    assert torch.equal(read["conv1.weight"], state["conv1.weight"])


def test_features_are_what_the_classification_layer_of_torchvision_gets(models, weights, state):
    spec = BACKBONES["resnet18"]
    net = models.get_model("resnet18", weights=None)
    net.load_state_dict(state)
    net.fc = torch.nn.Identity()
    image = np.random.default_rng(0).integers(0, 256, (2, spec.side, spec.side, 3), np.uint8)
    pixels = torch.from_numpy(image).permute(0, 3, 1, 2).float() / 255
    pixels = (pixels - torch.tensor(spec.mean)[:, None, None]) / torch.tensor(spec.std)[:, None, None]
    with torch.inference_mode():
        expected = net.eval()(pixels).numpy()
    features = backbones.Backbone(spec, backbones.read_weights(spec, weights / "plain.pth")).features(image)
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, spec in BACKBONES.items() if spec.library == "torchvision"])
def test_each_backbone_is_one_of_torchvision_with_the_declared_layer_and_weights(models, name):
    spec = BACKBONES[name]
    with torch.device("meta"):
        net = models.get_model(name, weights=None)
    assert net.get_submodule(spec.head).in_features == spec.dimensions
    assert spec.weights in [str(known) for known in models.get_model_weights(name)]


@pytest.mark.parametrize("name", [name for name, spec in BACKBONES.items() if spec.library == "timm"])
def test_each_backbone_of_timm_is_declared_as_timm_declares_it(name):
    timm, spec = pytest.importorskip("timm"), BACKBONES[name]
    with torch.device("meta"):
        net = timm.create_model(spec.weights, pretrained=False)
    assert (net.num_features, net.pretrained_cfg["classifier"]) == (spec.dimensions, spec.head)
    assert (net.pretrained_cfg["mean"], net.pretrained_cfg["std"]) == (spec.mean, spec.std)


def test_features_by_timm_from_a_file(tmp_path):
    timm, spec = pytest.importorskip("timm"), BACKBONES["dinov2_s_14"]
    net = timm.create_model(spec.weights, pretrained=False, num_classes=0, dynamic_img_size=True).eval()
    save_file(net.state_dict(), tmp_path / "dinov2.safetensors")
    image = np.full((1, spec.side, spec.side, 3), 100, np.uint8)
    pixels = (
        torch.full((1, 3, spec.side, spec.side), 100 / 255) - torch.tensor(spec.mean)[:, None, None]
    ) / torch.tensor(spec.std)[:, None, None]
    with torch.inference_mode():
        expected = net(pixels).numpy()
    read = backbones.read_weights(spec, tmp_path / "dinov2.safetensors")
    np.testing.assert_allclose(backbones.Backbone(spec, read).features(image), expected, rtol=1e-3, atol=1e-4)


def test_without_timm_a_sentence_names_the_extra(monkeypatch, weights):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(UserError, match=r"dmlviz\[timm\]"):
        backbones.read_weights(BACKBONES["clip_b_16"], weights / "plain.pth")
    with pytest.raises(UserError, match=r"dmlviz\[timm\]"):
        backbones.download_weights(BACKBONES["clip_b_16"])


def test_a_wrong_file_is_refused_in_one_sentence(weights, state, tmp_path):
    torch.save({key: value for key, value in state.items() if key != "conv1.weight"}, tmp_path / "less.pth")
    torch.save(state | {"more": torch.zeros(1), "conv1.weight": torch.zeros(1)}, tmp_path / "more.pth")
    (tmp_path / "damaged.pth").write_bytes((weights / "plain.pth").read_bytes()[:1000])
    (tmp_path / "damaged.safetensors").write_bytes((weights / "plain.safetensors").read_bytes()[:1000])
    (tmp_path / "empty.pth").touch()
    (tmp_path / "page.pth").write_text("<!DOCTYPE html>")
    torch.save([1, 2], tmp_path / "list.pth")
    torch.save({}, tmp_path / "nothing.pth")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "model.pth")
    torch.save({"state_dict": state, "score": np.float64(1)}, tmp_path / "score.pth")
    torch.save(state | {"bn1.bias": state["bn1.bias"] / 0}, tmp_path / "nan.pth")
    for file, reason in {
        "less.pth": r"1 missing \(conv1.weight …\)",
        "more.pth": r"1 unknown \(more …\), 1 of another shape \(conv1.weight …\)",
        "damaged.pth": "is cut off or damaged",
        "damaged.safetensors": "is cut off or damaged",
        "empty.pth": "is cut off or damaged",
        "page.pth": "is neither",
        "nothing.pth": "holds no weights",
        "model.pth": "holds a whole model",
        "score.pth": "holds more than tensors",
        "nan.pth": r"1 of \d+ tensors hold others \(bn1.bias …\)",
        "list.pth": "holds something else",
        "none.pth": "There is no file",
    }.items():
        with pytest.raises(UserError, match=reason):
            backbones.read_weights(BACKBONES["resnet18"], tmp_path / file)


def test_without_a_network_the_message_says_what_to_do(monkeypatch):
    def fail(*_args, **_kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", fail)
    with pytest.raises(UserError, match=r"no route to host.*--weights"):
        backbones.download_weights(BACKBONES["resnet18"])


def test_the_data_set_holds_images_labels_and_features(added, folder):
    root, pictures = folder
    dataset, source, spec = data.load(added, root), data.load(pictures, root), DATASETS[added]
    assert spec.features.dimensions == 512
    assert spec.trainable
    assert nets_for(spec) == ["linear", "mlp"]
    for split, original in ((dataset.train, source.train), (dataset.test, source.test)):
        np.testing.assert_array_equal(split.images, original.images)
        np.testing.assert_array_equal(split.labels, original.labels)
        assert split.features.shape == (len(split), 512)
    assert dataset.train.select(np.array([1, 3])).features.shape == (2, 512)
    assert not [*(root / "backbones").glob(".custom-*")]  # nothing unfinished is left


def test_gray_images_and_the_columns_of_a_table_go_with_the_features(weights, tmp_path):
    rng, rows = np.random.default_rng(0), 8
    pictures = []
    for _ in range(rows):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (16, 16), np.uint8)).save(file, "PNG")
        pictures.append(file.getvalue())
    columns = {"label": list("aabb") * 2, "split": ["train"] * 4 + ["test"] * 4, "camera": [*range(rows)]}
    table = add_data(pyarrow.table({"image": pictures} | columns), data=tmp_path)
    name = add_features(table, "resnet18", weights=weights / "plain.pth", title="Gray", data=tmp_path)
    test = data.load(name, tmp_path).test
    assert DATASETS[name].title == "Gray"
    assert test.roles["camera"].tolist() == data.load(table, tmp_path).test.roles["camera"].tolist()
    spec = BACKBONES["resnet18"]
    net = backbones.Backbone(spec, backbones.read_weights(spec, weights / "plain.pth"))
    in_color = np.repeat(test.images[..., None], 3, axis=3)
    np.testing.assert_allclose(test.features, net.features(in_color), rtol=2e-3, atol=1e-3)


def test_the_same_images_and_weights_are_not_computed_again(added, folder, weights, monkeypatch):
    monkeypatch.setattr(backbones.Backbone, "features", lambda *_: pytest.fail("computed again"))
    root, pictures = folder
    assert add_features(pictures, "resnet18", weights=weights / "plain.safetensors", data=root) == added


def test_an_interrupted_computation_goes_on_where_it_stopped(folder, weights, state, tmp_path, monkeypatch):
    monkeypatch.setattr(features_module, "BLOCK", 16)
    torch.save(state | {"bn1.bias": state["bn1.bias"] + 1}, tmp_path / "other.pth")
    compute, seen = backbones.Backbone.features, []

    def interrupted(net, images):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(len(images))
        return compute(net, images)

    monkeypatch.setattr(backbones.Backbone, "features", interrupted)
    root, pictures = folder
    arguments = {"dataset": pictures, "backbone": "resnet18", "weights": tmp_path / "other.pth", "data": root}
    before = set(data.available_datasets(root))
    with pytest.raises(KeyboardInterrupt):
        add_features(**arguments)
    assert set(data.available_datasets(root)) == before  # nothing half is listed
    monkeypatch.setattr(backbones.Backbone, "features", lambda net, images: seen.append(0) or compute(net, images))
    name = add_features(**arguments)
    count = sum(len(split) for split in (data.load(name, root).train, data.load(name, root).test))
    assert count == 48
    assert seen.count(0) == 2  # of 4 blocks (38 training and 10 test images), 2 were there


def test_a_head_learns_and_the_run_opens(run, added):
    assert run.state == "finished"
    assert run.config.net == "linear"
    assert run.metrics["precision_at_1"] == 1.0  # red and blue differ in any random features
    assert run.embeddings.shape == (len(run.labels), 8)
    assert DATASETS[added].features is not None


def test_a_picture_of_the_data_set_gets_its_own_embedding_and_a_new_one_goes_through_the_backbone(run, folder):
    images = data.load(run.config.dataset, folder[0]).test.images[:3]
    answer = embed_and_place(run, images, trajectory=True)
    np.testing.assert_allclose(answer["embeddings"], run.embeddings[:3], atol=1e-5)
    assert len(answer["trajectory"]["embeddings"]) == len(run.checkpoint_steps)
    changed = images.copy()
    changed[:, 0, 0] ^= 1
    near = embed_and_place(run, changed)["embeddings"]
    np.testing.assert_allclose(near, run.embeddings[:3], atol=0.05)
    assert not np.array_equal(near, answer["embeddings"])


def test_a_new_picture_without_the_weights_is_a_sentence(run, folder):
    (file,) = [
        path
        for path in (folder[0] / "backbones").glob("*")
        if DATASETS[run.config.dataset].features.weights in path.name
    ]
    away = file.rename(file.with_suffix(".away"))
    try:
        image = np.full((1, 16, 16, 3), 7, np.uint8)
        with pytest.raises(UserError, match=rf"A new picture needs the file of weights {file.name}.*copy it"):
            embed_and_place(run, image)
        with pytest.raises(UserError, match=rf"A new picture needs the file of weights {file.name}"):
            SearchService(run, None, folder[0])  # before it listens
    finally:
        away.rename(file)
    SearchService(run, None, folder[0])


def test_a_service_finds_the_weights_in_the_data_folder_that_it_is_given(run, folder, monkeypatch, capsys):
    monkeypatch.setattr(DATASETS, "_roots", [])
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
    place = ["--runs", str(run.path.parent), "--data", str(folder[0]), "--port", "0"]
    with pytest.raises(SystemExit) as end:
        main(["serve-model", run.path.name, *place])
    assert (end.value.code or 0, capsys.readouterr().err) == (0, "")


def test_what_needs_pixels_is_refused_and_the_loading_code_works(run, folder, monkeypatch):
    config = run.config
    with pytest.raises(UserError, match="choose linear or mlp"):
        TrainConfig(dataset=config.dataset, net="small")
    with pytest.raises(UserError, match="cannot be augmented"):
        TrainConfig(dataset=config.dataset, augmentation={"rotate": 15.0})
    with pytest.raises(UserError, match=r"without labels needs augmented images.*unfreeze blocks"):
        TrainConfig(dataset=config.dataset, use_labels=False, loss="nt_xent")
    with pytest.raises(UserError, match="computed of the images"):
        add_features(config.dataset, "resnet18", data=folder[0])
    with pytest.raises(UserError, match="needs its backbone"):
        query_net(RunExport(run, None))
    with pytest.raises(UserError, match="choose linear or mlp"):
        build("small", features=512)
    dataset = data.load(config.dataset, folder[0])
    monkeypatch.chdir(run.path)
    names = {"features": torch.from_numpy(dataset.test.features.astype(np.float32))}
    exec(loading(RunExport(run, None)).replace(RunExport(run, None).file_name("weights"), "weights.safetensors"), names)
    np.testing.assert_allclose(names["embeddings"].detach().numpy(), run.embeddings, atol=1e-5)


def test_a_change_of_the_data_set_changes_a_net_that_cannot_be_a_head(added):
    assert TrainConfig(dataset="digits", net="small").replace(dataset=added).net == "linear"
    assert TrainConfig(dataset="digits", net="mlp").replace(dataset=added).net == "mlp"


@pytest.mark.parametrize("name", ["resnet10t.c3_in1k", "mobilenetv3_small_050", "test_vit", "levit_128s"])
def test_any_net_of_timm_makes_features_from_a_file(models, tmp_path, name):
    timm = pytest.importorskip("timm")
    whole = timm.create_model(name, pretrained=False).eval()
    save_file({key: value.contiguous() for key, value in whole.state_dict().items()}, tmp_path / "whole.safetensors")
    spec = backbones.complete(f"timm:{name}")
    net = backbones.Backbone(spec, backbones.read_weights(spec, tmp_path / "whole.safetensors"))
    bare = timm.create_model(name, pretrained=False, num_classes=0).eval()
    bare.load_state_dict(whole.state_dict(), strict=False)
    pixels = np.full((1, spec.side, spec.side, 3), 100, np.uint8)
    normalized = (torch.full((1, 3, spec.side, spec.side), 100 / 255) - net.mean) / net.std
    with torch.inference_mode():
        expected = bare(normalized).numpy()
    assert net.features(pixels).shape == (1, spec.dimensions)
    np.testing.assert_allclose(net.features(pixels), expected, rtol=1e-4, atol=1e-5)


def test_a_data_set_of_features_by_any_net_of_timm_is_trained_on(models, tmp_path, folder):
    timm = pytest.importorskip("timm")
    root, pictures = folder
    save_file(timm.create_model("test_resnet", pretrained=False).state_dict(), tmp_path / "net.safetensors")
    name = add_features(pictures, "timm:test_resnet", weights=tmp_path / "net.safetensors", data=root)
    assert DATASETS[name].title.endswith(", test_resnet")
    config = TrainConfig(dataset=name, steps=5, num_snapshots=2, images_per_class=8)
    run = Runs(tmp_path).create(config)
    assert list(train_and_record(run, data_root=root))[-1].metrics
    assert features_module.features_of(name, np.zeros((1, 16, 16, 3), np.uint8)).shape == (1, 96)
    with pytest.raises(UserError, match="has 0 blocks"):
        TrainConfig(dataset=name, unfrozen_blocks=1)


def test_an_unknown_net_of_timm_gets_near_matches(models):
    pytest.importorskip("timm")
    with pytest.raises(UserError, match=r"There is no net of timm called 'resnet19': did you mean 'resnet"):
        backbones.complete("timm:resnet19")
    with pytest.raises(UserError, match=r"There is no backbone called .timm:\.\./x."):
        backbones.complete("timm:../x")
