"""Every recipe is a training that can be begun, on every data set of images."""

import pytest

from dmlviz.catalog.datasets import DATASETS
from dmlviz.catalog.recipes import RECIPES
from dmlviz.config import TrainConfig


@pytest.mark.parametrize("dataset", ["digits", "mnist", "fashion_mnist"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_valid_training_that_no_other_one_is(name, dataset):
    configs = {recipe.name: TrainConfig(dataset=dataset, **recipe.settings) for recipe in RECIPES.values()}
    assert DATASETS[configs[name].dataset].trainable
    assert [other for other, config in configs.items() if config.id == configs[name].id] == [name]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_only_what_its_loss_does_not_recommend(name):
    settings = RECIPES[name].settings
    for field in settings.keys() - {"loss"}:
        others = {key: value for key, value in settings.items() if key != field}
        assert getattr(TrainConfig(**others), field) != settings[field]


def test_there_are_five_to_seven_and_the_first_is_the_default():
    assert 5 <= len(RECIPES) <= 7
    assert next(iter(RECIPES.values())).settings == {}
