"""The server's settings: what counts, and that command, environment and document have the same ones."""

from pathlib import Path

import pytest
from dmlviz_app.server.settings import Settings, variable

from dmlviz.cli import serve
from dmlviz.cli.main import main
from dmlviz.errors import UserError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name) or "", raising=False)


def test_an_option_comes_before_the_variable_and_the_variable_before_the_default(monkeypatch):
    assert Settings().log_level == "info"
    monkeypatch.setenv("DMLVIZ_LOG_LEVEL", "debug")
    assert Settings().log_level == "debug"
    assert Settings(log_level="error").log_level == "error"


def test_an_empty_variable_is_none(monkeypatch):
    for name in Settings.model_fields:
        if variable(name):
            monkeypatch.setenv(variable(name), "")
    assert Settings() == Settings(**{name: field.get_default() for name, field in Settings.model_fields.items()})


def test_each_kind_of_variable_is_read(monkeypatch, tmp_path):
    values = {
        "DMLVIZ_RUNS": str(tmp_path),
        "DMLVIZ_DISK_LIMIT": "0.5",
        "DMLVIZ_FLEET": "tls://there:8786",
        "DMLVIZ_SHARED": "0",
        "DMLVIZ_ALLOWED_HOSTS": "a.example *.b.example",
        "FORWARDED_ALLOW_IPS": "10.0.0.1",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    read = Settings()
    assert (read.runs, read.disk_limit, read.fleet, read.shared) == (tmp_path, 0.5, "tls://there:8786", False)
    assert (read.allowed_hosts, read.forwarded_allow_ips) == (("a.example", "*.b.example"), "10.0.0.1")


def test_without_a_token_wins_over_a_token(monkeypatch):
    monkeypatch.setenv("DMLVIZ_TOKEN", "0123456789abcdef")
    assert Settings().token == "0123456789abcdef"
    monkeypatch.setenv("DMLVIZ_NO_TOKEN", "1")
    assert Settings().token is None


def test_variables_that_other_programs_set_are_not_read(monkeypatch):
    for name in ("HOST", "PORT", "TOKEN", "DATA", "DMLVIZ_HOST", "DMLVIZ_PORT", "DMLVIZ_SLOTS", "DMLVIZ_BROWSER"):
        monkeypatch.setenv(name, "tcp://10.0.0.7:80")
    assert (Settings().host, Settings().port, Settings().token, Settings().data) == ("127.0.0.1", 8501, None, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"port": 70000}, "port: must be at most 65535; got 70000."),
        ({"disk_limit": 0}, "The disk limit is a number of GB above 0; got 0."),
        ({"log_level": "loud"}, "The log level is one of debug, info, warning, error; got 'loud'."),
        ({"shared": "perhaps"}, "shared: .* got 'perhaps'."),
        ({"prot": 80}, "Unknown setting 'prot'; the settings are host, port, "),
    ],
)
def test_a_bad_setting_is_one_sentence(given, message):
    with pytest.raises(UserError, match=message):
        Settings(**given)


def test_the_link_holds_path_and_token():
    settings = Settings(host="::1", base_path="x/y/", token="0123456789abcdef")
    assert settings.link(80) == "http://[::1]:80/x/y/?token=0123456789abcdef"
    assert settings.link(80, "10.0.0.7") == "http://10.0.0.7:80/x/y/?token=0123456789abcdef"
    assert Settings(host="0.0.0.0").link(8501) == "http://localhost:8501"


def test_serve_passes_on_the_options_that_were_given(monkeypatch):
    chosen = []
    monkeypatch.setattr(serve, "Settings", lambda **given: chosen.append(given) or 1 / 0)
    names = "--allowed-host a --allowed-host b"
    with pytest.raises(ZeroDivisionError):
        main(f"--host h --port 1 --disk-limit 2 --slots 3 --no-browser {names} --no-token --not-shared".split())
    assert chosen == [
        {
            "host": "h",
            "port": 1,
            "disk_limit": 2.0,
            "slots": 3,
            "browser": False,
            "allowed_hosts": ["a", "b"],
            "no_token": True,
            "shared": False,
        }
    ]
