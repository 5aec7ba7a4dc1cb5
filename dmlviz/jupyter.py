"""The app in JupyterLab and JupyterHub: an entry point of jupyter-server-proxy, which starts it and shows it."""

import secrets
import sys
from typing import Any


def server() -> dict[str, Any]:
    """Describe to jupyter-server-proxy how to start the app and where it answers.

    Other people of the same machine reach its port too, so it asks for a token, which only Jupyter knows.

    Returns:
        The options of jupyter-server-proxy.

    Reference:
        https://jupyter-server-proxy.readthedocs.io/en/latest/server-process.html
    """
    token = secrets.token_hex(16)
    serve = [sys.executable, "-m", "dmlviz", "serve", "--no-browser"]
    return {
        # The name of the server that the browser asked stays in the Host header, and may be any.
        "command": [*serve, "--port", "{port}", "--base-path", "{base_url}dmlviz", "--allowed-host", "*"],
        "environment": {"DMLVIZ_TOKEN": token},
        "request_headers_override": {"Authorization": f"Bearer {token}"},
        "absolute_url": True,
        "timeout": 60,
        "new_browser_tab": False,
        "launcher_entry": {"title": "dmlviz", "category": "Notebook"},
    }
