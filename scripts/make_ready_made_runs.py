"""Trains the ready-made runs into dmlviz/ready_made_runs/ID.zip: what the first page plays before anybody trains.

Run it again after a change of the run format, or of what a config hashes: `python scripts/make_ready_made_runs.py`.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from dmlviz.config import TrainConfig
from dmlviz.runs.archive import export_run
from dmlviz.runs.run_recorder import to_half, write_weights
from dmlviz.runs.store import Runs
from dmlviz.runs.training_run import train_and_record
from dmlviz.storage.files import write_json
from dmlviz.training.events import Finished

FOLDER = Path(__file__).resolve().parent.parent / "dmlviz/ready_made_runs"
LARGEST = 2_400_000  # bytes of an archive: it is in every copy of the repository and in the wheel

# The digits need no download. In the plane nothing lies between the eye and what the loss does: ten clusters come
# apart in front of it. It learns more slowly than it could, since the best of the film is the start: at the usual rate
# the clusters are there after five steps.
READY_MADE = {
    "Digits in the plane, triplets": TrainConfig(
        dataset="digits",
        net="small",
        embedding_dim=2,
        normalize=False,
        loss="triplet",
        loss_params={"margin": 0.2},
        learning_rate=4e-4,
        steps=900,
        num_snapshots=36,
        eval_subset_size=1000,
    ),
    # The effect of a margin on angles, with the recommended settings: directions of the classes, wedges between them.
    "Digits on the circle, CosFace": TrainConfig(
        dataset="digits",
        net="small",
        embedding_dim=2,
        normalize=True,
        loss="cosface",
        num_snapshots=36,
        eval_subset_size=1000,
    ),
}

# Two that fail on purpose: a class sees a collapse before it causes one, and finds its name and a remedy beside it.
# Without a margin nothing holds different classes apart. The hardest negatives at ten times the usual rate pull the
# space into a point, from which the loss, equal to its margin, shows no way out.
FAILING = {
    "Fails: contrastive without a margin": TrainConfig(
        dataset="digits",
        net="mlp",
        embedding_dim=2,
        normalize=False,
        loss="contrastive",
        loss_params={"margin": 0.0},
        miner=None,
        steps=150,
        num_snapshots=16,
        eval_subset_size=300,
    ),
    "Fails: hardest triplets, rate too large": TrainConfig(
        dataset="digits",
        net="mlp",
        embedding_dim=4,
        loss="triplet",
        miner="batch_hard",
        learning_rate=0.05,
        steps=150,
        num_snapshots=16,
        eval_subset_size=300,
    ),
}


def main() -> None:
    """Train each of them anew and remove the others."""
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with TemporaryDirectory() as folder:
        train(Runs(folder, bundled=Path(folder, "none")))


def train(runs: Runs) -> None:
    """Train each of them in a folder and write its archive."""
    for title, config in (READY_MADE | FAILING).items():
        run = runs.create(config, title)
        if title in FAILING:
            run.info["fails"] = True
            write_json(run.path / "run.json", run.info)
        *_, end = train_and_record(run, save_checkpoints=title in READY_MADE)
        assert type(end) is Finished, end
        # Every second net that a training keeps is enough for a first drawing to walk over the map; 0.2 MB each.
        nets = sorted((run.path / "nets").glob("*"), key=lambda path: int(path.stem))
        for path in nets[1::2]:
            path.unlink()
        if title in FAILING:
            write_weights(run.path / "weights.safetensors", to_half(end.net_weights))  # nobody asks much of these nets
        archive = FOLDER / f"{run.id}.zip"
        with archive.open("wb") as file:
            export_run(run, file, compress=False)  # the wheel and Git compress it, and better as a whole
        size = archive.stat().st_size
        scores = ", ".join(f"{name} {end.metrics[name]:.3f}" for name in ("precision_at_1", "map_at_r"))
        print(f"{run.id}  {title}: {scores}, {size / 1000:.0f} kB")
        if size > LARGEST:
            sys.exit(f"{title} is larger than {LARGEST / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()
