"""A siamese net on digits: random pairs and the contrastive loss, as in 2006."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

STEPS, PAIRS, MARGIN = 1500, 64, 1.0

torch.manual_seed(0)
x, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
x = x.float() / 16  # 1,797 images of 8 × 8 pixels
train, test = torch.arange(len(x)) < 1200, torch.arange(len(x)) >= 1200

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))  # both branches: one net, one set of weights
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def random_pairs(y):
    a = torch.randint(len(y), (PAIRS,))
    same = torch.rand(PAIRS) < 0.5  # half of the pairs are positive
    fits = (y[a, None] == y) == same[:, None]
    b = torch.multinomial(fits.float(), 1).flatten()
    return a, b, same


for step in range(STEPS):
    a, b, same = random_pairs(y[train])
    u, v = net(x[train][a]), net(x[train][b])
    d = (u - v).square().sum(dim=1).add(1e-12).sqrt()
    loss = torch.where(same, d**2, F.relu(MARGIN - d) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

with torch.no_grad():
    d = torch.cdist(net(x[test]), net(x[test])).fill_diagonal_(torch.inf)
score = (y[test][d.argmin(dim=1)] == y[test]).float().mean().item()
print(f"P@1 of {test.sum()} test images: {score:.3f}")
