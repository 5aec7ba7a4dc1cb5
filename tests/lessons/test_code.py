"""The code on Learn's pages does what dmlviz does, and so do the lines beside it that use dmlviz."""

import json
import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import dmlviz
from dmlviz import miners
from dmlviz.catalog.datasets import SAMPLERS
from dmlviz.catalog.losses import LOSSES
from dmlviz.catalog.metrics import METRICS
from dmlviz.catalog.miners import MINERS
from dmlviz.catalog.nets import NETS
from dmlviz.catalog.projections import PROJECTIONS
from dmlviz.lessons.examples import FILES, example, loop
from dmlviz.lessons.stepping import answer, trace
from dmlviz.metrics.clustering import k_means
from dmlviz.projection.tsne import neighbors_and_affinities

CATALOGS = {
    "loss": LOSSES, "miner": MINERS, "sampler": SAMPLERS, "net": NETS, "metric": METRICS, "projection": PROJECTIONS,
}  # fmt: skip
EVERY = [(kind, name) for kind, catalog in CATALOGS.items() for name in catalog]
ROOT = Path(dmlviz.__file__).parents[1]


def shown(kind, name):
    """The entry as a reader gets it who copies the code: executed by itself."""
    space = {}
    exec(example(kind, name).code, space)
    return space[name]


def used(kind, name, **space):
    """What the lines that use dmlviz make."""
    exec(example(kind, name).use, space)
    return space


