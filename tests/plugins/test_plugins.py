"""Plug-ins: what a file may declare, how it is loaded, and its error messages."""

import importlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from dmlviz import data, losses, metrics, miners, nets, plugins
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import DataUnavailableError, UserError
from dmlviz.losses.scenes import scene_of
from dmlviz.plugins import load_plugins
from dmlviz.projection import project
from dmlviz.training import sampling

EXAMPLE = Path(__file__).parents[2] / "examples" / "margin_ratio_loss.py"


@pytest.fixture
def file(tmp_path):
    """`file(text)` is a plug-in file that holds it."""

    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text("from dmlviz.plugins import *\n" + text)
        return path

    return write


def test_the_example_is_offered_and_computes_its_formula():
    torch = pytest.importorskip("torch")
    load_plugins([EXAMPLE])
    assert list(LOSSES)[-1] == "margin_ratio"
    x = torch.tensor([[0.0], [1.0], [3.0], [7.0]], requires_grad=True)
    loss = losses.build("margin_ratio", ratio=0.2, reduction="none")
    terms = loss(x, torch.tensor([0, 0, 1, 1]))
    # (a, p): d_ap − 0.2 · nearest negative: (0, 1): 1 − 0.6; (1, 0): 1 − 0.4; (2, 3): 4 − 0.4; (3, 2): 4 − 1.2
    assert terms.tolist() == pytest.approx([0.4, 0.6, 3.6, 2.8])
    assert float(loss.active) == 1
    terms.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_the_example_has_a_config_a_plot_and_thresholds():
    load_plugins([EXAMPLE])
    config = TrainConfig(loss="margin_ratio", miner="hard_negative_pairs", loss_params={"ratio": 0.3})
    assert config.loss_params == {"ratio": 0.3, "distance": "euclidean", "reduction": "mean"}
    spec = LOSSES["margin_ratio"]
    scene = scene_of(losses.build("margin_ratio").double())
    assert (scene.kind, scene.axis.title) == ("triplets", "distance")
    assert spec.thresholds_for(config.loss_params, {}).measure == "euclidean"
    with pytest.raises(UserError, match="ratio lies between"):
        TrainConfig(loss="margin_ratio", loss_params={"ratio": 2})


@pytest.mark.slow
def test_specs_of_a_plug_in_load_without_torch():
    code = f"import sys; from dmlviz.plugins import load_plugins; load_plugins([{str(EXAMPLE)!r}])"
    code += "; from dmlviz.catalog.losses import LOSSES; print('margin_ratio' in LOSSES, 'torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True", "False"]


def test_a_file_loads_once_and_is_passed_on_to_processes(file):
    path = file("@net(title='A', summary='B.')\ndef mine(channels, size, embedding_dim): ...\n")
    load_plugins([path])
    load_plugins([path])
    load_plugins()
    assert os.environ[plugins.ENVIRONMENT] == str(path)
    assert list(NETS)[-1] == "mine"


def test_a_loss_with_weights_of_its_own_is_a_function_that_builds_it(file):
    torch = pytest.importorskip("torch")
    load_plugins(
        [
            file("""
@loss(title="W", summary="S.", compares="classes", class_centers="weights", needs_classes=True)
def mine(*, embedding_dim, num_classes, seed):
    import torch
    from dmlviz.losses.base import Loss

    class Mine(Loss):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((num_classes, embedding_dim), float(seed)))

        def terms(self, batch):
            return batch.terms((batch.x - self.weight[batch.labels]).square().sum(1))

    return Mine()
""")
        ]
    )
    loss = losses.build("mine", embedding_dim=2, num_classes=3, seed=2)
    assert loss(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0])).item() == 8


def test_a_miner_a_net_and_a_metric_are_used_as_the_built_in_ones(file):
    torch = pytest.importorskip("torch")
    load_plugins(
        [
            file("""
@miner(title="First", summary="S.", tuple_kind="triplets",
       parameters=[Parameter(name="count", kind=int, default=1, minimum=1, maximum=9, help="h")])
def first(batch, *, count):
    from dmlviz.miners.tuples import Triplets
    a, p = batch.positive_pairs
    n = batch.negative.int().argmax(dim=1)
    return Triplets(a[:count], p[:count], n[a[:count]])

@net(title="One layer", summary="S.")
def one_layer(channels, size, embedding_dim):
    import torch
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(channels * size**2, embedding_dim))

@metric(title="Mean", summary="S.")
def mean_label(embeddings, labels):
    return embeddings.mean() + labels.max()
""")
        ]
    )
    mined = miners.build("first", count=2)(torch.randn(4, 2), torch.tensor([0, 0, 1, 1]))
    assert [list(map(int, row)) for row in zip(*mined, strict=True)] == [[0, 1, 2], [1, 0, 2]]
    assert nets.build("one_layer", embedding_dim=3, size=8)(torch.zeros(2, 1, 8, 8)).shape == (2, 3)
    scores = metrics.evaluate(np.ones((4, 2)), [3, 3, 7, 7], clustering=False, verification=False)
    assert scores["mean_label"] == 8
    assert np.isnan(metrics.evaluate(np.full((4, 2), np.nan), [3, 3, 7, 7])["mean_label"])


