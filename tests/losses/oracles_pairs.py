"""Oracles of the pair losses: loops over the pairs, from the papers."""


def mean(values):
    return sum(values) / len(values)


def contrastive(margin, pos_margin=0.0):
    def compute(case, _):
        same = [(case.d(i, j) - pos_margin).relu() ** 2 for i, j in case.P]
        different = [(margin - case.d(i, j)).relu() ** 2 for i, j in case.N]
        return mean(same + different)

    return compute


ORACLES = [
    ("contrastive", {}, contrastive(1.0)),
    ("contrastive", {"margin": 1.5, "pos_margin": 0.6}, contrastive(1.5, 0.6)),
]
