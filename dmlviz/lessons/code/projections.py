"""Each projection as on a slide: from x, embeddings (n × d), to places in the plane (n × 2), NumPy arrays."""

import numpy as np
from scipy.optimize import curve_fit
from scipy.spatial.distance import cdist


def plane(x):
    return x[:, :2]  # the first two dimensions, as they are


def fan(x, y):
    classes = np.unique(y)
    angle = 2 * np.pi * np.arange(len(classes)) / len(classes)
    ring = np.stack([np.sin(angle), np.cos(angle)], axis=1)  # where each class should lie
    x = x - x.mean(axis=0)
    centers = np.stack([x[y == c].mean(axis=0) for c in classes])
    U, _, Vt = np.linalg.svd(ring.T @ centers, full_matrices=False)
    W = U @ Vt  # Procrustes: the best of all orthonormal views
    return x @ W.T


def pca(x):
    x = x - x.mean(axis=0)
    _, _, Vt = np.linalg.svd(x, full_matrices=False)
    W = Vt[:2]  # the two directions of largest variance
    return x @ W.T


def tsne(x, perplexity=30.0, iterations=600):
    n = len(x)
    d2 = cdist(x, x, "sqeuclidean")
    np.fill_diagonal(d2, np.inf)
    low, high = np.zeros(n), np.full(n, np.inf)
    beta = np.full(n, 1 / d2[np.isfinite(d2)].mean())  # 1 / (2 σ²) of each point
    for _ in range(60):  # bisection: σ such that 2^H is the perplexity
        p = np.exp(-beta[:, None] * (d2 - d2.min(axis=1, keepdims=True)))
        p = p / p.sum(axis=1, keepdims=True)
        H = -(p * np.log2(np.maximum(p, 1e-300))).sum(axis=1)
        wide = np.log2(perplexity) < H
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    P = (p + p.T) / (2 * n)
    centered = x - x.mean(axis=0)
    places = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T  # PCA, very small
    places = 1e-4 * places / places[:, 0].std()
    velocity = np.zeros((n, 2))
    for t in range(iterations):
        strength = 12 if t < iterations // 4 else 1  # early exaggeration
        w = 1 / (1 + cdist(places, places, "sqeuclidean"))  # Student's t
        np.fill_diagonal(w, 0)
        Q = w / w.sum()
        force = (strength * P - Q) * w  # attraction less repulsion
        gradient = 4 * (force.sum(axis=1, keepdims=True) * places - force @ places)
        velocity = 0.8 * velocity - n / (4 * strength) * gradient
        places = places + velocity
    return places


def umap(x, neighbors=15, min_dist=0.1, iterations=200, seed=0):
    n, rng = len(x), np.random.default_rng(seed)
    d = cdist(x, x)
    order = d.argsort(axis=1)[:, 1:neighbors]
    near = np.take_along_axis(d, order, axis=1)
    beyond = near - near[:, :1]  # ρ: the nearest neighbor is linked for sure
    low, high, sigma = np.zeros(n), np.full(n, np.inf), np.ones(n)
    for _ in range(60):  # bisection: σ such that a row sums to log2(k)
        wide = np.exp(-beyond / sigma[:, None]).sum(axis=1) > np.log2(neighbors)
        low, high = np.where(wide, low, sigma), np.where(wide, sigma, high)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + high) / 2)
    w = np.zeros((n, n))
    np.put_along_axis(w, order, np.exp(-beyond / sigma[:, None]), axis=1)
    w = w + w.T - w * w.T  # linked one way or the other
    r = np.linspace(0, 3, 300)
    (a, b), _ = curve_fit(lambda r, a, b: 1 / (1 + a * r ** (2 * b)), r, np.exp(-np.maximum(0, r - min_dist)))
    centered = x - x.mean(axis=0)
    places = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    places = 10 * (places - places.min(axis=0)) / np.ptp(places, axis=0)
    for t in range(iterations):
        rate = 1 - t / iterations
        drawn = rng.random((n, n)) < w / w.max()  # each link as often as it is strong
        r2 = cdist(places, places, "sqeuclidean") + 1e-12
        pull = np.where(drawn, 2 * a * b * r2 ** (b - 1) / (1 + a * r2**b), 0)
        others = 5 * drawn.sum(axis=1, keepdims=True) / n  # five random others for each link
        push = others * 2 * b / ((0.001 + r2) * (1 + a * r2**b))
        np.fill_diagonal(push, 0)
        most = 4 / np.sqrt(r2)  # no step is longer than 4
        force = np.minimum(push, most) - 2 * np.minimum(pull, most)  # both ends of a link move
        places = places + rate * (force.sum(axis=1, keepdims=True) * places - force @ places)
    return places


