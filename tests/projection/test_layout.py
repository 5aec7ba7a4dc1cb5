"""The class fan as a projection: the same view that a run plays."""

import numpy as np
import pytest

from dmlviz import ProjectionConfig, UserError
from dmlviz.ops.linear_projection import LinearProjection
from dmlviz.projection import project

FAN = ProjectionConfig(method="fan")


def spread():
    labels = np.repeat(np.arange(5), 20)
    noise = np.random.default_rng(0).normal(size=(100, 8)) * 0.1
    return (np.eye(5, 8)[labels] + noise).astype(np.float32), labels


def test_the_fan_is_the_view_that_a_run_plays():
    embeddings, labels = spread()
    drawn = project(embeddings, FAN, labels=labels)
    np.testing.assert_allclose(
        drawn.coordinates, LinearProjection.class_fan(embeddings, labels).project(embeddings), atol=1e-6
    )


def test_a_picture_on_the_fan_lands_where_its_embedding_does():
    embeddings, labels = spread()
    drawn = project(embeddings, FAN, labels=labels)
    np.testing.assert_allclose(drawn.place(embeddings[:7]), drawn.coordinates[:7], atol=1e-4)


def test_a_fan_without_classes_is_refused_with_a_sentence():
    with pytest.raises(UserError, match="class of every point"):
        project(spread()[0], FAN)
