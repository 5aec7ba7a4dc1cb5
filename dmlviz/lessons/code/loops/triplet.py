"""A triplet net on digits: random triplets, none of them mined."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

STEPS, TRIPLETS, MARGIN = 1500, 64, 0.2

torch.manual_seed(0)
x, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
x = x.float() / 16  # 1,797 images of 8 × 8 pixels
train, test = torch.arange(len(x)) < 1200, torch.arange(len(x)) >= 1200

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))  # three branches: one net
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def random_triplets(y):
    a = torch.randint(len(y), (TRIPLETS,))
    same = y[a, None] == y
    p = torch.multinomial(same.float().scatter(1, a[:, None], 0), 1).flatten()  # another image of the class
    n = torch.multinomial((~same).float(), 1).flatten()
    return a, p, n


for step in range(STEPS):
    z = F.normalize(net(x[train]))
    a, p, n = random_triplets(y[train])
    d_ap, d_an = (z[a] - z[p]).norm(dim=1), (z[a] - z[n]).norm(dim=1)
    loss = F.relu(MARGIN + d_ap - d_an).mean()
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
