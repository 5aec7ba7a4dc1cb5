"""The whole training loop against the classical one and against one with pytorch-metric-learning.

`python tests/bench/bench_training.py [--rounds 5]`: LeNet, batches of 10 × 25 MNIST images, triplet loss with
random hard negatives, Adam, one thread; images per processor second, the three loops taking turns.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, permutations
from time import process_time

import numpy as np
import torch
from pytorch_metric_learning import distances, miners
from pytorch_metric_learning import losses as peer_losses
from pytorch_metric_learning.samplers import MPerClassSampler
from torch import Tensor, nn
from torch.nn.functional import relu
from torch.utils.data import DataLoader

from dmlviz import losses
from dmlviz import miners as our_miners
from dmlviz.config import TrainConfig
from dmlviz.data import Dataset, data_root, load
from dmlviz.miners.tuples import Triplets
from dmlviz.nets import build
from dmlviz.nets.torchvision_operators import register_missing
from dmlviz.training.events import Step
from dmlviz.training.loop import train

P, K, MARGIN = 10, 25, 0.2
CONFIG = TrainConfig(
    dataset="mnist",
    net="lenet",
    loss="triplet",
    loss_params={"margin": MARGIN},
    miner="random_hard_negative",
    miner_params={"margin": MARGIN},
    classes_per_batch=P,
    images_per_class=K,
    normalize=False,
    steps=100_000,
    num_snapshots=1,
)
AT_LEAST = {"lenet": {"classical": 4.0, "metric-learning": 2.0}, "small": {"classical": 12.0}}


Pairing = Callable[[Iterable[int], int], Iterable[tuple[int, ...]]]


class BalancedBatches:
    """Batches of P classes with K images each, as classically written."""

    def __init__(self, labels: np.ndarray) -> None:
        self.labels = labels
        self.members = {label: np.where(labels == label)[0] for label in set(labels.tolist())}
        self.used = dict.fromkeys(self.members, 0)
        for members in self.members.values():
            np.random.shuffle(members)

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            indices: list[int] = []
            for label in np.random.choice(list(self.members), P, replace=False).tolist():
                start = self.used[label]
                indices.extend(self.members[label][start : start + K].tolist())
                self.used[label] += K
                if self.used[label] + K > len(self.members[label]):
                    np.random.shuffle(self.members[label])
                    self.used[label] = 0
            yield indices


def squared_distances(x: Tensor) -> Tensor:
    return -2 * x.mm(x.t()) + x.pow(2).sum(dim=1).view(1, -1) + x.pow(2).sum(dim=1).view(-1, 1)


def selected(embeddings: Tensor, labels: Tensor, pairs_of: Pairing = permutations) -> Tensor:
    """A random hard negative for one positive pair after the other in NumPy, as classically written.

    For all ordered pairs as our miner does it (`permutations`), or for half of them as it was published.
    """
    matrix = squared_distances(embeddings.detach()).clamp_min(0).sqrt()
    names = labels.numpy()
    triplets = []
    for label in set(names):
        mask = names == label
        members, others = np.where(mask)[0], np.where(~mask)[0]
        pairs = np.array(list(pairs_of(members, 2)))
        pair_distances = matrix[pairs[:, 0], pairs[:, 1]]
        for (anchor, positive), distance in zip(pairs, pair_distances, strict=True):
            values = (
                distance - matrix[torch.LongTensor(np.array([anchor])), torch.LongTensor(others)] + MARGIN
            ).numpy()
            hard = np.where(values > 0)[0]
            if len(hard):
                triplets.append([anchor, positive, others[np.random.choice(hard)]])
    return torch.LongTensor(np.array(triplets if triplets else [[0, 1, 2]]))


def classical_loss(embeddings: Tensor, triplets: Tensor) -> Tensor:
    a, p, n = (embeddings[triplets[:, column]] for column in range(3))
    return relu((a - p).pow(2).sum(1).sqrt() - (a - n).pow(2).sum(1).sqrt() + MARGIN).mean()


def plain_lenet() -> nn.Module:
    """The same net, layer after layer as usually written."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 5),
        nn.PReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5),
        nn.PReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1024, 256),
        nn.PReLU(),
        nn.Linear(256, 256),
        nn.PReLU(),
        nn.Linear(256, CONFIG.embedding_dim),
    )


