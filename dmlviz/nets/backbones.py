"""Pretrained backbones: nets of torchvision and timm with weights of a file, from images to features."""

import hashlib
import pickle
import warnings
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num, UInt8
from torch import Tensor, nn
from torch.nn.functional import interpolate

from dmlviz.catalog.backbones import BACKBONES, BackboneSpec
from dmlviz.catalog.parameters import describe_unknown
from dmlviz.errors import UserError
from dmlviz.storage.files import atomic_write

Weights = dict[str, Tensor]
CHUNK = 16  # images per forward pass: at 224 × 224 pixels more need memory and save no time on a CPU
GPU_CHUNK = 256  # a GPU does more at once
_WRAPPERS = ("state_dict", "model", "model_state_dict")  # under which training programs keep a net's weights


class Backbone(nn.Module):
    """A pretrained net without its classification layer, in evaluation mode.

    Args:
        spec: Its spec.
        weights: Its weights by name, as `read_weights` gives them.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, spec: BackboneSpec, weights: Weights) -> None:
        super().__init__()
        self.spec = spec
        self.body = _without_head(spec)
        self.body.load_state_dict(weights, strict=False)  # `read_weights` has compared them
        for name, values in (("mean", spec.mean), ("std", spec.std)):
            self.register_buffer(name, torch.tensor(values).reshape(1, 3, 1, 1), persistent=False)
        self.eval()

    def forward(self, pixels: Num[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Return the features of pixels from 0 to 255, gray or in color, of any size."""
        size = (self.spec.side, self.spec.side)
        images = interpolate(pixels.float() / 255, size, mode="bilinear", antialias=True, align_corners=False)
        features: Tensor = self.body((images - self.mean) / self.std)  # gray becomes three equal channels
        return features

    @property
    def chunk(self) -> int:
        """Return the batch size that is fastest on the net's device."""
        return GPU_CHUNK if self.mean.is_cuda else CHUNK

    @torch.inference_mode()
    def features(self, images: np.ndarray) -> np.ndarray:
        """Compute features.

        Args:
            images: uint8, n × s × s or n × s × s × 3, of any size.

        Returns:
            float32, n × dimensions.
        """
        parts = (images[at : at + self.chunk] for at in range(0, len(images), self.chunk))
        return np.concatenate([self(as_pixels(part).to(self.mean.device)).float().cpu().numpy() for part in parts])


def complete(name: str) -> BackboneSpec:
    """Return the spec of a backbone, with what only its library knows of a net that is not among those offered.

    Raises:
        UserError: For an unknown name.
    """
    spec = BACKBONES[name]
    return spec if spec.dimensions else _completed(spec)


@lru_cache(maxsize=8)
def _completed(spec: BackboneSpec) -> BackboneSpec:
    _register_operators()
    timm = _timm()
    if spec.weights not in {*timm.list_models(), *timm.list_pretrained()}:
        names = timm.list_pretrained() if "." in spec.weights else timm.list_models()
        raise UserError(describe_unknown("net of timm", spec.weights, dict(zip(names, names, strict=True))))
    net: Any = _without_head(spec)  # of timm, which adds what describes it
    config = net.pretrained_cfg
    whole = timm.create_model(spec.weights, pretrained=False).state_dict()
    return replace(
        spec,
        dimensions=getattr(net, "head_hidden_size", net.num_features),
        head=" ".join({key.rpartition(".")[0] for key in whole.keys() - net.state_dict().keys()}),
        side=config["input_size"][-1],
        mean=config["mean"],
        std=config["std"],
    )


def as_pixels(images: np.ndarray) -> UInt8[Tensor, "n c h w"]:
    """Return images (uint8, n × h × w or n × h × w × 3) as a backbone takes them."""
    return torch.tensor(images).reshape(*images.shape[:3], -1).permute(0, 3, 1, 2)


def find_weights(spec: BackboneSpec, path: Path | None) -> Weights:
    """Return the weights of a backbone, from a file or else as torchvision downloads them."""
    return read_weights(spec, path) if path is not None else download_weights(spec)


def read_weights(spec: BackboneSpec, path: Path) -> Weights:
    """Read the weights of a backbone from a file; those of its classification layer are left out.

    Args:
        spec: The backbone.
        path: A file of safetensors, or one that torch.save wrote: a state dict, also within a checkpoint.

    Raises:
        UserError: If there is no such file, it cannot be read, or it holds the weights of another net.
    """
    if not path.is_file():
        raise UserError(f"There is no file {path}: check the path of the weights.")
    return _checked(spec, _read_content(path), path.name)


def download_weights(spec: BackboneSpec) -> Weights:
    """Return the weights that torchvision or timm downloads, and keeps in its cache folder.

    Raises:
        UserError: If they cannot be downloaded.
    """
    _register_operators()
    try:
        if spec.library == "timm":
            content = _timm().create_model(spec.weights, pretrained=True).state_dict()
        else:
            from torchvision.models import get_weight

            content = get_weight(spec.weights).get_state_dict(progress=False, check_hash=True)
    except UserError:
        raise
    except Exception as error:  # no network, or another file than expected: each library has errors of its own
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(
            f"The weights of {spec.title} could not be downloaded ({reason}): download {spec.weights} of "
            f"{spec.library} elsewhere, and give that file: with --weights, or in the app by Upload."
        ) from None
    return _checked(spec, content, spec.weights)


