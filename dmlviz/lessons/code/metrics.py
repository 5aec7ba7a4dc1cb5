"""Each metric as on a slide: x are embeddings (n × d), y their labels (n), NumPy arrays."""

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import hypergeom


def precision_at_1(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)  # an image does not find itself
    nearest = d.argmin(axis=1)
    return (y[nearest] == y).mean()


def recall_at_k(x, y, k=5):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    nearest = d.argsort(axis=1)[:, :k]
    right = y[nearest] == y[:, None]
    return right.any(axis=1).mean()  # one right image is enough


def cmc_at_k(x, y, k=5):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    right = y[d.argsort(axis=1)] == y[:, None]
    first = right.argmax(axis=1) + 1  # rank of the first right image
    return (first <= k).mean()


def recall_at_1_percent(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    k = int(np.ceil((len(x) - 1) / 100))  # of the images that are searched
    nearest = d.argsort(axis=1)[:, :k]
    right = y[nearest] == y[:, None]
    return right.any(axis=1).mean()


def r_precision(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    order = d.argsort(axis=1)
    scores = []
    for q in range(len(x)):
        R = (y == y[q]).sum() - 1  # how many could be found
        right = y[order[q, :R]] == y[q]
        scores.append(right.mean())
    return np.mean(scores)


def map_at_r(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    order = d.argsort(axis=1)
    scores = []
    for q in range(len(x)):
        R = (y == y[q]).sum() - 1  # how many could be found
        right = y[order[q, :R]] == y[q]
        precision = right.cumsum() / np.arange(1, R + 1)
        scores.append((right * precision).sum() / R)
    return np.mean(scores)


def map(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    order = d.argsort(axis=1)[:, :-1]  # all but the image itself
    scores = []
    for q in range(len(x)):
        right = y[order[q]] == y[q]
        precision = right.cumsum() / np.arange(1, len(x))
        scores.append(precision[right].mean())
    return np.mean(scores)


def mrr(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    right = y[d.argsort(axis=1)] == y[:, None]
    first = right.argmax(axis=1) + 1  # rank of the first right image
    return (1 / first).mean()


def knn_accuracy(x, y, k=5):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    votes = y[d.argsort(axis=1)[:, :k]]  # n × k, nearest first
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    winner = counts.argmax(axis=1)  # the nearest of those with most votes
    return (votes[np.arange(len(x)), winner] == y).mean()


def nearest_mean_accuracy(x, y):
    classes = np.unique(y)
    right = []
    for q in range(len(x)):
        others = np.arange(len(x)) != q  # the query is in no mean
        means = np.array([x[others & (y == c)].mean(axis=0) for c in classes])
        nearest = np.linalg.norm(means - x[q], axis=1).argmin()
        right.append(classes[nearest] == y[q])
    return np.mean(right)


def head_accuracy(x, y, weight, bias):
    scores = x @ weight.T + bias  # of the classes, as the loss has learned them
    return (scores.argmax(axis=1) == y).mean()


def knn_probe_accuracy(x, y, train_x, train_y, k=5):
    d = cdist(x, train_x)
    votes = train_y[d.argsort(axis=1)[:, :k]]
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    winner = counts.argmax(axis=1)
    return (votes[np.arange(len(x)), winner] == y).mean()


def linear_probe_accuracy(x, y, train_x, train_y, C=1.0, steps=2000, rate=0.5):
    mean, std = train_x.mean(axis=0), train_x.std(axis=0) + 1e-12
    x, train_x = (x - mean) / std, (train_x - mean) / std
    classes, index = np.unique(train_y, return_inverse=True)
    target = np.eye(len(classes))[index]
    W, b = np.zeros((x.shape[1], len(classes))), np.zeros(len(classes))
    for _ in range(steps):  # logistic regression by gradient descent; the net stays as it is
        e = np.exp(train_x @ W + b)
        error = (e / e.sum(axis=1, keepdims=True) - target) / len(train_x)
        W = W - rate * (train_x.T @ error + W / (C * len(train_x)))
        b = b - rate * error.sum(axis=0)
    return (classes[(x @ W + b).argmax(axis=1)] == y).mean()


def nmi(y, clusters):
    table = np.array([[((y == c) & (clusters == k)).sum() for k in np.unique(clusters)] for c in np.unique(y)])
    p = table / len(y)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    ratio = p / np.outer(rows, columns)
    information = (p[p > 0] * np.log(ratio[p > 0])).sum()
    entropies = -(rows * np.log(rows)).sum() - (columns * np.log(columns)).sum()
    return 2 * information / entropies


def ami(y, clusters):
    table = np.array([[((y == c) & (clusters == k)).sum() for k in np.unique(clusters)] for c in np.unique(y)])
    N, a, b = len(y), table.sum(axis=1), table.sum(axis=0)

    def terms(n, i, j):  # of the mutual information, where n images are in class i and cluster j
        return n / N * np.log(np.maximum(n, 1) * N / (a[i] * b[j]))

    cells = [(i, j) for i in range(len(a)) for j in range(len(b))]
    information = sum(terms(table[i, j], i, j) for i, j in cells)
    n = np.arange(N + 1)
    chance = sum((hypergeom.pmf(n, N, a[i], b[j]) * terms(n, i, j)).sum() for i, j in cells)
    mean_entropy = -sum((m / N * np.log(m / N)).sum() for m in (a, b)) / 2
    return (information - chance) / (mean_entropy - chance)


def pairwise_f1(y, clusters):
    i, j = np.triu_indices(len(y), 1)
    same_class = y[i] == y[j]
    same_cluster = clusters[i] == clusters[j]
    both = (same_class & same_cluster).sum()
    precision = both / same_cluster.sum()
    recall = both / same_class.sum()
    return 2 * precision * recall / (precision + recall)


def roc_auc(d, same):
    positive, negative = d[same], d[~same]  # distances of pairs
    nearer = positive[:, None] < negative
    tied = positive[:, None] == negative
    return (nearer + tied / 2).mean()


def eer(d, same):
    t = np.sort(d)  # thresholds: a pair is accepted up to t
    accepted = d <= t[:, None]
    false_positives = np.append(0, accepted[:, ~same].mean(axis=1))
    misses = np.append(1, 1 - accepted[:, same].mean(axis=1))
    return np.interp(0, false_positives - misses, false_positives)  # where the two are equal


def fpr_at_95_recall(d, same):
    t = np.sort(d[same])
    recall = np.arange(1, len(t) + 1) / len(t)
    threshold = t[recall >= 0.95][0]  # accepts 95% of the pairs of one class
    return (d[~same] <= threshold).mean()


def accuracy_10_fold(d, same, seed=0):
    rng = np.random.default_rng(seed)
    fold = np.empty(len(d), int)
    for kind in (same, ~same):
        pairs = rng.permutation(np.flatnonzero(kind))
        fold[pairs] = np.arange(len(pairs)) % 10
    scores = []
    for k in range(10):
        train, test = fold != k, fold == k
        s = np.sort(d[train])
        thresholds = np.concatenate([[s[0] - 1], (s[:-1] + s[1:]) / 2, [s[-1] + 1]])
        right = (d[train] < thresholds[:, None]) == same[train]
        best = thresholds[right.mean(axis=1).argmax()]  # on nine folds
        scores.append(((d[test] < best) == same[test]).mean())  # on the tenth
    return np.mean(scores)


def mean_positive_distance(x, y):
    d = pdist(x)  # each pair once
    i, j = np.triu_indices(len(x), 1)
    return d[y[i] == y[j]].mean()


def mean_negative_distance(x, y):
    d = pdist(x)
    i, j = np.triu_indices(len(x), 1)
    return d[y[i] != y[j]].mean()


def effective_rank(x, y):
    sigma = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    p = sigma / sigma.sum()
    p = p[p > 1e-12]
    return np.exp(-(p * np.log(p)).sum())


def mean_norm(x, y):
    return np.linalg.norm(x, axis=1).mean()


def collapsed(x, y):
    spread = ((x - x.mean(axis=0)) ** 2).sum(axis=1).mean()
    size = (x**2).sum(axis=1).mean()
    in_a_point = np.sqrt(spread) <= 0.01 * np.sqrt(size)
    sigma = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    p = sigma / max(sigma.sum(), 1e-12)
    p = p[p > 1e-12]
    rank = np.exp(-(p * np.log(p)).sum())
    on_a_line = len(np.unique(y)) > 2 and x.shape[1] > 1 and rank < 1.1
    return float(in_a_point or on_a_line)


def macro_precision_at_1(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    right = y[d.argmin(axis=1)] == y
    return np.mean([right[y == c].mean() for c in np.unique(y)])


def macro_map_at_r(x, y):
    d = cdist(x, x)
    np.fill_diagonal(d, np.inf)
    order = d.argsort(axis=1)
    scores = np.zeros(len(x))
    for q in range(len(x)):
        R = (y == y[q]).sum() - 1
        right = y[order[q, :R]] == y[q]
        precision = right.cumsum() / np.arange(1, R + 1)
        scores[q] = (right * precision).sum() / R
    return np.mean([scores[y == c].mean() for c in np.unique(y)])
