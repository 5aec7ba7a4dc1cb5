"""Each sampler as on a slide: y are the labels of the training images; each batch is an array of their numbers."""

import numpy as np


def shuffled(y, batch_size, rng):
    while True:  # an epoch
        order = rng.permutation(len(y))
        rows = -(-len(order) // batch_size)  # the last batch is filled up
        yield from np.resize(order, (rows, batch_size))


def balanced(y, P, K, rng):
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    while True:  # an epoch
        hands = []  # the images of each class, shuffled, K at a time
        for images in members:
            rows = -(-len(images) // K)
            hands.append(list(np.resize(rng.permutation(images), (rows, K))))
        while any(hands):
            left = [(-len(hand), rng.random()) for hand in hands]
            classes = sorted(range(len(hands)), key=lambda c: left[c])[:P]  # those with most left
            batch = [hands[c].pop() if hands[c] else rng.choice(members[c], K, replace=False) for c in classes]
            yield np.concatenate(batch)


def class_balanced(y, batch_size, rng, power=0.0):  # 1: every image is equally likely
    classes, counts = np.unique(y, return_counts=True)
    chances, left = counts**power / (counts**power).sum(), {c: [] for c in classes}
    while True:
        batch = []
        for c in rng.choice(classes, batch_size, p=chances):
            left[c] = left[c] or list(rng.permutation(np.flatnonzero(y == c)))  # anew once all were given
            batch.append(left[c].pop())
        yield np.array(batch)


def square_root(y, batch_size, rng):
    yield from class_balanced(y, batch_size, rng, power=0.5)


def episodes(y, P, K, rng):
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    while True:
        classes = rng.choice(len(members), P, replace=False)
        images = [rng.choice(members[c], K, replace=False) for c in classes]
        yield np.concatenate(images)


def anchor_neighbor(y, P, K, rng, distances, group=5):
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    while True:
        left, classes = list(rng.permutation(len(members))), []
        while len(classes) < P:
            anchor = left[0]
            left.sort(key=lambda c: -1 if c == anchor else distances[anchor, c])
            size = min(group, P - len(classes))
            classes += left[:size]  # the anchor and the classes nearest to it
            left = list(rng.permutation(left[size:]))
        images = [rng.choice(members[c], K, replace=False) for c in classes]
        yield np.concatenate(images)


def random_pairs(y, pairs, rng):
    while True:  # an epoch
        for anchors in np.resize(rng.permutation(len(y)), (-(-len(y) // pairs), pairs)):
            batch = []
            for i, a in enumerate(anchors):
                is_partner = (y == y[a]) if i % 2 == 0 else (y != y[a])  # every other pair positive
                is_partner[a] = False
                batch += [a, rng.choice(np.flatnonzero(is_partner))]
            yield np.array(batch)


def random_triplets(y, triplets, rng):
    while True:  # an epoch
        for anchors in np.resize(rng.permutation(len(y)), (-(-len(y) // triplets), triplets)):
            batch = []
            for a in anchors:
                positive = np.flatnonzero((y == y[a]) & (np.arange(len(y)) != a))
                negative = np.flatnonzero(y != y[a])
                batch += [a, rng.choice(positive), rng.choice(negative)]
            yield np.array(batch)
