"""Each loss as on a slide: x are embeddings (n × d), y their labels (n); what a loss learns is an argument, too."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def contrastive(x, y, margin=1.0, pos_margin=0.0):
    d = torch.cdist(x, x)  # distance of any two images
    same = y[:, None] == y
    pull = F.relu(d - pos_margin) ** 2
    push = F.relu(margin - d) ** 2
    loss = torch.where(same, pull, push)
    once = torch.ones_like(same).triu(1)  # each pair, without (j, i) and (i, i)
    return loss[once].mean()


def contrastive_linear(x, y, margin=1.0, pos_margin=0.0):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    once = torch.ones_like(same).triu(1)
    pull = F.relu(d - pos_margin)[once & same].mean()
    push = F.relu(margin - d)[once & ~same].mean()
    return pull + push


def contrastive_double(x, y, pos_margin=0.2, margin=1.0):
    d2 = torch.cdist(x, x) ** 2
    same = y[:, None] == y
    pull = F.relu(d2 - pos_margin) ** 2
    push = F.relu(margin - d2) ** 2
    loss = torch.where(same, pull, push)
    once = torch.ones_like(same).triu(1)
    return loss[once].mean()


def contrastive_no_margin(x, y):
    d2 = torch.cdist(x, x) ** 2
    same = y[:, None] == y
    loss = torch.where(same, d2, -d2)  # the lower the farther apart: no end to it
    once = torch.ones_like(same).triu(1)
    return loss[once].mean()


def cosine_pair(x, y):
    x = F.normalize(x)
    cos = x @ x.T
    target = (y[:, None] == y).to(cos.dtype)  # 1 for one class, 0 for two
    once = torch.ones_like(cos).triu(1).bool()
    return ((target - cos) ** 2)[once].mean()


def distance_logistic(x, y, margin=1.0):
    d = torch.cdist(x, x)
    p = (1 + math.exp(-margin)) / (1 + torch.exp(d - margin))  # chance of one class
    same = y[:, None] == y
    likelihood = torch.where(same, p, 1 - p)
    once = torch.ones_like(same).triu(1)
    return -likelihood[once].log().mean()


def snr_contrastive(x, y, pos_margin=0.0, margin=1.0, regularizer=0.1):
    noise = (x[:, None] - x).var(dim=2)  # n × n
    signal = x.var(dim=1, keepdim=True)  # of the anchor
    v = noise / signal
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    pull = F.relu(v - pos_margin)[positive].mean()
    push = F.relu(margin - v)[~same].mean()
    return pull + push + regularizer * x.mean(dim=1).abs().mean()


def margin(x, y, beta, alpha=0.2):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    pull = F.relu(d - beta + alpha)  # beta is learned with the net
    push = F.relu(beta + alpha - d)
    loss = torch.where(same, pull, push)
    once = torch.ones_like(same).triu(1)
    active = once & (loss > 0)
    return loss[once].sum() / active.sum().clamp(min=1)


def multi_similarity(x, y, alpha=2.0, beta=50.0, base=0.5):
    x = F.normalize(x)
    s = x @ x.T - base
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    pull = (torch.exp(-alpha * s) * positive).sum(dim=1)
    push = (torch.exp(beta * s) * ~same).sum(dim=1)
    loss = torch.log(1 + pull) / alpha + torch.log(1 + push) / beta
    return loss.mean()


def circle(x, y, margin=0.4, gamma=80.0):
    x = F.normalize(x)
    s = x @ x.T
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    complete = positive.any(dim=1) & (~same).any(dim=1)  # anchors with both
    weight_p = F.relu(1 + margin - s.detach())  # the farther from the optimum, the stronger
    weight_n = F.relu(s.detach() + margin)
    pull = (-gamma * weight_p * (s - (1 - margin))).masked_fill(~positive, -torch.inf)
    push = (gamma * weight_n * (s - margin)).masked_fill(same, -torch.inf)
    both = pull[complete].logsumexp(dim=1) + push[complete].logsumexp(dim=1)
    return F.softplus(both).mean()  # log(1 + e^both)


def logistic_pair(x, y, gain, bias):
    score = gain * (x @ x.T) + bias  # gain and bias are learned with the net
    same = y[:, None] == y
    sign = torch.where(same, 1, -1)
    once = torch.ones_like(same).triu(1)
    return F.softplus(-sign * score)[once].mean()


def siglip(x, y, log_scale, bias):
    x = F.normalize(x)
    score = log_scale.exp() * (x @ x.T) + bias  # both are learned with the net
    same = y[:, None] == y
    sign = torch.where(same, 1, -1)
    once = torch.ones_like(same).triu(1)
    return F.softplus(-sign * score)[once].mean()


def hinge_pair(x, y, first, second, hidden_bias, score, bias):
    hidden = (x @ first)[:, None] + x @ second + hidden_bias  # n × n × units: a layer on both images
    o = F.relu(hidden) @ score + bias  # what the decision net says of each pair
    sign = torch.where(y[:, None] == y, 1, -1)
    others = ~torch.eye(len(y), dtype=torch.bool)
    return F.relu(1 - sign * o)[others].mean()


def triplet(x, y, margin=0.2):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    loss = F.relu(margin + d[:, :, None] - d[:, None, :])  # [a, p, n]
    valid = positive[:, :, None] & ~same[:, None, :]
    return loss[valid].mean()


def triplet_ratio(x, y, margin=0.1):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    loss = F.relu(1 - d[:, None, :] / (margin + d[:, :, None]))  # [a, p, n]
    valid = positive[:, :, None] & ~same[:, None, :]
    return loss[valid].mean()


def triplet_two_terms(x, y, margin=1.0):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    loss = d[:, :, None] + F.relu(margin - d[:, None, :])  # [a, p, n]
    valid = positive[:, :, None] & ~same[:, None, :]
    return loss[valid].mean()


def triplet_soft(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    loss = F.softplus(d[:, :, None] - d[:, None, :])  # [a, p, n]
    valid = positive[:, :, None] & ~same[:, None, :]
    return loss[valid].mean()


def batch_hard(x, y, margin=0.2):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    farthest = d.masked_fill(~positive, -torch.inf).amax(dim=1)
    nearest = d.masked_fill(same, torch.inf).amin(dim=1)
    complete = positive.any(dim=1) & (~same).any(dim=1)
    return F.relu(margin + farthest - nearest)[complete].mean()


def angular(x, y, alpha=40.0):
    x = F.normalize(x)
    s = x @ x.T
    tan2 = math.tan(math.radians(alpha)) ** 2
    f = 4 * tan2 * (s[:, None, :] + s[None, :, :]) - 2 * (1 + tan2) * s[:, :, None]  # [a, p, n]
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    loss = torch.log(1 + (torch.exp(f) * ~same[:, None, :]).sum(dim=2))  # [a, p]
    return loss[positive].mean()


def coupled_clusters(x, y, margin=0.2):
    losses = []
    for c in y.unique():
        center = x[y == c].mean(dim=0)
        d = (x - center).norm(dim=1)
        if (y == c).sum() > 1:
            losses.append(F.relu(margin + d[y == c] - d[y != c].min()))
    return torch.cat(losses).mean()


def hard_cluster(x, y, margin=1.0):
    classes = y.unique()
    centers = torch.stack([x[y == c].mean(dim=0) for c in classes])
    gaps = torch.cdist(centers, centers) ** 2
    losses = []
    for i, c in enumerate(classes):
        if (y == c).sum() > 1:
            radius = ((x[y == c] - centers[i]) ** 2).sum(dim=1).max()
            nearest = gaps[i][classes != c].min()
            losses.append(F.relu(radius - nearest + margin))
    return torch.stack(losses).mean()


def hierarchical_triplet(x, y, beta=0.1, levels=16):
    x = F.normalize(x)
    classes, index = y.unique(return_inverse=True)
    images = [x[y == c].detach() for c in classes]
    spread = torch.stack([(torch.pdist(own) ** 2).mean() for own in images])
    between = torch.stack([torch.stack([(torch.cdist(a, b) ** 2).mean() for b in images]) for a in images])
    for k in range(len(classes)):  # classes come together by way of others, too
        between = torch.minimum(between, torch.maximum(between[:, k, None], between[k]))
    start = spread.nanmean()  # a class with one image has no spread
    thresholds = start + (4 - start) * torch.arange(1, levels + 1) / levels
    level = torch.searchsorted(thresholds.to(x.dtype), between, right=True)
    merged = thresholds[level.clamp(max=levels - 1)]  # where two classes become one
    margin = beta + (merged - spread.nan_to_num()[:, None])[index][:, index]  # [a, n]
    d2 = torch.cdist(x, x) ** 2
    loss = F.relu(d2[:, :, None] - d2[:, None, :] + margin[:, None, :])  # [a, p, n]
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    return loss[positive[:, :, None] & ~same[:, None, :]].mean()


def nt_xent(x, y, temperature=0.1):
    x = F.normalize(x)
    e = torch.exp(x @ x.T / temperature)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    negatives = (e * ~same).sum(dim=1, keepdim=True)  # of each anchor
    p = e / (e + negatives)  # each positive against all negatives
    return -p[positive].log().mean()


def decoupled_contrastive(x, y, temperature=0.1):
    x = F.normalize(x)
    s = x @ x.T / temperature
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    negatives = s.masked_fill(same, -torch.inf).logsumexp(dim=1, keepdim=True)
    return (negatives - s)[positive].mean()  # the positive is not in the sum


def hyperbolic_contrastive(x, y, curvature=0.1, radius=2.3, temperature=0.2):
    root = math.sqrt(curvature)
    lengths = x.norm(dim=1, keepdim=True)
    x = x * (radius / lengths).clamp(max=1)  # none may come to the rim
    lengths = x.norm(dim=1, keepdim=True)
    z = torch.tanh(root * lengths) * x / (root * lengths)  # into the ball of radius 1/√c
    room = 1 - curvature * (z**2).sum(dim=1)  # little near the rim
    half = torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist") * root / (room[:, None] * room).sqrt()
    s = -2 / root * torch.asinh(half) / temperature
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    negatives = s.masked_fill(same, -torch.inf).logsumexp(dim=1, keepdim=True)
    return F.softplus(negatives - s)[positive].mean()


def tuple_hinge(x, y, margin=0.0):
    x = F.normalize(x)
    s = x @ x.T
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    nearest = s.masked_fill(same, -torch.inf).amax(dim=1, keepdim=True)
    return F.relu(nearest - s + margin)[positive].mean()


def tuplet_margin(x, y, beta=5.73, scale=64.0):
    x = F.normalize(x)
    cos = x @ x.T
    same = y[:, None] == y
    a, p = same.clone().fill_diagonal_(False).nonzero(as_tuple=True)
    theta = torch.acos(cos[a, p].clamp(-1, 1 - 1e-7))  # which has no slope at 1
    relaxed = torch.cos(theta - math.radians(beta))
    negatives = (scale * cos).masked_fill(same, -torch.inf).logsumexp(dim=1)
    return F.softplus(negatives[a] - scale * relaxed).mean()  # log(1 + Σ e^…)


def lifted(x, y, margin=1.0):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    push = (torch.exp(margin - d) * ~same).sum(dim=1)  # the negatives of each image
    J = torch.log(push[:, None] + push) + d  # [i, j]: the negatives of both
    positive = same.triu(1)  # each pair once
    return (F.relu(J) ** 2 / 2)[positive].mean()


def lifted_hard(x, y, margin=1.0):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    hardest = (margin - d).masked_fill(same, -torch.inf).amax(dim=1)
    J = torch.maximum(hardest[:, None], hardest) + d  # [i, j]: the hardest negative of both
    return F.relu(J)[same.triu(1)].mean()


def generalized_lifted(x, y, margin=1.0):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    complete = positive.any(dim=1) & (~same).any(dim=1)
    pull = d.masked_fill(~positive, -torch.inf)[complete].logsumexp(dim=1)
    push = (margin - d).masked_fill(same, -torch.inf)[complete].logsumexp(dim=1)
    return F.relu(pull + push).mean()


def n_pairs(x, y, l2=0.02):
    pairs = []  # anchor, positive, round: in a round each class has one pair
    for c in y.unique():
        images = (y == c).nonzero().flatten()
        pairs += [(images[i], images[i + 1], i) for i in range(0, len(images) - 1, 2)]
    a, p, rounds = torch.tensor(pairs).T
    scores = x[a] @ x[p].T
    scores = scores.masked_fill(rounds[:, None] != rounds, -torch.inf)
    own = torch.arange(len(scores))  # the positive of row i is in column i
    lengths = (torch.cat([x[a], x[p]]) ** 2).sum(dim=1)
    return F.cross_entropy(scores, own) + l2 * lengths.mean()


def nca(x, y, scale=1.0):
    d2 = torch.cdist(x, x) ** 2
    p = (-scale * d2).fill_diagonal_(-torch.inf).softmax(dim=1)  # i picks j as its neighbor
    positive = (y[:, None] == y).fill_diagonal_(False)
    right = (p * positive).sum(dim=1)  # chance of a neighbor of its own class
    return -right[positive.any(dim=1)].log().mean()


def fastap(x, y, bins=10):
    x = F.normalize(x)
    d2 = (2 - 2 * x @ x.T).clamp(0, 4)
    edges = torch.linspace(0, 4, bins + 1, dtype=x.dtype)
    share = F.relu(1 - (d2[:, :, None] - edges).abs() * bins / 4)  # [a, j, bin]
    others = ~torch.eye(len(y), dtype=torch.bool)
    positive = (y[:, None] == y) & others
    h_pos = (share * positive[:, :, None]).sum(dim=1)  # histograms of each anchor
    h_all = (share * others[:, :, None]).sum(dim=1)
    H_pos, H_all = h_pos.cumsum(dim=1), h_all.cumsum(dim=1)
    precision = H_pos / H_all.clamp(min=1e-12)
    some = positive.any(dim=1)
    ap = (h_pos * precision)[some].sum(dim=1) / positive[some].sum(dim=1)
    return (1 - ap).mean()


def smooth_ap(x, y, temperature=0.01):
    x = F.normalize(x)
    s = x @ x.T
    before = torch.sigmoid((s[:, None, :] - s[:, :, None]) / temperature)  # [a, p, j]: is j nearer to a than p?
    others = ~torch.eye(len(y), dtype=torch.bool)
    before = before * others * others[:, None, :]  # neither p nor a itself
    positive = (y[:, None] == y) & others
    rank = 1 + before.sum(dim=2)
    rank_of_positives = 1 + (before * positive[:, None, :]).sum(dim=2)
    some = positive.any(dim=1)
    ap = (positive * rank_of_positives / rank).sum(dim=1)[some] / positive.sum(dim=1)[some]
    return (1 - ap).mean()


def recall_at_k(x, y, k_max=16, temperature=0.01, k_temperature=1.0):
    x = F.normalize(x)
    s = x @ x.T
    before = torch.sigmoid((s[:, None, :] - s[:, :, None]) / temperature)  # [a, p, j]: is j nearer to a than p?
    others = ~torch.eye(len(y), dtype=torch.bool)
    rank = 1 + (before * others * others[:, None, :]).sum(dim=2)
    positive = (y[:, None] == y) & others
    some = positive.any(dim=1)
    count = positive.sum(dim=1)[some]
    ks = [2**i for i in range(k_max.bit_length())]
    within = [torch.sigmoid((k - rank) / k_temperature) for k in ks]  # is p among the first k?
    recall = [(one * positive).sum(dim=1)[some] / count.clamp(max=k) for k, one in zip(ks, within, strict=True)]
    return 1 - torch.stack(recall).mean()


def roadmap(x, y, temperature=0.01, slope=100.0, delta=0.05, near=0.9, far=0.6, balance=0.5):
    x = F.normalize(x)
    s = x @ x.T
    t = s[:, None, :] - s[:, :, None]  # [a, p, j]: by how much j is nearer to a than p
    others = ~torch.eye(len(y), dtype=torch.bool)
    same = y[:, None] == y
    positive = same & others
    rank_of_positives = 1 + ((t >= 0) & others & positive[:, None, :]).sum(dim=2)  # counted, without a gradient
    line = slope * (t - delta) + torch.sigmoid(torch.tensor(delta / temperature)) + 0.5
    curve = torch.sigmoid(t / temperature) + 0.5 * (t > 0)
    negatives_before = (torch.where(t > delta, line, curve) * ~same[:, None, :]).sum(dim=2)
    precision = rank_of_positives / (rank_of_positives + negatives_before)
    some = positive.any(dim=1)
    P, N = positive.sum(dim=1).clamp(min=1), (~same).sum(dim=1)
    ap = (positive * precision).sum(dim=1) / P
    calibration = (positive * F.relu(near - s)).sum(dim=1) / P + (~same * F.relu(s - far)).sum(dim=1) / N
    return ((1 - balance) * (1 - ap) + balance * calibration)[some].mean()


def ranked_list(x, y, alpha=1.2, margin=0.4, positive_temperature=0.0, negative_temperature=10.0, balance=0.5):
    x = F.normalize(x)
    d = torch.cdist(x, x)
    same = y[:, None] == y
    pull = F.relu(d - (alpha - margin)) * same.clone().fill_diagonal_(False)
    push = F.relu(alpha - d) * ~same
    w_p = torch.exp(positive_temperature * pull) * (pull > 0)  # only pairs that are wrong
    w_n = torch.exp(negative_temperature * push) * (push > 0)
    L_P = (w_p * pull).sum(dim=1) / w_p.sum(dim=1).clamp(min=1e-12)
    L_N = (w_n * push).sum(dim=1) / w_n.sum(dim=1).clamp(min=1e-12)
    return ((1 - balance) * L_P + balance * L_N).mean()


def supcon(x, y, temperature=0.1):
    x = F.normalize(x)
    s = (x @ x.T / temperature).fill_diagonal_(-torch.inf)
    log_p = s.log_softmax(dim=1)  # over all others
    positive = (y[:, None] == y).fill_diagonal_(False)
    sums = torch.where(positive, log_p, 0).sum(dim=1)
    some = positive.any(dim=1)
    return -(sums[some] / positive.sum(dim=1)[some]).mean()


def barlow_twins(x, y, off_diagonal=0.01):
    z = (x - x.mean(dim=0)) / (x.var(dim=0, correction=0) + 1e-5).sqrt()
    a, p = (y[:, None] == y).fill_diagonal_(False).nonzero(as_tuple=True)
    C = z[a].T @ z[p] / len(a)  # d × d: correlation of dimension i with j
    target = torch.eye(len(C), dtype=x.dtype)
    weight = target + off_diagonal * (1 - target)
    return (weight * (target - C) ** 2).sum()


def vicreg(x, y, invariance=25.0, variance=25.0, covariance=1.0):
    a, p = (y[:, None] == y).triu(1).nonzero(as_tuple=True)
    near = ((x[a] - x[p]) ** 2).mean()  # positives alike
    C = x.T.cov()
    spread = F.relu(1 - (C.diagonal() + 1e-4).sqrt()).mean()  # no dimension collapses
    repeated = (C**2).sum() - (C.diagonal() ** 2).sum()  # no two say the same
    return invariance * near + variance * spread + covariance * repeated / len(C)


def sigreg(x, y, balance=0.05, directions=256, step=0):
    means = torch.stack([x[y == c].mean(dim=0) for c in y])  # of each image and its positives
    some = torch.stack([(y == c).sum() > 1 for c in y])
    near = ((x - means) ** 2).mean(dim=1)[some].mean()
    U = np.random.default_rng((0, step)).standard_normal((x.shape[1], directions))  # others at each step
    along = x @ torch.tensor(U / np.linalg.norm(U, axis=0), dtype=x.dtype)  # the batch, seen from each
    t = torch.linspace(-5, 5, 17, dtype=x.dtype)
    gauss = torch.exp(-(t**2) / 2)  # a Gaussian's characteristic function
    real = torch.stack([torch.cos(k * along).mean(dim=0) for k in t], dim=1)
    imaginary = torch.stack([torch.sin(k * along).mean(dim=0) for k in t], dim=1)
    off = ((real - gauss) ** 2 + imaginary**2) * gauss
    return (1 - balance) * near + balance * len(x) * torch.trapezoid(off, t).mean()


def graded_contrastive(x, y, temperature=0.1, bandwidth=0.5):
    x = F.normalize(x)
    s = (x @ x.T / temperature).fill_diagonal_(-torch.inf)
    log_p = s.log_softmax(dim=1)  # over all others
    apart = (y[:, None] - y).to(x.dtype)  # labels are numbers in an order
    w = torch.exp(-((apart / bandwidth) ** 2) / 2).fill_diagonal_(0)
    sums = torch.where(w > 0, w * log_p, 0).sum(dim=1)
    return -(sums / w.sum(dim=1)).mean()


def softmax(x, y, weight, bias):
    logits = x @ weight.T + bias  # a row of weights for each class
    return F.cross_entropy(logits, y)


def normalized_softmax(x, y, weight, scale=20.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    return F.cross_entropy(scale * cos, y)


def large_margin_softmax(x, y, weight, margin=4.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    theta = torch.acos(cos.gather(1, y[:, None]))  # angle to its own class
    k = (margin * theta.detach() / math.pi).floor()
    psi = (-1) ** k * torch.cos(margin * theta) - 2 * k  # falls all the way
    lengths = x.norm(dim=1, keepdim=True) * weight.norm(dim=1)
    logits = lengths * cos.scatter(1, y[:, None], psi)
    return F.cross_entropy(logits, y)


def sphereface(x, y, weight, margin=4.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    theta = torch.acos(cos.gather(1, y[:, None]))  # angle to its own class
    k = (margin * theta.detach() / math.pi).floor()
    psi = (-1) ** k * torch.cos(margin * theta) - 2 * k  # falls all the way
    logits = x.norm(dim=1, keepdim=True) * cos.scatter(1, y[:, None], psi)
    return F.cross_entropy(logits, y)


def cosface(x, y, weight, margin=0.35, scale=64.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    own = F.one_hot(y, len(weight))
    logits = scale * (cos - margin * own)
    return F.cross_entropy(logits, y)


def arcface(x, y, weight, margin=0.5, scale=64.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    own = cos.gather(1, y[:, None])
    theta = torch.acos(own)
    beyond = own - margin * math.sin(margin)  # where θ + m is more than 180°
    own = torch.where(theta + margin < math.pi, torch.cos(theta + margin), beyond)
    logits = scale * cos.scatter(1, y[:, None], own)
    return F.cross_entropy(logits, y)


def subcenter_arcface(x, y, weight, margin=0.5, scale=64.0, centers=3):
    cos = F.normalize(x) @ F.normalize(weight).T
    cos = cos.view(len(x), -1, centers).amax(dim=2)  # the nearest center of each class
    own = cos.gather(1, y[:, None])
    theta = torch.acos(own)
    beyond = own - margin * math.sin(margin)  # where θ + m is more than 180°
    own = torch.where(theta + margin < math.pi, torch.cos(theta + margin), beyond)
    logits = scale * cos.scatter(1, y[:, None], own)
    return F.cross_entropy(logits, y)


def magface(
    x, y, weight, least_margin=0.45, greatest_margin=0.8, shortest=10.0, longest=110.0, regularizer=35.0, scale=64.0
):
    cos = F.normalize(x) @ F.normalize(weight).T
    theta = torch.acos(cos.gather(1, y[:, None]))
    a = x.norm(dim=1, keepdim=True)  # the longer, the better the image
    share = (a.clamp(shortest, longest) - shortest) / (longest - shortest)
    margin = least_margin + (greatest_margin - least_margin) * share
    beyond = torch.cos(theta) - margin * torch.sin(margin)  # where θ + m is more than 180°
    own = torch.where(theta + margin < math.pi, torch.cos(theta + margin), beyond)
    logits = scale * cos.scatter(1, y[:, None], own)
    held = a.clamp(min=shortest)
    cost = 1 / held + a / longest**2 + (held - a) / shortest**2  # it pays to be long, up to `longest`
    return F.cross_entropy(logits, y) + regularizer * cost.mean()


def adaface(x, y, weight, margin=0.4, concentration=0.333, scale=64.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    theta = torch.acos(cos.gather(1, y[:, None]))
    lengths = x.detach().norm(dim=1, keepdim=True)  # mean and deviation: in a training, averages of all batches
    quality = (concentration * (lengths - lengths.mean()) / (lengths.std() + 1e-3)).clamp(-1, 1)
    own = torch.cos((theta - margin * quality).clamp(0, math.pi)) - margin * (1 + quality)
    logits = scale * cos.scatter(1, y[:, None], own)
    return F.cross_entropy(logits, y)


def combined_margin(x, y, weight, m1=1.0, m2=0.3, m3=0.2, scale=64.0):
    cos = F.normalize(x) @ F.normalize(weight).T
    own = cos.gather(1, y[:, None])
    angle = m1 * torch.acos(own) + m2
    k = (angle.detach() / math.pi).floor()
    beyond = own - m2 * math.sin(m2) if m1 == 1 else (-1) ** k * torch.cos(angle) - 2 * k
    own = torch.where(angle < math.pi, torch.cos(angle), beyond) - m3
    logits = scale * cos.scatter(1, y[:, None], own)
    return F.cross_entropy(logits, y)


def proxy_nca(x, y, weight, scale=3.0):
    x, proxies = scale * F.normalize(x), scale * F.normalize(weight)
    d2 = torch.cdist(x, proxies) ** 2
    return F.cross_entropy(-d2, y)


def proxy_anchor(x, y, weight, alpha=32.0, margin=0.1):
    cos = F.normalize(x) @ F.normalize(weight).T  # n images × C proxies
    own = F.one_hot(y, len(weight))
    pull = torch.log(1 + (torch.exp(-alpha * (cos - margin)) * own).sum(dim=0))  # one for each proxy
    push = torch.log(1 + (torch.exp(alpha * (cos + margin)) * (1 - own)).sum(dim=0))
    present = own.any(dim=0).sum()  # proxies with an image in the batch
    return pull.sum() / present + push.mean()


def soft_triple(x, y, weight, centers=10, la=20.0, gamma=0.1, margin=0.01):
    s = F.normalize(x) @ F.normalize(weight).T
    s = s.view(len(x), -1, centers)  # [image, class, center]
    S = ((s / gamma).softmax(dim=2) * s).sum(dim=2)  # nearly the nearest center
    own = F.one_hot(y, S.shape[1])
    return F.cross_entropy(la * (S - margin * own), y)


def center(x, y, weight, bias, centers, pull=0.003):
    logits = x @ weight.T + bias
    d2 = ((x - centers[y]) ** 2).sum(dim=1)  # centers are learned with the net
    return F.cross_entropy(logits, y) + pull * d2.mean()


def prototypical(x, y, support=5):
    prototypes, queries, targets = [], [], []
    for k, c in enumerate(y.unique()):
        images = x[y == c]
        shots = max(1, min(support, len(images) - 1))
        prototypes.append(images[:shots].mean(dim=0))
        queries.append(images[shots:])
        targets += [k] * len(images[shots:])
    d2 = torch.cdist(torch.cat(queries), torch.stack(prototypes)) ** 2
    return F.cross_entropy(-d2, torch.tensor(targets))


def weighted_sum(x, y, a=contrastive, b=triplet, weights=(1.0, 1.0)):
    return weights[0] * a(x, y) + weights[1] * b(x, y)


def custom_pair(x, y):
    d = torch.cdist(x, x)
    same = (y[:, None] == y).to(d.dtype)
    loss = same * d**2 + (1 - same) * F.relu(1 - d) ** 2  # the formula; here `same` is its y
    once = torch.ones_like(d).triu(1).bool()
    return loss[once].mean()


def custom_triplet(x, y):
    d = torch.cdist(x, x)
    same = y[:, None] == y
    positive = same.clone().fill_diagonal_(False)
    d_ap, d_an = d[:, :, None], d[:, None, :]  # [a, p, n]
    loss = F.relu(d_ap - d_an + 0.2)  # the formula
    valid = positive[:, :, None] & ~same[:, None, :]
    return loss[valid].mean()
