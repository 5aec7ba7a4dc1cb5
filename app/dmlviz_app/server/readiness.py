"""Readiness for a new job: the health check of a container or of a proxy."""

import shutil
import tempfile

from dmlviz.runs.quota import MIN_FREE_BYTES
from dmlviz_app.server.services import Services


def obstacles(services: Services) -> list[str]:
    """Return what keeps a job from starting, a sentence each; empty when the server is ready."""
    sentences = []
    folder = services.settings.runs
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        sentences.append(f"Nothing can be written into the folder of runs: {error.strerror}.")
    else:
        if free < MIN_FREE_BYTES:
            sentences.append(
                f"The disk of the runs has {free // 10**6} MB left; a run may need {MIN_FREE_BYTES // 10**6}."
            )
    if not services.datasets.available():
        sentences.append("There is no data set: see `dmlviz data`.")
    if not services.scheduler.ready:
        sentences.append("No worker is ready yet.")
    return sentences
