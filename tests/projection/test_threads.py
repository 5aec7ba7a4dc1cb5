"""A layout computes on one thread, and leaves the caller's settings as it found them."""

import threading

import faiss
import numpy as np
import pytest
import torch

from dmlviz.config import ProjectionConfig
from dmlviz.projection import project

CONFIGS = [
    ProjectionConfig(method="tsne", params={"perplexity": 5, "iterations": 50}),
    ProjectionConfig(method="umap", params={"neighbors": 5, "iterations": 10}),
    ProjectionConfig(method="pacmap", params={"neighbors": 5, "iterations": 20}),
]


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(3)
    faiss.omp_set_num_threads(3)
    yield
    torch.set_num_threads(before[0])
    faiss.omp_set_num_threads(before[1])


def threads() -> tuple[int, int]:
    return torch.get_num_threads(), faiss.omp_get_max_threads()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
def test_a_layout_computes_on_one_thread_and_gives_the_callers_number_back(config, digits):
    seen = set()
    project(digits[0][:60], config, lambda *_: seen.add(threads()) or False)
    assert seen == {(1, 1)}
    assert threads() == (3, 3)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
def test_the_number_comes_back_after_an_error_and_after_a_stop(config, digits):
    def fail(*_: object) -> None:
        raise RuntimeError("nobody looks any more")

    with pytest.raises(RuntimeError, match="nobody looks"):
        project(digits[0][:60], config, fail)
    assert threads() == (3, 3)
    assert project(digits[0][:60], config, stop=lambda: True).stopped
    assert threads() == (3, 3)


def test_two_layouts_at_a_time_leave_the_callers_number_behind(digits):
    """The second begins while the first has the process on one thread, and ends after it."""
    second_runs, first_is_over = threading.Event(), threading.Event()

    def second() -> None:
        def hold(*_: object) -> None:
            second_runs.set()
            first_is_over.wait(20)

        project(digits[0][:60], CONFIGS[1], hold)

    other = threading.Thread(target=second)

    def start_the_second(*_: object) -> None:
        if other.ident is None:
            other.start()
            second_runs.wait(20)

    project(digits[0][:60], CONFIGS[1], start_the_second)
    first_is_over.set()
    other.join(20)
    assert not other.is_alive()
    assert threads() == (3, 3)
    fresh: list[int] = []
    newborn = threading.Thread(target=lambda: fresh.append(torch.get_num_threads()))
    newborn.start()
    newborn.join()
    assert fresh == [3]


def test_a_map_is_the_same_whatever_number_of_threads_the_caller_uses(digits):
    maps = []
    for count in (1, 3):
        torch.set_num_threads(count)
        faiss.omp_set_num_threads(count)
        maps.append([project(digits[0][:200], config).coordinates for config in CONFIGS])
    for one, several in zip(*maps, strict=True):
        np.testing.assert_array_equal(one, several)
