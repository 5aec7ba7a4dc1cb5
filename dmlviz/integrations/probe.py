"""The fixed set of images that a callback embeds from time to time, by the net as it is then."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dmlviz.config import ProjectionConfig
from dmlviz.errors import UserError
from dmlviz.recording.inputs import read_labels
from dmlviz.recording.recording import Recording, RecordingWarning, end_reason, process_rank, record
from dmlviz.storage.text import one_line

FIELDS = ("pixel_values", "image", "images", "input_ids")  # where items that are mappings keep what the net takes
MAX_BYTES = 4 << 30  # of all images, in memory


def to_probe(images: Any, labels: Any) -> tuple[Tensor, Any]:
    """Return images as one tensor (n × …), and their labels.

    Args:
        images: Input of the net: a tensor, an array, a list of them of one shape, or a Dataset whose items are one,
            (image, label) or a mapping.
        labels: Classes (n); None for those of the Dataset, if it has any.

    Raises:
        UserError: For anything else.
    """
    if isinstance(images, (Tensor, np.ndarray)):
        return torch.as_tensor(images), labels
    try:
        items = [_item(images[i]) for i in _indices(images)]
    except (TypeError, NotImplementedError):  # no length, or no items by number
        raise _refusal(type(images).__name__) from None
    if not items or not isinstance(items[0][0], (Tensor, np.ndarray)):
        raise _refusal(f"{type(images).__name__} of {type(items[0][0]).__name__}" if items else "none")
    shapes = {tuple(image.shape) for image, _ in items}
    if len(shapes) > 1:
        raise _refusal(f"shapes {' and '.join(map(str, sorted(shapes)[:2]))}")
    own = [label for _, label in items]
    if labels is None and all(label is not None for label in own):
        labels = [label.item() if isinstance(label, (Tensor, np.generic)) else label for label in own]
    return torch.stack([torch.as_tensor(image) for image, _ in items]), labels


def _indices(images: Any) -> range:
    """Return the numbers of the items; raise UserError where they are too many for memory."""
    count = len(images)
    first = _item(images[0])[0] if count else None
    size = count * getattr(first, "nbytes", 0)
    if size > MAX_BYTES:
        raise UserError(
            f"The recorded images are held in memory, up to {MAX_BYTES >> 30} GB; got {count:,} with "
            f"{size / (1 << 30):.0f} GB: pass fewer, as with torch.utils.data.Subset."
        )
    return range(count)


def _item(item: Any) -> tuple[Any, Any]:
    """Return the image and the label of an item; None where it has no label."""
    if isinstance(item, (tuple, list)) and item:
        return item[0], item[1] if len(item) == 2 and np.ndim(item[1]) == 0 else None
    if hasattr(item, "keys"):
        name = next((name for name in FIELDS if name in item), None)
        label = next((item[name] for name in ("labels", "label") if name in item), None)
        return None if name is None else item[name], label
    return item, None


def _refusal(got: str) -> UserError:
    return UserError(
        "images are what the net takes, as a tensor (n × …), a list of tensors of one shape, or a Dataset of them; got "
        f"{got}: apply the transform of the training first."
    )


Embed = Callable[[nn.Module, Tensor], Any]
OUTPUTS = ("embeddings", "image_embeds", "sentence_embedding", "pooler_output")  # where libraries put embeddings


class Probe:
    """Embeds images with a net, and records where they are; what fails there is a warning, and the training goes on.

    Args:
        title: Title of the run; further trainings are "title 2" and so on.
        images: Input of the net (n × …): see `to_probe`.
        labels: Their classes (n); None for those of a Dataset, or for images without labels.
        shown: The images (n) as a person should see them; by default `images`, if they can be seen. None for points.
        embed: Function of the net and a batch of images that returns embeddings (batch × d); by default the net's
            output, or its embeddings or pooler output where a library wraps it.
        batch_size: Images embedded at a time.
        **options: Further arguments of `dmlviz.record`.

    Raises:
        UserError: For images or labels of a wrong shape or type.
    """

    def __init__(
        self,
        title: str,
        images: Any,
        labels: Any = None,
        *,
        shown: Any = "images",
        embed: Embed | None = None,
        batch_size: int = 256,
        **options: Any,
    ) -> None:
        signature(record).bind(title, **options)
        if options.get("projection") is not None:
            options["projection"] = ProjectionConfig.following(options["projection"])
        self.title, self.options = title, options
        self.images, self.labels = to_probe(images, labels)
        ids, _ = read_labels(self.labels, options.get("classes"), len(self.images))
        if len(ids) != len(self.images):
            raise UserError(f"Each image has one label; got {len(self.images):,} images and {len(ids):,} labels.")
        if isinstance(shown, str):
            shown = self.images if _is_picture(self.images) else None
        if shown is None and self.labels is None:
            raise UserError("A recording needs labels, or images to show; got neither: pass labels or shown.")
        self.shown = shown
        self.embed = embed or embeddings_of
        self.batch_size = at_least_one("batch_size", batch_size)
        self.recording: Recording | None = None
        self.steps: int | None = None  # of the training, where the library knows
        self.trainings = 0
        self._reset()

    def _reset(self) -> None:
        self.last_step = self.last_loss_step = -1
        self._cannot_begin = False
        self._warnings: set[str] = set()

    def start(self) -> None:
        """Begin a recording of its own for a training, unless the one before has not taken a step."""
        with self.harmless():
            if max(self.last_step, self.last_loss_step) > 0 or (self.recording is not None and self.recording.closed):
                self.end("Another training began.")
                self.recording = None
            if self.recording is None:
                self._reset()

    def begin(self) -> Recording | None:
        """Begin the recording, if it has not begun; None where it cannot, or another process records."""
        if process_rank():
            return None
        if self.recording is None and not self._cannot_begin:
            self._cannot_begin = True
            self.trainings += 1
            title = self.title if self.trainings == 1 else f"{self.title} {self.trainings}"
            options = {"steps": self.steps} | self.options
            self.recording = record(title, images=self.shown, labels=self.labels, **options)
            self._cannot_begin = False
        return None if self.recording is None or self.recording.closed else self.recording

    def snapshot(self, net: nn.Module, step: int) -> None:
        """Embed the images, and record them; a step that is recorded already is left out."""
        with self.harmless():
            if step > self.last_step and (recording := self.begin()) is not None:
                recording.snapshot(step, self._embeddings(net))
                self.last_step = step

    @torch.no_grad()
    def _embeddings(self, net: nn.Module) -> Tensor:
        """Return the embeddings (n × d, float32) of the images, on the CPU."""
        first = next(net.parameters(), None)
        if is_sharded(net):
            raise UserError(
                "This net's weights are spread over processes, and one of them cannot embed alone: gather embeddings, "
                "and record them with dmlviz.record."
            )
        modes = {module: module.training for module in net.modules()}
        net.eval()
        try:
            parts = [
                self.embed(net, part if first is None else _as_weights(part, first)).detach().float().cpu()
                for part in self.images.split(self.batch_size)
            ]
        finally:
            for module, mode in modes.items():  # parts that were frozen stay so
                module.training = mode
        return torch.cat(parts).flatten(1)

    def loss(self, step: int, loss: Any) -> None:
        """Record the loss of a batch; a step that is recorded already is left out."""
        with self.harmless():
            if step > self.last_loss_step and (recording := self.begin()) is not None:
                recording.step(step, loss)
                self.last_loss_step = step

    def end(self, reason: str = "") -> None:
        """End the recording; a `reason` says why the training ends early."""
        with self.harmless():
            if self.recording is not None:
                self.recording.close(reason)

    def fail(self, error: BaseException | None) -> None:
        """End the recording of a training that an error ends; None where it is finished."""
        self.end(end_reason(error))

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """Warn of an error, once in a training of each kind, instead of ending the training."""
        try:
            yield
        except Exception as error:
            if type(error).__name__ not in self._warnings:
                self._warnings.add(type(error).__name__)
                text = one_line(str(error), 300)
                message = text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"
                text = f"Something is not recorded, and the training goes on. {message}"
                warnings.warn(text, RecordingWarning, stacklevel=5)


def embeddings_of(net: nn.Module, images: Tensor) -> Tensor:
    """Return the net's output; where it is none, the field that holds embeddings.

    Raises:
        UserError: If there is neither.
    """
    output = net(images)
    if isinstance(output, Tensor):
        return output
    for name in OUTPUTS:
        value = output.get(name) if isinstance(output, dict) else getattr(output, name, None)
        if isinstance(value, Tensor):
            return value
    raise UserError(
        f"The net should give embeddings, as a tensor or in one of {', '.join(OUTPUTS)}; got {type(output).__name__}: "
        "pass embed, a function of the net and the images."
    )


def at_least_one(name: str, value: int) -> int:
    """Return a number of epochs, batches or images; raise UserError below 1."""
    if value < 1:
        raise UserError(f"{name} is at least 1; got {value}: choose a larger one.")
    return value


def is_sharded(net: nn.Module) -> bool:
    """Return whether processes hold parts of the weights (FSDP, ZeRO stage 3): one that embeds alone waits for ever."""
    names = {type(part).__name__ for part in (*net.modules(), *net.parameters())}
    spread = bool(names & {"FullyShardedDataParallel", "DTensor"})
    return spread or any(hasattr(weights, "ds_id") for weights in net.parameters())


def _as_weights(images: Tensor, weights: Tensor) -> Tensor:
    """Return images on the device of the weights, and of their type where both are floats, as of a net in bfloat16."""
    both = images.is_floating_point() and weights.is_floating_point()
    return images.to(weights.device, weights.dtype if both else images.dtype)


def _is_picture(images: Tensor) -> bool:
    return images.ndim == 3 or (images.ndim == 4 and bool({1, 3} & {images.shape[1], images.shape[3]}))
