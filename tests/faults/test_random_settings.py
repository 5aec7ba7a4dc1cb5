"""Random settings and addresses are accepted, or refused with a sentence. The generator is `random_settings.py`."""

import random

import pytest
from dmlviz_app.forms.view_state import UIState
from random_requests import requests
from random_settings import fault_of_sentence, new_table, run, try_address

from dmlviz.cli.options import read_option
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.errors import UserError


def test_random_settings_and_addresses(monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")  # put back afterwards
    table = new_table()
    run(table, 180, seed=11)
    assert table.broken == []
    assert len(table.cases) == 10


@pytest.mark.parametrize("field", ["eval_subset_size", "max_train_images"])
@pytest.mark.parametrize("value", [10**30, 10**5000], ids=["31 digits", "5,001 digits"])
def test_a_count_beyond_every_data_set_is_refused(field, value):
    with pytest.raises(UserError, match=f"{field}: must be at most"):
        TrainConfig(dataset="digits", **{field: value})


def test_a_step_beyond_every_training_is_refused():
    with pytest.raises(UserError, match="step: must be at most"):
        ProjectionConfig(step=10**5000)


@pytest.mark.parametrize("text", ["[" * 5000, "9" * 5000, "{" * 5000], ids=["list", "number", "object"])
def test_an_option_that_no_parser_can_read_stays_a_word(text):
    assert read_option("loss_params", [f"margin={text}"]) == {"margin": text}
    with pytest.raises(UserError, match="triplet: margin is a number"):
        TrainConfig(dataset="digits", loss="triplet", loss_params={"margin": text})


def test_long_parameters_without_a_miner_are_told_briefly():
    with pytest.raises(UserError, match="miner_params need a miner") as caught:
        TrainConfig(dataset="digits", loss="nt_xent", miner=None, miner_params={"a": "x" * 5000})
    assert len(str(caught.value)) < 200


def test_no_held_out_classes_stay_so_in_an_address():
    state = UIState.from_query({"held_out_classes": " "})
    assert state.messages.all() == {}
    again = UIState.from_query(state.to_query())
    assert (again.messages.all(), again.to_query()) == ({}, state.to_query())


def test_a_body_nested_too_deep_and_control_characters_get_a_sentence(monkeypatch):
    monkeypatch.setenv("DMLVIZ_DATA", "")
    with requests() as asked:
        client = asked.probe.client
        answer = client.post("/dmlviz/losses/triplet/curve.json", content=b"[" * 50_000)
        assert (answer.status_code, "invalid JSON" in answer.json()["error"]) == (404, True)
        for path in ("/dmlviz/a%00b", "/dmlviz/runs/b923f3cc7f52c032/values/live/a%00b.f32"):
            assert client.get(path).json()["error"].isprintable()


def test_the_check_of_sentences_sees_what_is_wrong():
    good = "steps: must be at most 1000000; got 10000000."
    assert fault_of_sentence(good, {"steps": 10**7}) == ""
    assert "field" in fault_of_sentence("A number is too large; got 7.", {"steps": 10**7})
    assert "received" in fault_of_sentence("The number of steps is too large.", {"steps": 10**7})
    assert "characters" in fault_of_sentence(good + " " * 2000, {"steps": 10**7})
    assert "control" in fault_of_sentence("steps: \x1b[2J is none; got 5.", {"steps": 10**7})
    assert "program" in fault_of_sentence("steps: ValueError; got 5.", {"steps": 10**7})


def test_the_check_of_addresses_sees_an_error():
    def broken(asked):
        raise KeyError(random.Random(0))

    assert "KeyError" in try_address(broken, {"run": "x"})
