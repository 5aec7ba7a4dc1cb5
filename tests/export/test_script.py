"""The exported script and commands reproduce what is on the screen."""

import io
import shlex

import numpy as np
import pytest

from dmlviz.cli.main import main
from dmlviz.config import ProjectionConfig, TrainConfig
from dmlviz.export import RunExport
from dmlviz.export.script import as_command, as_python, minimal_overrides
from dmlviz.losses import LOSSES
from dmlviz.runs.store import Runs


def words_of(text):
    """The commands, as a shell would read them."""
    return [shlex.split(line) for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#")]


def test_the_script_gives_the_same_numbers_to_the_last_bit(kept_projection, capsys):
    told = {}
    exec(compile(as_python(kept_projection), "script", "exec"), told)
    assert np.array_equal(told["end"].embeddings, kept_projection.embeddings)
    assert told["end"].metrics == pytest.approx(kept_projection.run.metrics, abs=0)
    assert np.array_equal(told["coordinates"], kept_projection.coordinates)
    score = f"P@1 {kept_projection.run.metrics['precision_at_1']:.4f} on 596 test images"
    assert capsys.readouterr().out.strip() == score


def test_the_script_of_the_first_view_draws_its_points(kept):
    script = as_python(kept)
    head, _, tail = script.partition("for event in train")
    made = {"end": type("End", (), {"embeddings": kept.embeddings}), **_names(head)}
    exec(tail[tail.index("labels =") :], made)
    np.testing.assert_allclose(made["coordinates"], kept.coordinates, atol=1e-6)


def _names(head):
    names = {}
    exec(head, names)
    return names


def test_the_commands_give_the_same_numbers_to_the_last_bit(kept_projection, tmp_path, capsys):
    train, project = words_of(as_command(kept_projection))
    for words in (train, project):
        with pytest.raises(SystemExit) as ended:
            main([*words[1:], "--runs", str(tmp_path)])
        assert not ended.value.code, capsys.readouterr().err
    again = Runs(tmp_path).get(kept_projection.run.id)
    assert np.array_equal(again.embeddings, kept_projection.embeddings)
    assert again.metrics == kept_projection.run.metrics
    assert np.array_equal(again.projection(kept_projection.projection.id).coordinates, kept_projection.coordinates)


def test_only_settings_that_differ_from_defaults_are_written():
    assert minimal_overrides(TrainConfig()) == {}
    assert minimal_overrides(TrainConfig(loss="triplet", loss_params={"margin": 0.3}, seed=2)) == {
        "loss": "triplet",
        "loss_params": {"margin": 0.3},
        "seed": 2,
    }
    assert minimal_overrides(TrainConfig(loss="triplet", miner=None))["miner"] is None, "its loss recommends one"
    assert minimal_overrides(ProjectionConfig(method="tsne")) == {"method": "tsne"}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_the_written_settings_give_the_whole_config_for_every_loss(loss):
    _assert_restored(TrainConfig(loss=loss, dataset="digits", steps=7, seed=9, held_out_classes=(2, 7)))


def test_the_written_settings_give_the_parameters_of_a_sums_losses():
    a, b = {"name": "margin", "per_class": True}, {"name": "triplet", "margin": 0.3}
    _assert_restored(TrainConfig(loss="weighted_sum", loss_params={"a": a, "b": b}, dataset="digits", steps=7))


def _assert_restored(config):
    assert TrainConfig(**minimal_overrides(config)) == config
    words = shlex.split(as_command_of(config).replace("\\\n", " "))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmlviz.cli.train._existing_run", _stop_with)
        with pytest.raises(Told) as told:
            main(words[1:])
    assert told.value.args == (config,)


class Told(Exception):
    """Carries the config that the command line came to."""


def _stop_with(_runs, config):
    raise Told(config)


def as_command_of(config):
    run = type("R", (), {"config": config, "end": None})
    return as_command(RunExport(run))


def test_the_script_of_a_stopped_run_says_that_it_trains_to_the_end(run, kept_projection):
    stopped = type("R", (), {"config": run.config, "end": {"event": "stopped", "step": 5}, "info": {}, "id": "0" * 16})
    stopped.title = 'A "title"\\\n"""'
    script = as_python(RunExport(stopped, kept_projection.projection))
    assert "# Stopped at step 5 of 12" in script
    compile(script, "script", "exec")


def test_the_script_file_holds_the_text(kept):
    from dmlviz.export import write

    for name, text in (("python", as_python(kept)), ("command", as_command(kept))):
        file = io.BytesIO()
        write(name, kept, file)
        assert file.getvalue().decode() == text
