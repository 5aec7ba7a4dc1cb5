"""Each miner as on a slide: x are embeddings (n × d), y their labels (n); numbers of images come back."""

import torch
import torch.nn.functional as F


def all_pairs(x, y):
    same = y[:, None] == y
    a, p = same.triu(1).nonzero(as_tuple=True)  # each pair once
    b, n = (~same).triu(1).nonzero(as_tuple=True)
    return a, p, b, n


def balanced_pairs(x, y):
    same = y[:, None] == y
    a, p = same.triu(1).nonzero(as_tuple=True)
    b, n = (~same).triu(1).nonzero(as_tuple=True)
    some = torch.randperm(len(b))[: len(a)]  # as many as positive pairs
    return a, p, b[some], n[some]


def hard_negative_pairs(x, y):
    same = y[:, None] == y
    a, p = same.triu(1).nonzero(as_tuple=True)
    b, n = (~same).triu(1).nonzero(as_tuple=True)
    d = torch.cdist(x, x)[b, n]
    nearest = d.argsort()[: len(a)]  # as many as positive pairs
    return a, p, b[nearest], n[nearest]


def multi_similarity(x, y, epsilon=0.1):
    x = F.normalize(x)
    s = x @ x.T
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    nearest = s.masked_fill(same, -torch.inf).amax(dim=1, keepdim=True)  # negative
    farthest = s.masked_fill(~positive, torch.inf).amin(dim=1, keepdim=True)  # positive
    a, p = (positive & (s < nearest + epsilon)).nonzero(as_tuple=True)
    b, n = (~same & (s > farthest - epsilon)).nonzero(as_tuple=True)
    return a, p, b, n


def random_negative(x, y):
    same = y[:, None] == y
    negative = (~same).float()
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    n = torch.multinomial(negative[a], 1).flatten()  # one for each positive pair
    return a, p, n


def hardest_negative(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    nearest = d.masked_fill(same, torch.inf).argmin(dim=1)
    return a, p, nearest[a]


def random_hard_negative(x, y, margin=0.2):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    hard = ~same[a] & (d[a] < d[a, p, None] + margin)  # pairs × n
    some = hard.any(dim=1)
    n = torch.multinomial(hard[some].float(), 1).flatten()
    return a[some], p[some], n


def semihard_nearest(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    farther = ~same[a] & (d[a] > d[a, p, None])  # pairs × n
    nearest = d[a].masked_fill(~farther, torch.inf).argmin(dim=1)
    farthest = d.masked_fill(same, -torch.inf).argmax(dim=1)[a]  # where none is farther
    return a, p, torch.where(farther.any(dim=1), nearest, farthest)


def semihard_random(x, y, margin=0.2):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    gap = d[a] - d[a, p, None]  # pairs × n
    semihard = ~same[a] & (gap > 0) & (gap < margin)
    some = semihard.any(dim=1)
    n = torch.multinomial(semihard[some].float(), 1).flatten()
    return a[some], p[some], n


def batch_hard(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    (a,) = (positive.any(dim=1) & (~same).any(dim=1)).nonzero(as_tuple=True)
    farthest = d.masked_fill(~positive, -torch.inf).argmax(dim=1)
    nearest = d.masked_fill(same, torch.inf).argmin(dim=1)
    return a, farthest[a], nearest[a]


def easy_positive(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    (a,) = (positive.any(dim=1) & (~same).any(dim=1)).nonzero(as_tuple=True)
    easiest = d.masked_fill(~positive, torch.inf).argmin(dim=1)
    nearest = d.masked_fill(same, torch.inf).argmin(dim=1)
    return a, easiest[a], nearest[a]


def distance_weighted(x, y, cutoff=0.5, nonzero_cutoff=1.4):
    x = F.normalize(x)
    d = torch.cdist(x, x)
    D = x.shape[1]
    near = d.clamp(min=cutoff)
    log_density = (D - 2) * near.log() + (D - 3) / 2 * (1 - near**2 / 4).log()
    same = y[:, None] == y
    candidate = ~same & (d < nonzero_cutoff)
    weight = (-log_density).masked_fill(~candidate, -torch.inf)
    positive = same.clone().fill_diagonal_(False)
    a, p = (positive & candidate.any(dim=1, keepdim=True)).nonzero(as_tuple=True)
    n = torch.multinomial(weight[a].softmax(dim=1), 1).flatten()  # the rarer a distance, the likelier
    return a, p, n


def offline_hard(x, y, negatives=10):
    d = torch.cdist(x, x)  # of the whole training set, once an epoch
    same = y[:, None] == y
    hardest = d.masked_fill(same, torch.inf).topk(negatives, largest=False).indices
    draw = torch.randint(negatives, (len(x), 1))
    negative = hardest.gather(1, draw).flatten()  # one of them for each image
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    return a, p, negative[a]