DATASET = """
import numpy as np

@dataset(title="Noise", summary="S.", classes=("a", "b"), size=8, mean=0.5, std=0.3)
def noise(root):
    images = np.zeros((20, 8, {width}), np.uint8)
    return (images, np.arange(20) % 2), (images[:6], np.arange(6) % 2)
"""


def test_a_data_set_is_loaded_and_held_against_its_spec(file):
    load_plugins([file(DATASET.format(width=8))])
    found = data.load("noise")
    assert (len(found.train), len(found.test), found.classes, found.size) == (20, 6, ("a", "b"), 8)
    assert "noise" in data.available_datasets()


def test_a_data_set_that_is_not_what_its_spec_says_is_refused(file):
    load_plugins([file(DATASET.format(width=9))])
    with pytest.raises(DataUnavailableError, match=r"declared as uint8 images of shape \(8, 8\).*\(20, 8, 9\)"):
        data.load("noise")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "line 2: SyntaxError"),
        ("import no_such_module", "line 2: ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit", "line 2: SystemExit"),
        ("@loss(title='A', summary='B')\ndef triplet(batch): ...", "There is a loss called 'triplet' already"),
        ("@loss(title='A', summary='B', flavor=1)\ndef f(batch): ...", "flavor"),
        ("@loss(title='A', summary='B', parameters=[margin(1, 'm')])\ndef f(batch): ...", "parameter margin"),
        ("@miner(title='A', summary='B', tuple_kind='fours')\ndef f(batch): ...", "got tuple_kind='fours'"),
    ],
)
def test_a_broken_plug_in_is_named_in_one_sentence_and_leaves_nothing_behind(file, text, said):
    path = file(text)
    with pytest.raises(UserError) as told:
        load_plugins([path])
    assert str(told.value).startswith(f"The plug-in {path} cannot be loaded: ")
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert not any(catalog.plugged for catalog in plugins.CATALOGS.values())


def test_what_a_broken_file_declared_before_it_broke_is_taken_back(file):
    with pytest.raises(UserError):
        load_plugins([file("@net(title='N', summary='S.')\ndef before(c, s, d): ...\n1 / 0")])
    assert "before" not in NETS


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UserError, match="There is no plug-in file"):
        load_plugins([tmp_path / "none.py"])


def test_an_installed_package_brings_plug_ins_by_its_entry_points(tmp_path, monkeypatch):
    (tmp_path / "my_package.py").write_text(
        "from dmlviz.plugins import net\n\n@net(title='N', summary='S.')\ndef packaged(c, s, d): ...\n"
    )
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dmlviz.nets]\npackaged = my_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert metadata.entry_points(group="dmlviz.nets")
    plugins.installed.cache_clear()
    load_plugins()
    assert "packaged" in NETS


HELPED = """
from shares import SHARE
import json, numpy, parts.more
@net(title="N", summary="S.")
def helped(channels, size, dim): ...
@sampler(title="S", summary="S.")
def helped_draws(labels, *, batch_size, seed): ...
@projection(title="P", summary="S.", caution="C.")
def helped_map(embeddings, *, dims): ...
"""


def declared_again(catalog, name):
    """Declare what a plug-in brought once more, as a program does that is started now."""
    spec, implementation = catalog[name], catalog.plugged[name]
    catalog.remove(name)
    catalog.add(spec, implementation)


def test_code_that_a_plug_in_imports_from_beside_it_is_part_of_the_identity(file, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    beside = {
        "shares.py": "import deeper\nSHARE = 1",
        "deeper.py": "def later(): import half_written",
        "half_written.py": "def (",
        "parts/__init__.py": "",
        "parts/more.py": "from . import again\nfrom .last import LAST",
        "parts/again.py": "",
        "parts/last/__init__.py": "LAST = 1",
    }
    unread = ("unused.py", "parts/unused.py", "json.py", "numpy/__init__.py", "numpy/core.py")  # of others of that name
    for name in (*beside, *unread):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(beside.get(name, ""))
    mine = file(HELPED)
    load_plugins([mine])
    configs = [
        TrainConfig(dataset="digits", net="helped"),
        TrainConfig(dataset="digits", sampler="helped_draws"),
        ProjectionConfig(method="helped_map"),
    ]

    def ids():
        for catalog, name in ((NETS, "helped"), (SAMPLERS, "helped_draws"), (PROJECTIONS, "helped_map")):
            declared_again(catalog, name)
        return [config.id for config in configs]

    seen = [ids()]
    assert ids() == seen[0]
    for name in (*beside, mine.name):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "\n# changed")
        seen.append(ids())
    assert all(len({*column}) == len(seen) for column in zip(*seen, strict=True))
    for name in unread:
        (tmp_path / name).write_text("# changed")
    assert ids() == seen[-1]


