"""A sampler as a plug-in that rests before each batch: a training that a story watches leaves it the processor."""

import time

from dmlviz.plugins import sampler


@sampler(title="Unhurried", summary="Every image is drawn independently, after a rest.")
def unhurried(config, labels, rng):
    """Yield random batches, up to 200 a second."""
    while True:
        time.sleep(0.005)
        yield rng.integers(len(labels), size=config.batch_size)