def pacmap(x, neighbors=10, phases=(100, 100, 250), seed=0):
    n, rng = len(x), np.random.default_rng(seed)
    d = cdist(x, x)
    sigma = np.sort(d, axis=1)[:, 4:7].mean(axis=1)  # to the fourth to sixth neighbor
    scaled = d**2 / (sigma[:, None] * sigma) + np.diag(np.full(n, np.inf))
    near, mid, further = np.zeros((3, n, n))  # who is paired with whom
    for i in range(n):
        near[i, scaled[i].argsort()[:neighbors]] = 1
        others = np.flatnonzero(np.arange(n) != i)
        for _ in range(neighbors // 2):
            six = rng.choice(others, 6, replace=False)
            mid[i, six[d[i, six].argsort()[1]]] += 1  # the second nearest of six
        strangers = rng.permutation(others[near[i, others] == 0])
        further[i, strangers[: 2 * neighbors]] = 1
    near, mid, further = near + near.T, mid + mid.T, further + further.T
    centered = x - x.mean(axis=0)
    places = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    places = 0.01 * places / places[:, 0].std()
    mean, square = np.zeros((2, n, 2))
    first, second, third = phases
    for t in range(first + second + third):
        w_near, w_mid = (2, 1000 - 997 * t / first) if t < first else (3, 3) if t < first + second else (1, 0)
        d2 = 1 + cdist(places, places, "sqeuclidean")
        pull = w_near * near * 10 / (10 + d2) ** 2 + w_mid * mid * 10000 / (10000 + d2) ** 2
        force = pull - further / (1 + d2) ** 2
        gradient = 2 * (force.sum(axis=1, keepdims=True) * places - force @ places)
        mean = 0.9 * mean + 0.1 * gradient  # Adam, learning rate 1
        square = 0.999 * square + 0.001 * gradient**2
        steps = mean / (1 - 0.9 ** (t + 1)) / (np.sqrt(square / (1 - 0.999 ** (t + 1))) + 1e-7)
        places = places - steps
    return places


def localmap(x, neighbors=10, iterations=250, reach=10.0, seed=0):
    places = pacmap(x, neighbors, (100, 100, 0), seed)  # its first two phases
    n, rng = len(x), np.random.default_rng(seed)
    d = cdist(x, x)
    sigma = np.sort(d, axis=1)[:, 4:7].mean(axis=1)
    scaled = d**2 / (sigma[:, None] * sigma) + np.diag(np.full(n, np.inf))
    near = np.zeros((n, n))
    np.put_along_axis(near, scaled.argsort(axis=1)[:, :neighbors], 1, axis=1)
    mean, square = np.zeros((n, 2)), np.ones((n, 2))
    for t in range(iterations):
        d2 = 1 + cdist(places, places, "sqeuclidean")
        if t % 10 == 0:  # further points are drawn anew, from those nearby on the map
            further = np.zeros((n, n))
            for i in range(n):
                nearby = (d2[i] <= 1 + reach**2) & (near[i] == 0) & (np.arange(n) != i)
                further[i, rng.permutation(np.flatnonzero(nearby))[: 2 * neighbors]] = 1
            further = further + further.T
        pull = (near + near.T) * 10 / (10 + d2) ** 2 * reach / 2 / np.sqrt(d2)  # far pairs pull less
        force = pull - further / (1 + d2) ** 2
        gradient = 2 * (force.sum(axis=1, keepdims=True) * places - force @ places)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        places = places - mean / (np.sqrt(square) + 1e-7)
    return places
