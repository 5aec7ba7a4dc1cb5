"""Class scores of a test image at the end of a run, with margins, for losses with class weights."""

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.losses.class_weights import ClassWeights
from dmlviz.runs.answers import Logits
from dmlviz.runs.run import LOSS_WEIGHTS, Run
from dmlviz.storage.regular_file import regular_path


def logits(run: Run, item: int) -> Logits:
    """Return the scores of a test image with each training class, before and after the margin of the loss.

    Args:
        run: A finished run whose loss has class weights.
        item: Index of the test image.

    Raises:
        UserError: If the run has no class weights, or no such image.
    """
    embeddings, labels, classes = run.embeddings, run.labels, list(run.config.train_classes)
    if embeddings is None or labels is None or not (run.path / LOSS_WEIGHTS).exists():
        raise UserError(f"{run.title} keeps no class weights: train it again with a loss that has some.")
    if not 0 <= item < len(labels):
        raise UserError(f"A test image has a number from 0 to {len(labels) - 1:,}; got {item:,}.")
    loss = _class_weights(run)
    x = torch.from_numpy(np.array(embeddings[item], np.float32))
    before = _scores(loss, x, 0)
    if len(classes) > 1:
        before[0] = _scores(loss, x, 1)[0]  # the first class's own score bears the margin where it is the label
    own = classes.index(int(labels[item])) if int(labels[item]) in classes else None
    after = before if own is None else _scores(loss, x, own)
    return Logits(classes=classes, own=own, before=before.tolist(), after=after.tolist(), norm=float(x.norm()))


def _scores(loss: ClassWeights, x: Tensor, label: int) -> Tensor:
    with torch.no_grad():
        return loss.scores(loss.batch(x[None], torch.tensor([label])))[0].float()


def _class_weights(run: Run) -> ClassWeights:
    """Return the run's loss, or the part of its sum, that scores classes, with the weights it learned."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    config = run.config
    side = "a." if config.second_labels else ""  # the other loss scores no classes
    kind, params = config.class_losses["a"] if side else (config.loss, config.loss_params)
    loss = losses.build(
        kind, embedding_dim=config.embedding_dim, num_classes=len(config.train_classes), seed=config.seed, **params
    )
    path = run.path / LOSS_WEIGHTS
    try:
        with regular_path(path) as name:
            tensors = load_file(name)
        loss.load_state_dict({key.removeprefix(side): value for key, value in tensors.items() if key.startswith(side)})
    except (SafetensorError, RuntimeError, OSError):
        raise DamagedFileError(path, "it does not hold the weights of this run's loss") from None
    for part in loss.modules():
        if isinstance(part, ClassWeights):
            return part
    raise UserError(f"{loss.declaration.title} scores no classes: choose a loss with class weights, as softmax.")
