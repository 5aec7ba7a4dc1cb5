"""Each net as on a slide, for images of 28 × 28: from images (n × 1 × 28 × 28) to embeddings (n × dim)."""

import torch.nn.functional as F
from torch import nn


class small(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 6, stride=3, padding=1)
        self.conv2 = nn.Conv2d(32, 48, 3, stride=2, padding=1)
        self.fc1 = nn.Linear(48 * 5 * 5, 112)
        self.fc2 = nn.Linear(112, dim)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.normalize(x)


class lenet(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(1, 32, 5), nn.PReLU()
        self.conv2, self.act2 = nn.Conv2d(32, 64, 5), nn.PReLU()
        self.fc1, self.act3 = nn.Linear(64 * 4 * 4, 256), nn.PReLU()
        self.fc2, self.act4 = nn.Linear(256, 256), nn.PReLU()
        self.fc3 = nn.Linear(256, dim)

    def forward(self, x):
        x = F.max_pool2d(self.act1(self.conv1(x)), 2)
        x = F.max_pool2d(self.act2(self.conv2(x)), 2)
        x = x.flatten(1)
        x = self.act3(self.fc1(x))
        x = self.act4(self.fc2(x))
        x = self.fc3(x)
        return F.normalize(x)


class lenet_prelu(lenet):
    def __init__(self, dim=64):
        super().__init__(dim)
        self.act5 = nn.PReLU()

    def forward(self, x):
        x = F.max_pool2d(self.act1(self.conv1(x)), 2)
        x = F.max_pool2d(self.act2(self.conv2(x)), 2)
        x = x.flatten(1)
        x = self.act3(self.fc1(x))
        x = self.act4(self.fc2(x))
        x = self.act5(self.fc3(x))
        return F.normalize(x)


class linear(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.W = nn.Linear(28 * 28, dim, bias=False)  # d² = (x − y)ᵀ WᵀW (x − y)

    def forward(self, x):
        x = x.flatten(1)
        x = self.W(x)
        return F.normalize(x)


class mlp(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc3 = nn.Linear(256, dim)

    def forward(self, x):
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return F.normalize(x)


class protonet(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.blocks = nn.ModuleList()
        for channels in (1, 64, 64, 64):
            self.blocks.append(nn.Sequential(nn.Conv2d(channels, 64, 3, padding=1), nn.BatchNorm2d(64)))
        self.fc = nn.Linear(64, dim)

    def forward(self, x):
        for block in self.blocks:
            x = F.max_pool2d(F.relu(block(x)), 2)  # 28, 14, 7, 3, 1 pixels
        x = x.flatten(1)
        x = self.fc(x)
        return F.normalize(x)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class resnet18(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 64, 3, padding=1, bias=False)  # small images: no stride, no pooling
        self.bn1 = nn.BatchNorm2d(64)
        self.stage1 = nn.Sequential(Residual(64, 64, 1), Residual(64, 64, 1))
        self.stage2 = nn.Sequential(Residual(64, 128, 2), Residual(128, 128, 1))
        self.stage3 = nn.Sequential(Residual(128, 256, 2), Residual(256, 256, 1))
        self.stage4 = nn.Sequential(Residual(256, 512, 2), Residual(512, 512, 1))
        self.fc = nn.Linear(512, dim)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.stage1(x)
        x = self.stage2(x)
        x = self.stage3(x)
        x = self.stage4(x)
        x = x.mean(dim=(2, 3))
        x = self.fc(x)
        return F.normalize(x)
