"""Export of the trained weights, and code that loads them."""

import shutil
from pathlib import Path
from typing import IO

from dmlviz.catalog.datasets import DATASETS
from dmlviz.export.contents import RunExport
from dmlviz.storage.regular_file import open_regular


def write_weights(export: RunExport, file: IO[bytes]) -> None:
    """Write the safetensors file; raise UserError if the run has none."""
    with open_regular(_weights(export)) as stored:
        shutil.copyfileobj(stored, file)


def write_thresholds(export: RunExport, file: IO[bytes]) -> None:
    """Write the threshold that is kept with the run; otherwise that of 1 % false accepts. Raises as `threshold`."""
    from dmlviz.runs.thresholds import as_json, kept_threshold, threshold

    _weights(export)
    file.write(as_json(kept_threshold(export.run, export.holders) or threshold(export.run, root=export.data_root)))


def _weights(export: RunExport) -> Path:
    path = export.run.path / "weights.safetensors"
    if not path.exists():
        raise export.run.lacks("weights")
    return path


def loading(export: RunExport) -> str:
    """Return a few lines of Python: load the weights, embed `images` (uint8, n × c × h × w) or `features`, compare."""
    return _embedding(export) + (
        "\nimport json, pathlib\n"
        f'threshold = pathlib.Path("{export.file_name("thresholds")}")  # Export > Threshold\n'
        "if threshold.exists():\n"
        '    limit = json.loads(threshold.read_text())["value"]\n'
        "    same = (embeddings[:, None] - embeddings[None]).norm(dim=2) <= limit\n"
    )


def _embedding(export: RunExport) -> str:
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
