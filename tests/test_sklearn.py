"""`dmlviz.sklearn` keeps scikit-learn's promises, and its estimators do what their names say."""

import contextlib
import re
import unittest
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from dmlviz.errors import UserError
from dmlviz.losses import LOSSES
from dmlviz.sklearn import TSNE, UMAP, MetricLearner

pytestmark = pytest.mark.slow

ESTIMATORS = (
    TSNE(perplexity=2, max_iter=50),
    UMAP(n_neighbors=2, n_epochs=10),
    MetricLearner(max_iter=3, n_components=4, hidden_units=16),
    MetricLearner("triplet", "semihard_nearest", max_iter=3, n_components=4, hidden_units=0, normalize=False),
)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_scikit_learns_checks_pass(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own checks warn, of skipped ones for example
        done = 0
        for each, check in estimator_checks_generator(estimator):
            with contextlib.suppress(unittest.SkipTest):  # of what is not installed
                check(each)
                done += 1
    assert done > 40


# What the estimators are not: they take no weights and one target, and learn all at once. check_param_validation reads
# the private `_parameter_constraints` of scikit-learn's own estimators, for which there is no public name: that wrong
# parameters are refused by name is tested below.
_OTHER_KINDS = re.compile(
    "regress|cluster|outlier|_weight|multioutput|multilabel|multiclass|nonsquare|non_negative|sparsify|stateless|array_api"
    "|data_not_an_array|param_validation|is_fitted|check_estimator$|predictions$"
)
_OF_CLASSIFIERS = re.compile("classifier|supervised")


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda each: type(each).__name__)
def test_the_checks_that_scikit_learn_leaves_out_pass_too(estimator):
    generated = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(estimator)}
    named = {name for name in vars(estimator_checks) if name.startswith("check_")} - generated
    others = {name for name in named if _OTHER_KINDS.search(name)}
    if not isinstance(estimator, MetricLearner):
        others |= {name for name in named if _OF_CLASSIFIERS.search(name)}
    for name in sorted(named - others):
        with contextlib.suppress(unittest.SkipTest), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))
    assert len(named - others) > 9


@pytest.mark.parametrize("kind", [TSNE(perplexity=10, random_state=0), UMAP(n_neighbors=10, random_state=0)])
def test_a_map_keeps_blobs_apart_and_places_new_points_in_theirs(kind):
    points, labels = make_blobs(150, 8, centers=3, random_state=0)
    drawn = make_pipeline(StandardScaler(), kind).set_output(transform="pandas")
    positions = drawn.fit_transform(points[:120])
    assert [*positions.columns] == [f"{type(kind).__name__.lower()}{axis}" for axis in range(2)]
    placed = drawn.transform(points[120:]).to_numpy()
    nearest = np.square(placed[:, None] - positions.to_numpy()[None]).sum(-1).argmin(1)
    assert (labels[nearest] == labels[120:]).mean() == 1


def test_a_metric_that_was_learned_finds_more_neighbors_of_the_class():
    digits, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(digits, labels, test_size=0.5, random_state=0)
    names = np.array([f"digit {label}" for label in train_labels])
    learner = MetricLearner("nt_xent", random_state=0).fit(train, names)
    assert learner.predict(test)[0] == f"digit {test_labels[0]}"
    assert learner.score(test, np.array([f"digit {label}" for label in test_labels])) > 0.95


def test_tensors_of_any_type_are_learned_from():
    rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    learner = MetricLearner(max_iter=3).fit(rows.float().numpy(), np.arange(24) % 2)
    for given in (rows, rows.float().requires_grad_()):
        np.testing.assert_array_equal(learner.transform(given), learner.transform(rows.float().numpy()))
        MetricLearner(max_iter=3).fit(given, np.arange(24) % 2)


