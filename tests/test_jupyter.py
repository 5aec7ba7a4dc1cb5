"""What jupyter-server-proxy is told; the real JupyterLab is in tools/see_in_jupyter.py."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dmlviz import jupyter
from dmlviz.cli.main import main

ROOT = Path(__file__).resolve().parents[1]


def test_the_entry_point_starts_an_app_that_only_jupyter_can_open(capsys):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (value,) = points["jupyter_serverproxy_servers"].values()
    server = EntryPoint("dmlviz", value, "jupyter_serverproxy_servers").load()
    assert server is jupyter.server
    told, again = server(), server()
    token = told["environment"]["DMLVIZ_TOKEN"]
    assert told["request_headers_override"] == {"Authorization": f"Bearer {token}"}
    assert len(token) == 32
    assert token != again["environment"]["DMLVIZ_TOKEN"]
    assert token not in told["command"]  # other people of the machine see the command

    command = [part.format(port=-1, base_url="/user/ann/") for part in told["command"][3:]]
    with pytest.raises(SystemExit):
        main(command)
    assert capsys.readouterr().err.startswith("port: ")  # every option is one that there is
