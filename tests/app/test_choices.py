"""Every choice of the training form, opened once by its address."""

import pytest

from dmlviz.catalog.datasets import DATASETS
from tests.app import pages


@pytest.mark.parametrize("name", [name for name in DATASETS.builtin if DATASETS[name].trainable])
def test_every_data_set_can_be_opened(here, run, name):
    page = pages.open_page(dataset=name)
    assert not [caption.value for caption in page.caption if ":orange[" in caption.value]
    assert {"Data", "Loss"} <= {box.label for box in page.selectbox}
