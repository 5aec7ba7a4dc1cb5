"""The images that a callback embeds from time to time, and how: the same ones, by the net as it is."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dmlviz.errors import UserError
from dmlviz.recording.recording import Recording, record

Embed = Callable[[nn.Module, Tensor], Any]
OUTPUTS = ("embeddings", "image_embeds", "sentence_embedding", "pooler_output")  # where libraries put embeddings


class Probe:
    """Embeds images with a net, and records where they are.

    Args:
        title: title of the run.
        images: what the net takes (n × …), a tensor or an array.
        labels: their classes (n).
        shown: the images (n) as a person should see them; by default `images`, if they can be seen. None for points.
        embed: function of the net and a batch of images that returns embeddings (batch × d); by default the net's
            output, or its embeddings or pooler output where a library wraps it.
        batch_size: images embedded at a time.
        **options: further arguments of `dmlviz.record`.
    """

    def __init__(
        self,
        title: str,
        images: Any,
        labels: Any,
        *,
        shown: Any = "images",
        embed: Embed | None = None,
        batch_size: int = 256,
        **options: Any,
    ) -> None:
        self.title, self.labels, self.options = title, labels, options
        self.images = torch.as_tensor(images)
        if isinstance(shown, str):
            shown = self.images if _is_picture(self.images) else None
        self.shown = shown
        self.embed = embed or embeddings_of
        self.batch_size = batch_size
        self.recording: Recording | None = None
        self.last_step = -1

    def begin(self) -> Recording:
        """Begin the recording, if it has not begun."""
        if self.recording is None:
            self.recording = record(self.title, images=self.shown, labels=self.labels, **self.options)
        return self.recording

    @torch.no_grad()
    def snapshot(self, net: nn.Module, step: int) -> None:
        """Embed the images, and record them; a step that is recorded already is left out."""
        if step <= self.last_step:
            return
        first = next(net.parameters(), None)
        modes = {module: module.training for module in net.modules()}
        net.eval()
        try:
            parts = [
                self.embed(net, part if first is None else part.to(first.device)).detach().float().cpu()
                for part in self.images.split(self.batch_size)
            ]
        finally:
            for module, mode in modes.items():  # parts that were frozen stay so
                module.training = mode
        self.begin().snapshot(step, torch.cat(parts).flatten(1))
        self.last_step = step

    def loss(self, step: int, loss: Any) -> None:
        """Record the loss of a batch."""
        self.begin().step(step, loss)

    def end(self, reason: str = "") -> None:
        """End the recording."""
        if self.recording is not None:
            self.recording.close(reason)


def embeddings_of(net: nn.Module, images: Tensor) -> Tensor:
    """Return the net's output; where it is none, the field that holds embeddings.

    Raises:
        UserError: if there is neither.
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


def _is_picture(images: Tensor) -> bool:
    return images.ndim == 3 or (images.ndim == 4 and bool({1, 3} & {images.shape[1], images.shape[3]}))
