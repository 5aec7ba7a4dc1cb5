"""Record a training loop of your own: `python examples/record_pytorch.py`, and watch it with `dmlviz`."""

import torch
from torch import nn

import dmlviz
from dmlviz import data, losses

digits = data.load("digits")
train, test = (torch.from_numpy(part.images).float() / 255 for part in (digits.train, digits.test))
labels = torch.from_numpy(digits.train.labels)

net = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
loss_function = losses.build("triplet", margin=0.3)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)

with dmlviz.record("My loop", images=test, labels=digits.test.labels, dataset="Digits, recorded") as recording:
    for step in range(301):
        if step % 20 == 0:
            with torch.no_grad():
                recording.snapshot(step, nn.functional.normalize(net(test)))
        batch = torch.randint(len(train), (128,))
        loss = loss_function(nn.functional.normalize(net(train[batch])), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recording.step(step + 1, loss)

print(f"{recording.run.title}: P@1 {recording.run.metrics['precision_at_1']:.3f} in {recording.run.path}")