def test_a_package_of_plug_ins_is_identified_by_all_its_code(tmp_path, monkeypatch):
    package = tmp_path / "whole_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "formula.py").write_text("")
    (package / "nets.py").write_text(
        "from dmlviz.plugins import net\n\n@net(title='N', summary='S.')\ndef whole(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("whole_package.nets")
    before = NETS.code["whole"]
    declared_again(NETS, "whole")
    assert NETS.code["whole"] == before
    (package / "formula.py").write_text("SHARE = 2")
    declared_again(NETS, "whole")
    assert NETS.code["whole"] != before


def test_a_plug_in_loss_can_be_a_part_of_a_sum():
    torch = pytest.importorskip("torch")
    load_plugins([EXAMPLE])
    assert "margin_ratio" in LOSSES["weighted_sum"].parameters[0].choices
    own = {"name": "margin_ratio", "ratio": 0.2}
    config = TrainConfig(loss="weighted_sum", loss_params={"a": own, "b": "contrastive", "weights": [1, 0.5]})
    x, labels = torch.tensor([[0.0], [1.0], [3.0], [7.0]]), torch.tensor([0, 0, 1, 1])
    both = losses.build("weighted_sum", **config.loss_params)(x, labels)
    alone = losses.build("margin_ratio", ratio=0.2)(x, labels) + 0.5 * losses.build("contrastive")(x, labels)
    torch.testing.assert_close(both, alone)
    LOSSES.remove("margin_ratio")
    assert "margin_ratio" not in LOSSES["weighted_sum"].parameters[0].choices
    with pytest.raises(UserError, match="There is no loss called 'margin_ratio'"):
        TrainConfig(loss="weighted_sum", loss_params={"a": own})


SAMPLER = """
@sampler(title="S", summary="S.")
def mine(config, labels, rng):
    yield {batch}
"""


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ("[0, 1, 2]", "must yield 4 indices from 0 to 9; got int64 of shape (3,)"),
        ("[0, 1, 2, 10]", "must yield 4 indices"),
        ("[0., 1, 2, 3]", "got float64"),
        ("[0, 1, 2, 3]", "must yield batches endlessly"),
    ],
)
def test_a_sampler_is_held_to_its_batches(file, batch, said):
    load_plugins([file(SAMPLER.format(batch=batch))])
    config = TrainConfig(dataset="digits", sampler="mine", batch_size=4)
    with pytest.raises(UserError, match=re.escape(said)):
        for _ in sampling.build(config, np.zeros(10, int), 0):
            pass


PROJECTION = """
import numpy as np

@projection(title="Spiral", summary="S.", caution="C.", parameters=[
    Parameter(name="iterations", kind=int, default=5, minimum=1, maximum=9, help="h"),
    Parameter(name="turns", kind=float, default=1.0, minimum=0, maximum=9, help="h"),
])
def spiral(embeddings, *, dims, iterations, turns, labels=None, start=None, report=None):
    positions = embeddings[:, :dims] if start is None else start
    for done in range(iterations):
        report(done + 1, positions := positions + turns)
    return positions
"""


def test_an_iterative_projection_shows_itself_stops_and_places(file):
    load_plugins([file(PROJECTION)])
    points = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    config, seen = ProjectionConfig(method="spiral", params={"turns": 2}), []
    drawn = project(points, config, lambda done, of, error, positions: seen.append((done, of)))
    np.testing.assert_allclose(drawn.coordinates, points[:, :2] + 10, rtol=1e-5)
    assert seen[0] == (1, 5)
    assert drawn.quality.overall is not None
    assert project(points, config, lambda *_: True).stopped
    # Not linear: a known point goes where it is, a new one between its neighbors.
    np.testing.assert_allclose(drawn.place(points[:3]), drawn.coordinates[:3], atol=1e-5)
    near = drawn.place(points[:3] + 0.01)
    assert np.abs(near - drawn.coordinates[:3]).max() < 0.5
    with pytest.raises(UserError, match="cannot resume"):
        project(points, config, begun=2, start=drawn.coordinates)


def test_a_projection_without_a_position_for_every_point_is_refused(file):
    load_plugins(
        [file("@projection(title='H', summary='S.', caution='C.')\ndef half(x, *, dims): return x[::2, :dims]")]
    )
    with pytest.raises(UserError, match=r"half must give a finite position for each of 10 points.*\(5, 2\)"):
        project(np.eye(10), ProjectionConfig(method="half"))
