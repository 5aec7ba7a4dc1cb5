"""Online mining on digits: of each batch the hardest positive and negative of every image."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

STEPS, P, K, MARGIN = 600, 10, 6, 0.2

torch.manual_seed(0)
x, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
x = x.float() / 16  # 1,797 images of 8 × 8 pixels
train, test = torch.arange(len(x)) < 1200, torch.arange(len(x)) >= 1200

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def balanced_batch(y):
    images = []
    for c in torch.randperm(10)[:P]:  # P classes
        own = (y == c).nonzero().flatten()
        images.append(own[torch.randperm(len(own))[:K]])  # K images of each
    return torch.cat(images)


for step in range(STEPS):
    batch = balanced_batch(y[train])
    z, c = F.normalize(net(x[train][batch])), y[train][batch]
    d2 = (2 - 2 * z @ z.T).clamp(min=1e-12)  # one matrix instead of branches
    same = c[:, None] == c
    hardest_positive = d2.masked_fill(~same, 0).amax(dim=1).sqrt()
    hardest_negative = d2.masked_fill(same, 4).amin(dim=1).sqrt()
    loss = F.relu(MARGIN + hardest_positive - hardest_negative).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

with torch.no_grad():
    z = F.normalize(net(x[test]))
d = torch.cdist(z, z).fill_diagonal_(torch.inf)
score = (y[test][d.argmin(dim=1)] == y[test]).float().mean().item()
print(f"P@1 of {test.sum()} test images: {score:.3f}")
