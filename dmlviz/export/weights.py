"""Export of the trained weights, and code that loads them."""

import shutil
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.export.contents import RunExport
from dmlviz.storage.regular_file import open_regular


def write_weights(export: RunExport, file: IO[bytes]) -> None:
    """Write the safetensors file; raise UserError if the run has none."""
    path = export.run.path / "weights.safetensors"
    if not path.exists():
        raise export.run.lacks("weights")
    with open_regular(path) as stored:
        shutil.copyfileobj(stored, file)


def loading(export: RunExport) -> str:
    """Return a few lines of Python that load the weights and embed `images` (uint8, n × c × h × w), or `features`."""
    config, data = export.run.config, DATASETS[export.run.config.dataset]
    if config.unfrozen_blocks:
        return (
            "from safetensors.torch import load_file\n"
            "from dmlviz import TrainConfig\n"
            "from dmlviz.nets.fine_tuned import fine_tuned\n"
            f'config = TrainConfig(dataset="{config.dataset}", net="{config.net}", '
            f"embedding_dim={config.embedding_dim}, normalize={config.normalize}, "
            f"unfrozen_blocks={config.unfrozen_blocks}, frozen_batch_norm={config.frozen_batch_norm})\n"
            f'net = fine_tuned(config).load_trained(load_file("{export.file_name("weights")}"))\n'
            "embeddings = net(images)\n"
        )
    if data.features is not None:
        return (
            "from safetensors.torch import load_file\n"
            "from dmlviz import nets\n"
            f'net = nets.build("{config.net}", embedding_dim={config.embedding_dim}, normalize={config.normalize}, '
            f"features={data.features.dimensions}).eval()\n"
            f'net.load_state_dict(load_file("{export.file_name("weights")}"))\n'
            f"embeddings = net(((features - {data.features.mean}) / {data.features.std})[:, :, None, None])\n"
        )
    net = f'"{config.net}", embedding_dim={config.embedding_dim}, normalize={config.normalize}'
    return (
        "from safetensors.torch import load_file\n"
        "from dmlviz import nets\n"
        f"net = nets.build({net}, channels={data.channels}, size={data.size}).eval()\n"
        f'net.load_state_dict(load_file("{export.file_name("weights")}"))\n'
        f"embeddings = net((images.float() / 255 - {data.mean}) / {data.std})\n"
    )