@pytest.mark.parametrize("shots", [1, 2, 3])
def test_neighbors_that_tie_are_settled_by_distance(shots):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(5, 6)) * 5
    labels, new_labels = np.repeat(np.arange(5), shots), np.arange(100) % 5
    rows, new = (centers[ids] + 0.3 * rng.normal(size=(len(ids), 6)) for ids in (labels, new_labels))
    learner = MetricLearner(max_iter=100, random_state=0).fit(rows, labels)
    assert learner.score(rows, labels) == 1
    assert learner.score(new, new_labels) > 0.95
    shares = learner.predict_proba(new)
    assert learner.classes_[shares.argmax(axis=1)].tolist() == learner.predict(new).tolist()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if shots == 1:  # it learns from the others, of which there are equally many in each case
        assert cross_val_predict(learner, new, new_labels, cv=3, method="predict_proba").shape == (100, 5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    "column",
    [
        0.1,
        1e9,
        1e-30,
        3e38,
        -1e-40,
        lambda x: x * 1e30,
        lambda x: x * 1e-30,
        lambda x: x + 1e5,
        lambda x: x * 0 + x.size,
    ],
)
def test_columns_of_any_size_keep_the_others(kind, column):
    points, labels = make_blobs(90, 4, centers=3, random_state=0)
    points = points.astype(kind)
    odd = column(points) if callable(column) else np.full((90, 1), column)
    rows = np.hstack([points, odd]).astype(kind)
    learner = MetricLearner(max_iter=30, random_state=0).fit(pd.DataFrame(rows), labels)
    assert learner.score(pd.DataFrame(rows), labels) > 0.95
    assert np.isfinite(learner.transform(pd.DataFrame(rows * kind(0.5)))).all()


def test_rows_of_any_size_are_learned_alike():
    points, labels = make_blobs(90, 4, centers=3, random_state=0)
    plain, same = (MetricLearner(max_iter=60, random_state=0).fit(points * size, labels) for size in (1, 1e300))
    np.testing.assert_allclose(same.transform(points * 1e300), plain.transform(points), atol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        *(
            ({name: value}, f"{name} ")
            for name in ("max_iter", "n_components", "n_neighbors", "batch_size")
            for value in (-1, 0, 1.5, "10", None, True, np.nan)
        ),
        *(({"hidden_units": value}, "hidden_units ") for value in (-1, 0.5, None)),
        *(({"learning_rate": value}, "learning_rate ") for value in (-1, 0, np.inf, "fast", None)),
        *(({"normalize": value}, "normalize ") for value in ("yes", None, 2)),
        *(({name: [1]}, name) for name in ("loss_params", "miner_params")),
        ({"loss": None}, "no loss called None"),
        ({"miner": "none"}, "no miner called"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(wrong, said):
    points, labels = make_blobs(30, 3, random_state=0)
    with pytest.raises(UserError, match=said):
        MetricLearner(**wrong).fit(points, labels)


def test_numbers_of_other_libraries_are_parameters():
    points, labels = make_blobs(30, 3, random_state=0)
    learner = MetricLearner(max_iter=np.int64(2), batch_size=16.0, n_components=np.int8(3), normalize=np.bool_(True))
    assert learner.fit(points, labels).transform(points).shape == (30, 3)
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(UserError, match="n_components"):
            UMAP(n_components=wrong).fit(points)


def test_losses_and_miners_are_searched_by_name():
    points, labels = make_blobs(90, 5, centers=3, random_state=1)
    grid = {"loss": ["contrastive", "arcface"], "n_components": [2, 4]}
    search = GridSearchCV(MetricLearner(max_iter=10, random_state=0), grid, cv=3).fit(points, labels)
    assert search.best_score_ > 0.95
    assert set(grid["loss"]) <= set(LOSSES)


def test_a_wrong_name_is_one_sentence():
    points, labels = make_blobs(30, 3, random_state=0)
    with pytest.raises(ValueError, match="There is no loss called 'tripplet': did you mean 'triplet'"):
        MetricLearner("tripplet").fit(points, labels)
    with pytest.warns(UserWarning, match="perplexity = 10: 30 is for more points"):
        TSNE(perplexity=30, max_iter=10).fit(points)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_training_that_diverges_says_so(normalize):
    points, labels = make_blobs(60, 4, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"The training diverged.*smaller learning_rate than 1e"):
        MetricLearner(max_iter=10, learning_rate=1e38, normalize=normalize, random_state=0).fit(points, labels)
