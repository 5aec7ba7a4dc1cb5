"""A real nginx with TLS, set up as docs/HOSTING.md says, before servers of the app."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest

from tests.browser.conftest import BASE, School
from tests.waiting import free_port

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
        (site,) = re.findall(
            r"^```nginx\n(.*?)^```", (ROOT / "docs" / "HOSTING.md").read_text(), re.DOTALL | re.MULTILINE
        )
        site = Template(site).safe_substitute(values)
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


OTHERS = """
    server {
        listen $cut;
        location /cut/ {
            proxy_pass $server/;  # the path is cut off, as many hosts do it
            proxy_http_version 1.1;
            proxy_set_header Host $$http_host;
            proxy_set_header Upgrade $$http_upgrade;
            proxy_set_header Connection $$connection_upgrade;
        }
        location = /frame { return 200 '<iframe src="http://localhost:$cut/cut/" width=1200 height=700></iframe>'; }
    }
    server {
        listen $school ssl;
        ssl_certificate $folder/fullchain.pem;
        ssl_certificate_key $folder/privkey.pem;
        location = /frame { return 200 '<iframe src="$app/?token=$token" width=1200 height=700></iframe>'; }
    }
"""


class Hosted:
    """A server as the proxy shows it.

    Attributes:
        url: Its address, below a path.
        token: What it asks for.
        link: The address with that.
        school: Another site, which may show it in a frame and does so at /frame.
        cut: Where the proxy shows a server that knows of no path; at /frame beside it is a frame of that.
    """

    def __init__(self, port: int, school: School, cut: int) -> None:
        self.url, self.token = f"https://localhost:{port}{BASE}", school.tokens["member"]
        self.link = f"{self.url}/?token={self.token}"
        self.school = school.frames
        self.cut = f"http://localhost:{cut}/cut"
        self.frame_of_cut = f"http://127.0.0.1:{cut}/frame"


@pytest.fixture(scope="session")
def hosted(school: School, server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """A server below a path, behind TLS, that asks for a token and that one other site may show in a frame."""
    if NGINX is None or OPENSSL is None:
        pytest.skip("there is no nginx or no openssl on this machine")
    folder, port, cut = tmp_path_factory.mktemp("nginx"), free_port(), free_port()
    hosted = Hosted(port, school, cut)
    app = school.url.removeprefix("http://").removesuffix(BASE)
    values = {"cut": cut, "server": server.url, "folder": folder, "app": hosted.url, "token": hosted.token}
    proxy = Proxy(folder, port, app, BASE, Template(OTHERS).substitute(values, school=school.frames.rpartition(":")[2]))
    yield hosted
    proxy.close()
