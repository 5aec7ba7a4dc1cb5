"""Embeddings of test identities, by a net trained on other identities or by the images themselves."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlviz.config import TrainConfig
from dmlviz.data import Dataset
from dmlviz.labs.measures.embedding import embed, train_net
from dmlviz.studies.trial import TrialContext


def embed_test_images(fields: Mapping[str, Any], data: Dataset, context: TrialContext) -> np.ndarray:
    """Return an embedding of each test image (n × d, float32).

    Args:
        fields: Fields of a TrainConfig; without any, an image is its own embedding: its pixels, scaled to [0, 1].
        data: The data set.
        context: Gets the share that is done; says when to stop.

    Raises:
        UserError: If the training diverged.
        TrialStoppedError: If the trial was asked to stop.
    """
    if not fields:
        return data.test.images.reshape(len(data.test), -1).astype(np.float32) / 255
    net = train_net(TrainConfig(dataset=data.name, **fields), data, context, share=(0.0, 0.9))
    return embed(net, data.test.images, data)
