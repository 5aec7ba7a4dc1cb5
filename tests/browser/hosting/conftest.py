"""A real nginx with TLS, set up as deploy/nginx.conf says, before servers of the app."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin:/opt/homebrew/bin")
OPENSSL = shutil.which("openssl")
SURROUNDINGS = """
$user
daemon off;
pid $folder/nginx.pid;
error_log $folder/error.log;
events {}
http {
    access_log $folder/access.log;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    default_type text/html;
    include $folder/sites.conf;
}
"""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Proxy:
    """An nginx process; `close` ends it."""

    def __init__(self, folder: Path, port: int, app: str, base_path: str, more: str = "") -> None:
        """Listen on `port` for `app` (host:port) below `base_path`; `more` are further servers in nginx's language."""
        assert NGINX is not None
        assert OPENSSL is not None
        self.folder = folder
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
        command = [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        subprocess.run([*command, *names, *files], check=True, capture_output=True)
        values = {"PORT": port, "SERVER_NAME": "localhost", "CERTIFICATES": folder, "BASE_PATH": base_path, "APP": app}
        site = Template((ROOT / "deploy" / "nginx.conf").read_text()).safe_substitute(values)
        user = "user root;" if os.geteuid() == 0 else ""  # its workers write into the folder
        (folder / "sites.conf").write_text(site + more)
        (folder / "nginx.conf").write_text(Template(SURROUNDINGS).substitute(folder=folder, user=user))
        self.process = subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])
        for _ in range(100):
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError((folder / "error.log").read_text())

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(10)


BASE = "/x/y"
CUT = """
    server {
        listen %d;
        location /cut/ {
            proxy_pass %s/;  # the path is cut off, as many hosts do it
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
        }
    }
"""


class Hosted:
    """A server as the proxy shows it; `cut` is where the same proxy shows a server that knows of no path."""

    def __init__(self, url: str, cut: str) -> None:
        self.url = url
        self.cut = cut


@pytest.fixture(scope="session")
def hosted(runs: Path, server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """A server below a path, behind TLS."""
    if NGINX is None or OPENSSL is None:
        pytest.skip("there is no nginx or no openssl on this machine")
    port, cut = free_port(), free_port()
    command = [sys.executable, "-m", "dmlviz", "serve", "--port", "0", "--no-browser", "--runs", str(runs)]
    started = type(server)(
        [*command, "--base-path", BASE, "--forwarded-allow-ips", "127.0.0.1"], {"NUMBA_DISABLE_JIT": "1"}
    )
    app = started.url.removeprefix("http://").removesuffix(BASE)
    proxy = Proxy(tmp_path_factory.mktemp("nginx"), port, app, BASE, CUT % (cut, server.url))
    yield Hosted(f"https://localhost:{port}{BASE}", f"http://localhost:{cut}/cut")
    proxy.close()
    started.close()
    assert "Traceback" not in started.log