def batch(labels, seed=0, dims=6, equal=True):
    """Embeddings in float64, two of them equal, and their labels in a random order."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.tensor(labels)
    x = 0.4 * torch.randn(len(y), dims, generator=generator, dtype=torch.float64) + 0.3 * y[:, None]
    if equal:
        x[1] = x[0]
    order = torch.randperm(len(y), generator=generator)
    return x[order], y[order]


EQUAL, UNEQUAL = [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3, [0] * 5 + [4] * 4 + [7] * 2 + [9]


def test_every_entry_has_code_and_the_source_is_where_the_page_says():
    for kind, name in EVERY:
        found = example(kind, name)
        assert found.code.splitlines()[found.start - 1].split("(")[0] in (f"def {name}", f"class {name}"), (kind, name)
        assert max(map(len, found.code.splitlines())) <= 120, (kind, name)
        line = (ROOT / found.source).read_text().splitlines()[found.line - 1]
        assert line.startswith(("@", "def ", "class ")), (kind, name)


@pytest.mark.parametrize("kind", FILES)
def test_there_is_no_code_of_what_the_catalog_lacks(kind):
    module = import_module(f"dmlviz.lessons.code.{FILES[kind]}")
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    assert own - {"Residual"} == set(CATALOGS[kind])


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_has_the_value_and_the_gradients_of_dmlviz(name):
    # An angle of 0 has no slope, and of two images in one place either comes first.
    x, y = batch(UNEQUAL, equal=name not in ("tuplet_margin", "roadmap"))
    x.requires_grad_()
    theirs = used("loss", name, x=x, y=y)["loss"].double()
    weights = dict(theirs.named_parameters())
    results = []
    for value in (shown("loss", name)(x, y, **weights), theirs(x, y)):
        gradients = torch.autograd.grad(value, [x, *weights.values()], allow_unused=True)
        results.append([value.detach(), *gradients])
    for mine, expected in zip(*results, strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-6, atol=1e-7)


def in_float32(labels):
    """A batch whose distances are all different, so that nothing is tied."""
    x, y = batch(labels, equal=False)
    return x.float(), y


def drawn(select, times):
    """Every tuple that `select` draws in so many calls, positives and negatives apart."""
    tuples = [set(), set()]
    for _ in range(times):
        indices = select()
        for kind, columns in zip(
            tuples, (indices[:2], indices[2:]) if len(indices) == 4 else (indices, ()), strict=True
        ):
            kind |= set(zip(*(column.tolist() for column in columns), strict=True))
    return tuples


@pytest.mark.parametrize("labels", [EQUAL, UNEQUAL], ids=["equal classes", "unequal classes"])
@pytest.mark.parametrize("name", MINERS)
def test_a_miner_selects_the_tuples_of_dmlviz(name, labels):
    torch.manual_seed(0)
    x, y = in_float32(labels)
    x = 2 * x  # so that some distances are beyond the cutoffs
    mine, plain = used("miner", name, x=x, y=y)["mine"], shown("miner", name)
    if name == "offline_hard":
        mine = miners.build(name, negatives=3)
        mine.refresh(x, y)
        every = np.arange(len(y))
        extended = mine.extend_batch
        assert drawn(lambda: plain(x, y, 3), 100) == drawn(lambda: mine(x, y) if len(extended(every)) else None, 100)
        return
    is_random = any(word in name for word in ("random", "balanced", "weighted"))
    times = 80 if is_random else 1
    mine_drawn, plain_drawn = drawn(lambda: mine(x, y), times), drawn(lambda: plain(x, y), times)
    if name == "distance_weighted":  # some are too rare to be drawn: how often others are is compared below
        rare = mine_drawn[0] ^ plain_drawn[0]
        assert len(rare) <= 0.2 * len(mine_drawn[0])
        return
    assert mine_drawn == plain_drawn
    assert [len(column) for column in mine(x, y)] == [len(column) for column in plain(x, y)]


def test_distance_weighted_negatives_come_as_often_as_with_dmlviz():
    torch.manual_seed(0)
    x, y = in_float32(EQUAL)
    mine, plain = used("miner", "distance_weighted", x=x, y=y)["mine"], shown("miner", "distance_weighted")
    shares = []
    for select in (mine, plain):
        n = torch.cat([torch.stack([*select(x, y)][::2]) for _ in range(200)], dim=1)
        shares.append(torch.zeros(12, 12).index_put((n[0], n[1]), torch.ones(n.shape[1]), accumulate=True) / 400)
    assert shares[0].max() > 0.3
    torch.testing.assert_close(*shares, rtol=0, atol=0.12)


LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), [30, 20, 17, 16, 16, 16, 21, 16, 16, 40]))


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_makes_batches_like_those_of_dmlviz(name):
    space = used("sampler", name, y=LABELS)
    config, theirs = space["config"], space["sampling"].build(space["config"], LABELS, 0)
    P, K = config.classes_per_batch, config.images_per_class
    distances = np.abs(np.subtract.outer(np.arange(10), np.arange(10))).astype(float)
    sizes = {
        **dict.fromkeys(("shuffled", "class_balanced", "square_root"), (config.batch_size,)),
        "random_pairs": (config.batch_size // 2,),
        "random_triplets": (config.batch_size // 3,),
    }.get(name, (P, K))
    more = (distances,) if name == "anchor_neighbor" else ()
    plain = shown("sampler", name)(LABELS, *sizes, np.random.default_rng(0), *more)
    if name == "anchor_neighbor":
        theirs.distances = distances
    pairs = [(next(plain), next(theirs)) for _ in range(60)]
    if name not in ("balanced", "random_pairs", "random_triplets"):  # the same random numbers give the same batches
        for own, expected in pairs:
            np.testing.assert_array_equal(own, expected)
        return
    properties = []
    for side in zip(*pairs, strict=True):
        counts = np.bincount(np.concatenate(side), minlength=len(LABELS))
        classes = [LABELS[images] for images in side]
        if name == "balanced":
            properties.append({tuple(np.unique(each, return_counts=True)[1]) for each in classes} | {counts.min() > 0})
            assert all(len(set(images)) == P * K for images in side)
        else:
            width = 2 if name == "random_pairs" else 3
            same = [(each[::width, None] == each.reshape(-1, width)[:, 1:]).tolist() for each in classes]
            properties.append([same, counts.min() > 0])
            assert all(each[::width].tolist() != each[1::width].tolist() for each in side)
    assert properties[0] == properties[1]


@pytest.mark.parametrize("name", NETS)
def test_a_net_has_the_layers_of_dmlviz_and_the_same_embeddings(name):
    x = torch.randn(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    theirs, own = used("net", name, x=x)["net"].eval(), shown("net", name)().eval()
    own.load_state_dict(dict(zip(own.state_dict(), theirs.state_dict().values(), strict=True)))
    with torch.no_grad():
        torch.testing.assert_close(own(x), theirs(x), rtol=1e-4, atol=1e-5)


def scattered(classes=4, images=10, dims=5, seed=0):
    """Classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(classes), images))
    return rng.normal(size=(len(y), dims)) + 0.8 * np.eye(classes, dims)[y] + 2, y


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_the_number_of_dmlviz(name):
    (x, y), (train_x, train_y) = scattered(), scattered(seed=9)
    i, j = np.triu_indices(len(x), 1)
    d, same = np.linalg.norm(x[i] - x[j], axis=1), y[i] == y[j]
    given = {
        "x": x, "y": y, "train_x": train_x, "train_y": train_y, "d": d, "same": same, "clusters": k_means(x, 4),
        "weight": np.eye(10, 5), "bias": np.linspace(0, 0.5, 10),
    }  # fmt: skip
    plain = shown("metric", name)
    arguments = [given[word] for word in signature(plain).parameters if word in given]
    expected = used("metric", name, **given)["value"]
    assert plain(*arguments) == pytest.approx(expected, abs=1e-6)
    assert expected not in (0, 1) or name == "collapsed"


