"""What a net says about one test image, class scores with margins, and about two: which parts hold them together."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dmlviz import losses
from dmlviz.errors import DamagedFileError, UserError
from dmlviz.losses.class_weights import ClassWeights
from dmlviz.ops.squared_distances import squared_differences
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


WINDOW, STRIDE = 0.2, 1 / 14  # of the side of an image
SLOW_STRIDE = 1 / 7  # for a net that is a backbone


def occlusion_maps(embed: Callable[[np.ndarray], np.ndarray], pair: np.ndarray, stride: float = STRIDE) -> np.ndarray:
    """Return how much farther apart two images are without each part of either.

    A square window moves over each image and shows what lies at its edge, the background. No gradients are needed.

    Args:
        embed: From images (n × h × w or n × h × w × 3, uint8) to embeddings (n × d).
        pair: The two images (2 × h × w or 2 × h × w × 3, uint8).
        stride: How far the window moves, in shares of the side.

    Returns:
        For each pixel of both images (2 × h × w, float64) the mean change of their Euclidean distance over the windows
        on it: positive where it holds the two together, negative where it holds them apart.

    Raises:
        UserError: If the net gives NaN or infinity.

    Examples:
        `occlusion_maps(lambda images: embed(run, images), images[[3, 7]])`
    """
    side = pair.shape[1]
    hidden, windows = [], []
    width, step = max(2, round(WINDOW * side)), max(1, round(stride * side))
    for which, image in enumerate(pair):
        background = _background(image)
        for top in range(1 - width, side, step):
            for left in range(1 - width, side, step):
                rows, columns = (slice(max(0, at), at + width) for at in (top, left))
                if (image[rows, columns] != background).any():  # else nothing would change
                    changed = image.copy()
                    changed[rows, columns] = background
                    hidden.append(changed)
                    windows.append((which, rows, columns))
    embeddings = embed(np.concatenate([pair, *([np.stack(hidden)] if hidden else [])])).astype(np.float64)
    if not np.isfinite(embeddings).all():
        raise UserError("The net gives NaN or infinity: its training diverged. Choose another run.")
    other = np.array([1, *(1 - which for which, _, _ in windows)], int)
    every = np.array([0, *range(2, len(embeddings))], int)
    distance, *apart = np.sqrt(squared_differences(embeddings, embeddings, every, other))
    sums, counts = np.zeros(pair.shape[:3]), np.zeros(pair.shape[:3])
    for (which, rows, columns), far in zip(windows, apart, strict=True):
        sums[which, rows, columns] += far - distance
        counts[which, rows, columns] += 1
    changes: np.ndarray = sums / np.maximum(counts, 1)
    return changes


def _background(image: np.ndarray) -> np.ndarray:
    """Return the median of the pixels at the edge of an image."""
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    background: np.ndarray = np.median(edge, axis=0).astype(np.uint8)
    return background
