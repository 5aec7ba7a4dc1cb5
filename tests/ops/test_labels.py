"""Labels are of one kind, whoever takes them: the same classes of the same texts and numbers, or the same refusal."""

from decimal import Decimal
from enum import IntEnum

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import dmlviz
from dmlviz import losses, metrics, miners
from dmlviz.errors import UserError
from dmlviz.ops.labels import is_missing, read_labels
from dmlviz.recording.inputs import read_labels as read_recorded
from dmlviz.sklearn import TSNE, MetricLearner

Y = np.arange(24) % 6
NAMES = np.array(["zero", 'one, "two"', "ü", "3", "1e5", "a" * 300])[Y]
X = torch.randn(24, 8, generator=torch.Generator().manual_seed(0)) + torch.nn.functional.one_hot(torch.tensor(Y), 8)
Color = IntEnum("Color", "red green blue cyan pink gray")

ACCEPTED = {
    **{str(kind): Y.astype(kind) for kind in (np.int8, np.uint16, np.uint64, np.float16, np.float64, np.longdouble)},
    **{str(kind): torch.tensor(Y).to(kind) for kind in (torch.int32, torch.uint16, torch.uint64, torch.bfloat16)},
    "tensor with a graph": torch.tensor(Y, dtype=torch.float32, requires_grad=True),
    "list": Y.tolist(),
    "tuple of NumPy numbers": tuple(Y),
    "list of tensors": [*torch.tensor(Y)],
    "column": Y[:, None],
    "tensor column": torch.tensor(Y)[:, None],
    "series with another index": pd.Series(Y, index=np.arange(24) + 100),
    "shuffled series": pd.Series(Y, index=np.random.default_rng(0).permutation(24)),
    "frame": pd.DataFrame({"y": Y}, index=[f"r{i}" for i in range(24)]),
    "index": pd.Index(Y),
    "nullable": pd.Series(Y, dtype="Int64"),
    "arrow series": pd.Series(Y, dtype="int64[pyarrow]"),
    "arrow": pa.array(Y),
    "chunks": pa.chunked_array([pa.array(Y[:9]), pa.array(Y[9:])]),
    "range of a table": pd.RangeIndex(24) % 6,
    "read-only": pd.DataFrame({"y": Y})["y"].to_numpy(),
    "reversed view": Y[::-1].copy()[::-1],
    "objects": Y.astype(object),
    "decimals": np.array([Decimal(int(y)) for y in Y], object),
    "enumeration": [Color(int(y) + 1) for y in Y],
    "ids above 2^63": [2**63 + int(y) for y in Y],
    "ids of both signs": [2**63 if not y else -int(y) for y in Y],
    "uint64 above 2^63": Y.astype(np.uint64) + np.uint64(2**63),
    "ids above 2^64": [2**64 + int(y) for y in Y],
    "floats above 2^63": Y * 1e20,
    "texts": NAMES,
    "list of texts": NAMES.tolist(),
    "object texts": NAMES.astype(object),
    "bytes": np.array([name.encode() for name in NAMES]),
    "categories": pd.Categorical(NAMES, categories=sorted({*NAMES}, reverse=True)),
    "category column": pd.Series(pd.Categorical(NAMES), index=np.arange(24) * 7),
    "string column": pd.Series(NAMES, dtype="string"),
    "arrow strings": pa.array(NAMES.tolist()),
    "dictionary": pa.array(NAMES.tolist()).dictionary_encode(),
    "numbers as texts": [f"{y:02}" for y in Y],
    "trailing zero byte": ["a" + "\0" * int(y) for y in Y],
}
REFUSED = {
    "none": None,
    "one number": 3,
    "one text": "abc",
    "one-hot": np.eye(6)[Y],
    "too few": Y[:-1],
    "scores": Y + 0.5,
    "complex": Y + 1j,
    "infinite": np.where(Y, Y, np.inf),
    "dates": Y.astype("datetime64[D]"),
    "number and text": [*Y[:-1].tolist(), "1"],
    "text and bytes": [*NAMES[:-1].tolist(), b"1"],
    "tuples": [(1, 2)] * 23 + [(1,)],
    "mappings": [{"a": 1}] * 24,
}


def of_loss(labels):
    return losses.build("triplet")(X, labels).item()


def of_miner(labels):
    return [index.tolist() for index in miners.build("batch_hard")(X, labels)]


def of_scores(labels):
    return metrics.evaluate(X, labels, clustering=False)["precision_at_1"]


def of_recording(labels):
    ids, _ = read_recorded(labels, None)
    if len(ids) != 24:
        raise UserError("a recording compares the numbers of labels and embeddings by itself")
    return (ids[:, None] == ids).tolist()


def of_learner(labels):
    learner = MetricLearner(max_iter=5, random_state=0).fit(X, labels)
    codes = read_labels(learner.predict(X))[0]
    return (codes[:, None] == codes).tolist()


TAKERS = [of_loss, of_miner, of_scores, of_recording, of_learner]