def test_points_collapse_as_with_dmlviz():
    rng, y = np.random.default_rng(0), np.arange(30) % 3
    in_a_point, on_a_line = 5 + 1e-3 * rng.normal(size=(30, 4)), np.outer(rng.normal(size=30), [1, 2, 3, 4])
    for x, expected in ((in_a_point, 1), (on_a_line, 1), (rng.normal(size=(30, 4)), 0)):
        assert shown("metric", "collapsed")(x, y) == used("metric", "collapsed", x=x, y=y)["value"] == expected


@pytest.mark.parametrize("name", ["plane", "fan", "pca"])
def test_a_linear_projection_is_that_of_dmlviz(name):
    x, y = scattered(dims=2 if name == "plane" else 5)
    expected = used("projection", name, x=x, y=y)["places"]
    own = shown("projection", name)(
        *[{"x": x, "y": y}[word] for word in signature(shown("projection", name)).parameters]
    )
    for axis in (0, 1):  # a principal axis may point either way
        turned = -1 if name == "pca" and own[:, axis] @ expected[:, axis] < 0 else 1
        np.testing.assert_allclose(turned * own[:, axis], expected[:, axis], atol=1e-5)


def kept(x, places, k=10):
    """The share of the k nearest neighbors that the map keeps."""
    near = [np.argsort(cdist(rows, rows), axis=1)[:, 1 : k + 1] for rows in (x, places)]
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)])


def divergence(x, places, perplexity=30):
    """KL(P ‖ Q) of a map, P as dmlviz computes it."""
    _, affinities = neighbors_and_affinities(x.astype(np.float32), perplexity)
    P = affinities.toarray()
    w = 1 / (1 + cdist(places, places, "sqeuclidean"))
    np.fill_diagonal(w, 0)
    Q = w / w.sum()
    return (P[P > 0] * np.log(P[P > 0] / Q[P > 0])).sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tsne", "umap", "pacmap", "localmap"])
def test_a_map_is_as_good_as_that_of_dmlviz(name):
    x = load_digits().data[:110]  # of plain loops, whose time grows with the square
    theirs, own = used("projection", name, x=x)["places"], shown("projection", name)(x)
    assert kept(x, own) > kept(x, theirs) - 0.05
    if name == "tsne":
        assert divergence(x, own) < 1.05 * divergence(x, theirs)


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_each_line_of_the_code_makes_something_of_eight_digits(kind, name):
    code = example(kind, name).code.splitlines()
    made = json.loads(json.dumps(answer(None, kind, name, run="", step=0), allow_nan=False))
    assert len(made["images"]) == len(made["labels"]) == 8
    lines = {step["line"]: step for step in made["steps"]}
    last = made["steps"][-1]
    assert last["values"] or kind == "sampler"
    assert {line for line in lines if code[line - 1].lstrip().startswith(("return", "yield"))}
    for line, step in lines.items():
        (assigned,) = re.findall(r"^\s+(\w+) = (?!\[\]|np\.random)", code[line - 1]) or [""]
        shown = {value["name"].partition("[")[0] for value in step["values"]}
        assert not assigned or assigned in shown or step["times"] > 1 or "[]" in code[line - 1]
    if kind == "loss":
        (result,) = last["values"]
        assert result["shape"] == []


def test_a_line_is_shown_with_what_it_makes_the_first_time():
    code = "def f(n):\n    total = 0\n    for i in range(n):\n        total += i + 1\n    return total\n"
    steps = {step["line"]: step for step in trace(code, "f", lambda f: f(3))}
    assert {line: step["times"] for line, step in steps.items()} == {2: 1, 3: 4, 4: 3, 5: 1}
    assert [value["rows"] for step in (steps[4], steps[5]) for value in step["values"]] == [[[1.0]], [[6.0]]]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [one for one in EVERY if loop(*one)])
def test_a_whole_training_runs_as_it_stands_and_learns(kind, name, capsys):
    text = loop(kind, name)
    assert len(text.splitlines()) <= 46
    few = re.sub(r"(?m)^STEPS, (.*) = \d+,", r"STEPS, \1 = 60,", text)
    assert few != text
    with torch.random.fork_rng():
        exec(few, {})
    score = re.search(r"P@1 of 597 test images: ([.0-9]+)$", capsys.readouterr().out.strip())
    assert float(score[1]) > 0.75