def loader(data: Dataset, sampler: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches from torchvision's MNIST with ToTensor and Normalize, in this process."""
    register_missing()
    from torchvision.datasets import MNIST
    from torchvision.transforms import Compose, Normalize, ToTensor

    dataset = MNIST(data_root(), transform=Compose([ToTensor(), Normalize((data.mean,), (data.std,))]))
    if sampler == "classical":
        batches = DataLoader(dataset, batch_sampler=BalancedBatches(data.train.labels))  # type: ignore[arg-type]
    else:
        mper = MPerClassSampler(data.train.labels, m=K, batch_size=P * K, length_before_new_iter=60000)
        batches = DataLoader(dataset, batch_size=P * K, sampler=mper, drop_last=True)
    while True:
        yield from batches


def classical(data: Dataset, pairs_of: Pairing = permutations) -> Iterator[None]:
    net, batches = plain_lenet(), loader(data, "classical")
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    while True:
        images, labels = next(batches)
        optimizer.zero_grad()
        embeddings = net(images)
        classical_loss(embeddings, selected(embeddings, labels, pairs_of)).backward()
        optimizer.step()
        yield


def with_metric_learning(data: Dataset) -> Iterator[None]:
    net, batches = plain_lenet(), loader(data, "metric-learning")
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    distance = distances.LpDistance(normalize_embeddings=False)
    # It has no random hard negative: all triplets with a loss are the nearest that it offers.
    mine = miners.TripletMarginMiner(margin=MARGIN, type_of_triplets="all", distance=distance)
    loss_of = peer_losses.TripletMarginLoss(margin=MARGIN, distance=distance)
    while True:
        images, labels = next(batches)
        optimizer.zero_grad()
        embeddings = net(images)
        loss_of(embeddings, labels, mine(embeddings, labels)).backward()
        optimizer.step()
        yield


def ours(config: TrainConfig, data: Dataset) -> Iterator[None]:
    for event in train(config, data=data):
        if type(event) is Step:
            yield


def memory_costs(data: Dataset, rounds: int) -> None:
    """What a full memory adds to a step of nt_xent, with 10 × 16 images (asked: at most 20 %)."""
    for net in ("small", "lenet"):
        config = TrainConfig(dataset="mnist", net=net, steps=1000, num_snapshots=1)
        loops = [ours(config.replace(memory=memory, max_train_images=5000), data) for memory in (0, 4096)]
        for _ in range(101 + 4096 // 160):  # warm, and full
            next(loops[1])
        next(loops[0])
        spent = [[timed(lambda loop=loop: next(loop)) for loop in loops] for _ in range(10 * rounds)]  # type: ignore[misc]
        alone, compared = 1e3 * np.min(spent, axis=0)  # what else runs can only add
        print(f"{net}: {alone:.1f} ms a step, {compared:.1f} with 4,096 remembered: {compared / alone - 1:+.0%}")


def convolutions() -> Iterator[None]:
    """LeNet's two convolutions alone, forward and backward: less no loop can do."""
    layers = nn.Conv2d(1, 32, 5), nn.Conv2d(32, 64, 5)
    inputs = torch.randn(P * K, 1, 28, 28), torch.randn(P * K, 32, 12, 12, requires_grad=True)
    while True:
        for layer, images in zip(layers, inputs, strict=True):
            maps = layer(images)
            maps.backward(torch.ones_like(maps))
        yield


def assert_equal_work(data: Dataset) -> None:
    """Same images in, same triplets to choose from, same loss and gradient for the same triplets."""
    images, labels = next(loader(data, "classical"))
    net, plain = build("lenet", embedding_dim=CONFIG.embedding_dim, normalize=False, seed=0), plain_lenet()
    plain.load_state_dict(dict(zip(plain.state_dict(), net.state_dict().values(), strict=True)))
    embeddings = net(images)
    assert torch.allclose(embeddings, plain(images), atol=1e-5)
    theirs = selected(embeddings, labels)
    mined = our_miners.build("random_hard_negative", margin=MARGIN)(embeddings.detach(), labels)
    assert isinstance(mined, Triplets)
    a, p, n = mined
    d = torch.cdist(embeddings.detach().double(), embeddings.detach().double())
    assert (d[a, p] + MARGIN > d[a, n] - 1e-5).all()
    assert (labels[a] == labels[p]).all()
    assert (labels[a] != labels[n]).all()
    pairs = set(zip(a.tolist(), p.tolist(), strict=True))
    clear = {(i, j) for i, j, k in theirs.tolist() if d[i, j] + MARGIN > d[i, k] + 1e-4}
    assert clear <= pairs, "every positive pair with a hard negative is kept"
    classical_value = classical_loss(embeddings, theirs)
    our_value = losses.build("triplet", margin=MARGIN)(embeddings, labels, Triplets(*theirs.T))
    assert torch.allclose(classical_value, our_value, rtol=1e-4)
    gradients = [torch.autograd.grad(value, embeddings, retain_graph=True)[0] for value in (classical_value, our_value)]
    assert torch.allclose(*gradients, atol=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="only what a cross-batch memory costs")
    rounds, memory = (args := parser.parse_args()).rounds, args.memory
    torch.set_num_threads(1)
    np.random.seed(0)
    data = load("mnist")
    if memory:
        return memory_costs(data, rounds)
    assert_equal_work(data)
    loops: dict[str, tuple[Iterator[None], int]] = {
        "classical": (classical(data), 2),
        "classical, half": (classical(data, combinations), 2),
        "metric-learning": (with_metric_learning(data), 4),
        "lenet": (ours(CONFIG, data), 8),
        "small": (ours(CONFIG.replace(net="small"), data), 20),
        "convolutions": (convolutions(), 8),
    }
    spent: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(rounds + 1):
        for name, (loop, batches) in loops.items():
            seconds = timed(lambda loop=loop, batches=batches: [next(loop) for _ in range(batches)]) / batches  # type: ignore[misc]
            if turn:  # the first turn warms up
                spent[name].append(seconds)
    cost = {name: float(np.median(seconds)) for name, seconds in spent.items()}
    print(f"{P} × {K} images, triplet with random hard negatives, {rounds} rounds, medians, one thread")
    for name, seconds in cost.items():
        ratios = "".join(f"{cost[peer] / seconds:7.1f}× {peer}" for peer in list(cost)[:3])
        print(f"{name:16s}{1e3 * seconds:8.0f} ms a batch{P * K / seconds:9.0f} images/s{ratios}")
    print(f"lenet's loop takes {cost['lenet'] / cost['convolutions']:.2f} × its convolutions (asked: 1.15)")
    for name, floors in AT_LEAST.items():
        for peer, floor in floors.items():
            assert cost[peer] / cost[name] >= floor, f"{name}: {cost[peer] / cost[name]:.1f}× {peer}, not {floor}×"


def timed(work: Callable[[], object]) -> float:
    """Processor seconds: what else runs on the machine counts less than by the clock."""
    start = process_time()
    work()
    return process_time() - start


if __name__ == "__main__":
    main()
