import pytest
import torch
from torch import nn

from dmlviz.config import TrainConfig
from dmlviz.training.optimizers import Optimizer

PEERS = {
    "adam": lambda groups: torch.optim.Adam(groups, fused=True),
    "sgd": lambda groups: torch.optim.SGD(groups, momentum=0.8, fused=True),
}


def parts():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(64, 5)).to(memory_format=torch.channels_last)
    return net, nn.Linear(5, 3)


def descend(net, loss, clear, step, steps=6):
    generator = torch.Generator().manual_seed(1)
    for i in range(steps):
        clear()
        embeddings = net(torch.randn(8, 1, 6, 6, generator=generator))
        # The loss does not learn in the second step: a parameter without a gradient stays, and its memory with it.
        (embeddings.square().sum() if i == 1 else loss(embeddings).square().sum()).backward()
        step(1 - i / steps)
    return [parameter.detach().clone() for part in (net, loss) for parameter in part.parameters()]


@pytest.mark.parametrize("method", PEERS)
def test_every_weight_goes_torchs_own_way_to_the_last_bit(method):
    config = TrainConfig(
        dataset="digits", optimizer=method, momentum=0.8, learning_rate=1e-2, loss_learning_rate=3e-3, weight_decay=0.1
    )
    net, loss = parts()
    ours = Optimizer.of(config, net, loss)
    moved = descend(net, loss, ours.clear, ours.step)

    net, loss = parts()
    rates = [1e-2, 3e-3]
    groups = [
        {"params": [*net.parameters()], "lr": rates[0], "weight_decay": 0.1},
        {"params": [*loss.parameters()], "lr": rates[1], "weight_decay": 0.0},
    ]
    peer = PEERS[method](groups)

    def step(factor):
        for group, rate in zip(peer.param_groups, rates, strict=True):
            group["lr"] = rate * factor
        peer.step()

    for a, b in zip(moved, descend(net, loss, peer.zero_grad, step), strict=True):
        assert torch.equal(a, b)
