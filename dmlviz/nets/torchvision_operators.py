"""A workaround to import torchvision when its wheel and torch's are of different builds.

Next to a CPU build of torch, torchvision's CUDA wheel cannot load its C++ operators, and its import fails with
`operator torchvision::nms does not exist`. Its models use none of them: declaring the names is enough.
"""

import torch

from dmlviz.errors import UserError
from dmlviz.storage.text import one_line

_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_library: torch.library.Library | None = None


def register_missing() -> None:
    """Declare, without implementation, the operators that torchvision's import needs and does not define.

    Raises UserError where torchvision is not installed, or does not fit torch: a torchvision goes with one torch, so
    dmlviz brings none that might replace the torch that is there.
    """
    global _library
    try:
        try:
            import torchvision
        except RuntimeError as error:
            if "torchvision::" not in str(error) or _library is not None:
                raise
            _library = torch.library.Library("torchvision", "FRAGMENT")
            for name, schema in _SCHEMAS.items():
                if not hasattr(torch.ops.torchvision, name):
                    _library.define(name + schema)
            import torchvision  # noqa: F401
    except Exception as error:  # one that was built for another torch raises whatever it meets first
        state = "is not installed"
        if not isinstance(error, ModuleNotFoundError) or error.name != "torchvision":
            state = f"does not fit torch {torch.__version__} ({one_line(str(error), 120)})"
        raise UserError(
            f"This net is torchvision's, which {state}: pip install 'dmlviz[torchvision]', or the "
            "torchvision of your torch."
        ) from None
