"""Export of the trained weights, and code that loads them."""

import shutil
from pathlib import Path
from typing import IO, Any

from dmlviz.catalog.datasets import DATASETS
from dmlviz.config import TrainConfig
from dmlviz.export.contents import RunExport
from dmlviz.storage.regular_file import open_regular


def write_weights(export: RunExport, file: IO[bytes]) -> None:
    """Write the safetensors file; raise UserError if the run has none."""
    with open_regular(_weights(export)) as stored:
        shutil.copyfileobj(stored, file)


def write_thresholds(export: RunExport, file: IO[bytes]) -> None:
    """Write the threshold that is kept with the run; otherwise that of 1% false accepts. Raises as `threshold`."""
    from dmlviz.runs.thresholds import as_json, kept_threshold, threshold

    _weights(export)
    found = kept_threshold(export.run, export.holders) or threshold(export.run, root=export.data_root)
    file.write(as_json(found, export.run.config.ball))


def _weights(export: RunExport) -> Path:
    path = export.run.path / "weights.safetensors"
    if not path.exists():
        raise export.run.lacks("weights")
    return path


def loading(export: RunExport) -> str:
    """Return a few lines of Python: load the weights, embed `images` (uint8, n × c × h × w) or `features`, compare."""
    curvature = export.run.config.ball
    apart = "(embeddings[:, None] - embeddings[None]).norm(dim=2)"
    if curvature:
        apart = f"ball_distance(embeddings, {curvature})"
    return _embedding(export) + (
        f"{'from dmlviz.ops.pairwise import ball_distance' * bool(curvature)}"
        "\nimport json, pathlib\n"
        f'threshold = pathlib.Path("{export.file_name("thresholds")}")  # Export > Threshold\n'
        "if threshold.exists():\n"
        '    limit = json.loads(threshold.read_text())["value"]\n'
        f"    same = {apart} <= limit\n"
    )


def _space(config: TrainConfig, **further: str) -> str:
    """Return the arguments that say where embeddings lie."""
    ball = {**further, "curvature": config.curvature, "clip_radius": config.clip_radius} if config.ball else {}
    neck: dict[str, Any] = {"bn_neck": True} if config.bn_neck else {}
    if neck and further:  # a config, in which it stands between two losses
        neck |= {"loss": config.loss, "loss_params": {**config.loss_params}}
    return ", ".join(f"{name}={value!r}" for name, value in {"normalize": config.normalize, **ball, **neck}.items())


def _embedding(export: RunExport) -> str:
    config, data = export.run.config, DATASETS[export.run.config.dataset]
    if config.unfrozen_blocks:
        return (
            "from safetensors.torch import load_file\n"
            "from dmlviz import TrainConfig\n"
            "from dmlviz.nets.fine_tuned import fine_tuned\n"
            f'config = TrainConfig(dataset="{config.dataset}", net="{config.net}", '
            f"embedding_dim={config.embedding_dim}, {_space(config, space=config.space)}, "
            f"unfrozen_blocks={config.unfrozen_blocks}, frozen_batch_norm={config.frozen_batch_norm})\n"
            f'net = fine_tuned(config).load_trained(load_file("{export.file_name("weights")}"))\n'
            "embeddings = net(images)\n"
        )
    if data.features is not None:
        return (
            "from safetensors.torch import load_file\n"
            "from dmlviz import nets\n"
            f'net = nets.build("{config.net}", embedding_dim={config.embedding_dim}, {_space(config)}, '
            f"features={data.features.dimensions}).eval()\n"
            f'net.load_state_dict(load_file("{export.file_name("weights")}"))\n'
            f"embeddings = net(((features - {data.features.mean}) / {data.features.std})[:, :, None, None])\n"
        )
    net = f'"{config.net}", embedding_dim={config.embedding_dim}, {_space(config)}'
    net += ", of_points=True" * data.of_points
    return (
        "from safetensors.torch import load_file\n"
        "from dmlviz import nets\n"
        f"net = nets.build({net}, channels={data.channels}, size={data.size}).eval()\n"
        f'net.load_state_dict(load_file("{export.file_name("weights")}"))\n'
        f"embeddings = net((images.float() / 255 - {data.mean}) / {data.std})\n"
    )