def digest(weights: Weights) -> str:
    """Return 16 hexadecimal digits that name the content of weights."""
    content = hashlib.sha256()
    for name in sorted(weights):
        content.update(f"{name} {tuple(weights[name].shape)}".encode())
        content.update(weights[name].contiguous().numpy().data)
    return content.hexdigest()[:16]


def save_weights(weights: Weights, path: Path) -> None:
    """Write weights as a file of safetensors, whole or not at all."""
    from safetensors.torch import save

    with atomic_write(path) as file:
        file.write(save(weights))


def _checked(spec: BackboneSpec, content: Any, name: str) -> Weights:
    """Return the weights that the backbone has, from what a file holds; raise UserError unless all are there."""
    if isinstance(content, dict):
        content = next((content[key] for key in _WRAPPERS if isinstance(content.get(key), dict)), content)
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise UserError(f"Weights are a state dict, tensors by name; {name} holds something else: save it again.")
    if not content:
        raise UserError(f"Weights are a state dict, tensors by name; {name} holds no weights: save model.state_dict().")
    heads = tuple(f"{head}." for head in spec.head.split())
    given = {str(key).removeprefix("module."): value for key, value in content.items()}  # of DataParallel
    given = {key: value for key, value in given.items() if not key.startswith(heads)}
    expected = _without_head(spec).state_dict()
    missing = [key for key in expected if key not in given and not key.endswith("num_batches_tracked")]
    unexpected = [key for key in given if key not in expected]
    reshaped = [key for key in given if key in expected and given[key].shape != expected[key].shape]
    if missing or unexpected or reshaped:
        parts = {"missing": missing, "unknown": unexpected, "of another shape": reshaped}
        differences = ", ".join(f"{len(keys):,} {kind} ({keys[0]} …)" for kind, keys in parts.items() if keys)
        raise UserError(
            f"The backbone {spec.name} takes {spec.library}'s weights of {spec.title}; of those in {name}, "
            f"{differences}: choose the backbone that the file belongs to."
        )
    weights = {key: given[key].to(expected[key].dtype).contiguous() for key in expected if key in given}
    broken = [key for key, value in weights.items() if not value.isfinite().all()]
    if broken:
        raise UserError(
            f"Weights are finite numbers; in {name}, {len(broken):,} of {len(weights):,} tensors hold others "
            f"({broken[0]} …): the file is damaged, get it again."
        )
    return weights


def _without_head(spec: BackboneSpec) -> nn.Module:
    _register_operators()
    net: nn.Module
    with torch.random.fork_rng(devices=[]):  # its random weights are replaced
        if not spec.blocks:
            return _timm().create_model(spec.weights, pretrained=False, num_classes=0)  # type: ignore[no-any-return]
        if spec.library == "timm":  # the positions of patches are scaled to the size of the images
            net = _timm().create_model(spec.weights, pretrained=False, dynamic_img_size=True)
        else:
            from torchvision.models import get_model

            net = get_model(spec.name, weights=None)
    parent, _, name = spec.head.rpartition(".")
    setattr(net.get_submodule(parent), name, nn.Identity())
    return net


def _timm() -> Any:
    try:
        import timm
    except ImportError:
        raise UserError("This backbone is a net of timm, which is not installed: pip install 'dmlviz[timm]'.") from None
    return timm


def _register_operators() -> None:
    from dmlviz.nets.torchvision_operators import register_missing

    register_missing()


ZIP, PICKLE = b"PK", b"\x80"  # how files of torch.save begin, today and before PyTorch 1.6


def _read_content(path: Path) -> Any:
    """Return what a file of safetensors or torch.save holds; nothing of it is executed.

    Raises:
        UserError: If it is cut off or damaged, of another kind, or holds more than tensors.
    """
    head = _head(path)
    try:
        if path.suffix == ".safetensors" or head[8:9] == b"{":  # its length is before
            from safetensors.torch import load_file

            return load_file(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's words on files that it then refuses
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many types of errors for a damaged file
        raise UserError(_reason(path, head, isinstance(error, pickle.UnpicklingError))) from None


def _head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(9)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check whether you may read it.") from None


def _reason(path: Path, head: bytes, is_refused: bool) -> str:
    """Return why a file was not read; torch refused it, or failed."""
    if head.startswith(ZIP) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
        if "constants.pkl" in names or any(name.startswith("torch.nn.modules.") for name in _classes(path)):
            return f"Weights are a state dict; {path.name} holds a whole model: save model.state_dict()."
        is_refused &= "data.pkl" in names
    if head.startswith((ZIP, PICKLE)) and is_refused:
        return (
            f"Weights are tensors by name; {path.name} holds more than tensors, which is never executed: save "
            "model.state_dict() with torch.save."
        )
    if head and not head.startswith((ZIP, PICKLE)) and path.suffix != ".safetensors":
        return (
            f"Weights are a file of safetensors, or one that torch.save wrote of a state dict; {path.name} is neither: "
            "choose another file."
        )
    return f"{path.name} is cut off or damaged: get it again."


def _classes(path: Path) -> list[str]:
    """Return the classes and functions that a zip of torch.save asks for, besides tensors."""
    try:
        return torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # it cannot be read that far
        return []