@pytest.mark.filterwarnings("ignore:A column-vector y")  # of scikit-learn
@pytest.mark.parametrize("labels", ACCEPTED.values(), ids=ACCEPTED)
def test_labels_as_people_have_them_are_the_same_classes(labels):
    for take in TAKERS:  # the draws of a learner depend on the order of the classes
        assert take(labels) == take(read_labels(labels)[0] if take is of_learner else Y)


@pytest.mark.parametrize("labels", REFUSED.values(), ids=REFUSED)
def test_other_labels_are_refused_in_a_sentence(labels):
    for take in TAKERS:
        if labels is not None or take is not of_recording:  # without labels it is a map without classes
            with pytest.raises(UserError):
                take(labels)


@pytest.mark.parametrize("take", [of_loss, of_miner, of_learner], ids=["loss", "miner", "learner"])
@pytest.mark.parametrize("first", [None, np.nan, pd.NA, "", " ", np.ma.masked], ids=repr)
def test_what_learns_from_labels_refuses_those_that_are_missing(take, first):
    labels = (
        np.ma.masked_equal(Y, Y[0])
        if first is np.ma.masked
        else [first, *(NAMES[1:] if isinstance(first, str) else Y[1:])]
    )
    with pytest.raises(UserError, match="at index 0: label every embedding, or leave it out"):
        take(labels)


@pytest.mark.parametrize(
    "label", [0.5, pd.Interval(0, 1), pd.Period("2020"), object()], ids=lambda label: type(label).__name__
)
def test_labels_of_another_kind_are_to_be_converted(label):
    with pytest.raises(UserError, match=r"at index 1: convert them, as with map\(str, labels\)"):
        read_labels([1, label, 2])


@pytest.mark.filterwarnings("error")  # of NumPy, where it takes a masked element for a number
@pytest.mark.parametrize("values", [Y, Y[:, None], Y * 1.0, NAMES, NAMES.astype(object)], ids=str)
@pytest.mark.parametrize("held", [lambda x: x, lambda x: [*x.ravel()], lambda x: np.array([*x.ravel()], object)])
def test_what_is_masked_is_missing_however_it_is_held(values, held):
    masked = held(np.ma.masked_array(values, mask=(Y == 1).reshape(values.shape)))
    assert is_missing(masked).ravel().tolist() == (Y == 1).tolist()
    assert (read_labels(masked, missing=True)[0] < 0).tolist() == (Y == 1).tolist()
    dmlviz.show(X, masked)
    assert of_scores(masked) == of_scores([None if y == 1 else int(y) for y in Y])
    for take in (of_loss, of_miner, of_learner):
        with pytest.raises(UserError, match="got a masked one at index 1: label every embedding, or leave it out"):
            take(masked)


def test_a_learner_refuses_masked_numbers():
    masked = np.ma.masked_array(X.numpy(), mask=np.eye(24, 8, dtype=bool))
    learner = MetricLearner(max_iter=2, random_state=0).fit(X, Y)
    for take in (lambda: MetricLearner().fit(masked, Y), lambda: learner.predict(masked), lambda: TSNE().fit(masked)):
        with pytest.raises(UserError, match="got 8 masked ones: fill them in"):
            take()
    rows = [*masked]
    for take in (lambda: MetricLearner().fit(rows, Y), lambda: TSNE().fit(rows), lambda: dmlviz.show(rows, Y)):
        with pytest.raises((UserError, ValueError), match="NaN"):
            take()


def test_a_class_keeps_its_label():
    for labels, classes in (
        (NAMES, sorted({*NAMES})),
        (Y * 1e20, [int(y * 1e20) for y in range(6)]),
        (Y - 3, range(-3, 3)),
    ):
        index, found = read_labels(labels)
        assert found.tolist() == [*classes]
        assert found[index].tolist() == [int(label) if labels.dtype.kind == "f" else label for label in labels.tolist()]


def test_queries_and_gallery_have_the_same_classes():
    texts = metrics.evaluate(X[:12], NAMES[:12], X[12:], NAMES[12:].astype(object), clustering=False)
    ids = read_labels(NAMES)[0]
    assert texts == metrics.evaluate(X[:12], ids[:12], X[12:], ids[12:].astype(np.float32), clustering=False)
    cameras = {"cameras": Y[:12] % 2, "gallery_cameras": np.where(Y[12:] % 2, "b", "a")}
    with pytest.raises(UserError, match="of one kind"):
        metrics.evaluate(X[:12], Y[:12], X[12:], Y[12:], **cameras)
    numbers = cameras | {"gallery_cameras": [2**63 + int(y) % 2 for y in Y[12:]]}
    assert metrics.evaluate(X[:12], Y[:12], X[12:], Y[12:], **numbers)["queries"] == 12


def test_class_weights_are_not_numbered_by_texts():
    loss = losses.build("softmax", embedding_dim=8, num_classes=6)
    with pytest.raises(UserError, match="got texts"):
        loss(X, NAMES)
    assert loss(X, Y.astype(object)) == loss(X, Y)
