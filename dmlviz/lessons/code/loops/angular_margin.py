"""Softmax with an angular margin on digits: ArcFace, a weight for each class and no pairs."""

import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

STEPS, BATCH, MARGIN, SCALE = 600, 64, 0.5, 16.0

torch.manual_seed(0)
x, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
x = x.float() / 16  # 1,797 images of 8 × 8 pixels
train, test = torch.arange(len(x)) < 1200, torch.arange(len(x)) >= 1200

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
weight = nn.Parameter(torch.randn(10, 16) / 4)  # the direction of each class
optimizer = torch.optim.Adam([*net.parameters(), weight], lr=1e-3)

for step in range(STEPS):
    batch = torch.randint(int(train.sum()), (BATCH,))
    z, c = F.normalize(net(x[train][batch])), y[train][batch]
    cos = z @ F.normalize(weight).T
    own = cos.gather(1, c[:, None]).clamp(-1 + 1e-7, 1 - 1e-7)
    theta = torch.acos(own)  # angle to its own class
    harder = torch.where(theta + MARGIN < math.pi, torch.cos(theta + MARGIN), own - MARGIN * math.sin(MARGIN))
    loss = F.cross_entropy(SCALE * cos.scatter(1, c[:, None], harder), c)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

with torch.no_grad():  # the weights are not needed any more
    z = F.normalize(net(x[test]))
d = torch.cdist(z, z).fill_diagonal_(torch.inf)
score = (y[test][d.argmin(dim=1)] == y[test]).float().mean().item()
print(f"P@1 of {test.sum()} test images: {score:.3f}")
