"""Reads files of weights that other programs wrote, and says in one sentence why one cannot be read."""

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

from dmlviz.errors import UserError

_ZIP, _PICKLE = b"PK", b"\x80"  # how files of torch.save begin, today and before PyTorch 1.6


def read_content(path: Path) -> Any:
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
    if head.startswith(_ZIP) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
        if "constants.pkl" in names or any(name.startswith("torch.nn.modules.") for name in _classes(path)):
            return f"Weights are a state dict; {path.name} holds a whole model: save model.state_dict()."
        is_refused &= "data.pkl" in names
    if head.startswith((_ZIP, _PICKLE)) and is_refused:
        return (
            f"Weights are tensors by name; {path.name} holds more than tensors, which is never executed: save "
            "model.state_dict() with torch.save."
        )
    if head and not head.startswith((_ZIP, _PICKLE)) and path.suffix != ".safetensors":
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
