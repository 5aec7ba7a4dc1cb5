"""Record a training by a trainer of pytorch-metric-learning: `python examples/record_pytorch_metric_learning.py`."""

import torch
from pytorch_metric_learning import losses, miners, trainers
from torch import nn
from torch.utils.data import TensorDataset

from dmlviz import data
from dmlviz.integrations.pytorch_metric_learning import DmlvizHooks

digits = data.load("digits")
train, test = (torch.from_numpy(part.images).float() / 255 for part in (digits.train, digits.test))
trunk = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU())
embedder = nn.Linear(128, 16)

with DmlvizHooks("pytorch-metric-learning", test, digits.test.labels) as hooks:
    trainer = trainers.MetricLossOnly(
        models={"trunk": trunk, "embedder": embedder},
        optimizers={
            "trunk_optimizer": torch.optim.Adam(trunk.parameters(), 1e-3),
            "embedder_optimizer": torch.optim.Adam(embedder.parameters(), 1e-3),
        },
        batch_size=120,
        loss_funcs={"metric_loss": losses.TripletMarginLoss(margin=0.3)},
        mining_funcs={"tuple_miner": miners.MultiSimilarityMiner()},
        dataset=TensorDataset(train, torch.from_numpy(digits.train.labels)),
        dataloader_num_workers=0,
        end_of_iteration_hook=hooks.end_of_iteration_hook,
        end_of_epoch_hook=hooks.end_of_epoch_hook,
    )
    hooks.begin(trainer)  # records the untrained net
    trainer.train(num_epochs=8)

run = hooks.probe.recording.run
print(f"{run.title}: P@1 {run.metrics['precision_at_1']:.3f} after {run.steps} steps in {run.path}")
