"""`dmlviz.sklearn` keeps scikit-learn's promises, and its estimators do what their names say."""

import contextlib
import unittest
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from dmlviz.losses import LOSSES
from dmlviz.sklearn import TSNE, UMAP, MetricLearner

pytestmark = pytest.mark.slow

ESTIMATORS = (
    TSNE(perplexity=2, max_iter=50),
    UMAP(n_neighbors=2, n_epochs=10),
    MetricLearner(max_iter=30, n_components=4, hidden_units=16),
    MetricLearner("triplet", "semihard_nearest", max_iter=30, n_components=4, hidden_units=0, normalize=False),
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


def test_losses_and_miners_are_searched_by_name():
    points, labels = make_blobs(90, 5, centers=3, random_state=1)
    grid = {"loss": ["contrastive", "arcface"], "n_components": [2, 4]}
    search = GridSearchCV(MetricLearner(max_iter=30, random_state=0), grid, cv=3).fit(points, labels)
    assert search.best_score_ > 0.95
    assert set(grid["loss"]) <= set(LOSSES)


def test_a_wrong_name_is_one_sentence():
    points, labels = make_blobs(30, 3, random_state=0)
    with pytest.raises(ValueError, match="There is no loss called 'tripplet': did you mean 'triplet'"):
        MetricLearner("tripplet").fit(points, labels)
    with pytest.warns(UserWarning, match="perplexity = 10: 30 is for more points"):
        TSNE(perplexity=30, max_iter=10).fit(points)
