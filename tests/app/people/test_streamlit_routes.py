"""The routes that Streamlit brings along: each is known here with who may ask it, and a new one is noticed."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from dmlviz_app.application import build_app, options
from dmlviz_app.routes import routes
from dmlviz_app.server import services
from dmlviz_app.server.event_stream import event_hub
from dmlviz_app.server.settings import Settings
from starlette.testclient import TestClient
from streamlit import config
from streamlit.runtime import Runtime

TOKEN, METRICS_TOKEN = "0123456789abcdef", "fedcba9876543210"
UPLOADS = "/_stcore/upload_file/{session_id}/{file_id}"

# What a stranger in the network is answered, on a shared server that lets everybody in: (method, status) by path.
KNOWN = {
    "/_stcore/health": {"GET": 200},  # says that the server answers
    "/_stcore/host-config": {"GET": 200},  # options of the page
    "/_stcore/metrics": {"GET": 403, "HEAD": 403, "OPTIONS": 403},  # as /dmlviz/metrics
    "/_stcore/stream": {},  # the pages, a WebSocket: test_sessions.py, test_hosting.py
    UPLOADS: dict.fromkeys(("PUT", "DELETE", "OPTIONS", "POST"), 403),  # files come by routes of ours
    "/_stcore/bidi-components/{path:path}": {"GET": 404},  # files of the page, and nothing else
    "/_stcore/agent/interact": {"POST": 403},  # off: server.enableAgentApi
    "/_stcore/agent/mcp": {"POST": 400},  # off
    "/_stcore/agent/openapi.json": {"GET": 200},  # says what it would take; off
    "/auth/login": {"GET": 302},  # leads to the provider
    "/auth/logout": {"GET": 302},  # forgets the login
    "/oauth2callback": {"GET": 302},  # comes from the provider
    "/component/{path:path}": {"GET": 404},  # files of components; we have none of this kind
    "/media/{file_id:path}": {"GET": 404},  # pictures by st.image and the like; we use none
}
NO_ROUTES = ("/_stcore/script-health-check", "/app/static/page.py", "/_stcore/message")  # not on, or of long ago


@pytest.fixture(params=[None, TOKEN], ids=["everybody comes in", "with a token"])
def server(request, tmp_path, monkeypatch) -> Iterator[tuple[Settings, TestClient]]:
    """The whole shared server, and a stranger in the network."""
    monkeypatch.setattr(services, "start_services", partial(services.start_services, warm=False))
    settings = Settings(runs=tmp_path / "runs", data=tmp_path / "data", shared=True, token=request.param)
    app = build_app(settings)
    try:
        with TestClient(app, base_url="http://localhost", client=("10.0.0.9", 4711), follow_redirects=False) as client:
            client.streamlit = app
            yield settings, client
    finally:
        event_hub.closing.clear()
        Runtime._instance = None  # Streamlit has one in a process, and never lets go of it


def test_streamlit_has_no_route_that_we_do_not_know(server):
    settings, client = server
    # The Starlette app inside is not public; what it is asked for is only which routes there are.
    mounted = client.streamlit._starlette_app.routes
    (ours,) = routes()
    assert {path for route in mounted if (path := getattr(route, "path", ""))} == {ours.path, *KNOWN}
    assert "server.enableAgentApi" not in options(settings)
    assert config.get_option("server.enableAgentApi") is False


def test_a_stranger_is_answered_as_the_table_says(server):
    settings, stranger = server
    for route, answers in KNOWN.items():
        path = route.replace("{session_id}", "0" * 36).replace("{file_id}", "0" * 36)
        path = path.replace("{path:path}", "nothing/index.js").replace("{file_id:path}", "0" * 56 + ".png")
        for method, status in answers.items():
            answer = stranger.request(method, path)
            if settings.token and "metrics" not in path:
                status = 401
            assert answer.status_code == status, (method, path)
    assert stranger.get("/_stcore/metrics%0a").status_code == (401 if settings.token else 403)
    for path in NO_ROUTES:
        answer = stranger.get(path)
        assert answer.status_code == (401 if settings.token else 200), path
        assert settings.token or "<title>Streamlit</title>" in answer.text, "not the page, which knows nothing"


@pytest.mark.parametrize("path", ["/dmlviz/metrics", "/_stcore/metrics"])
def test_both_metrics_ask_for_the_same(server, monkeypatch, path):
    settings, stranger = server
    local = TestClient(stranger.app, base_url="http://localhost", client=("127.0.0.1", 4711))
    assert stranger.get(path).status_code == 403
    assert local.get(path).status_code == 200
    assert local.get(path, headers={"X-Forwarded-For": "10.0.0.9"}).status_code == 403
    with_token = settings.replace(metrics_token=METRICS_TOKEN)
    monkeypatch.setattr(services, "_services", replace(services.services(), settings=with_token))
    for client in (stranger, local):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {METRICS_TOKEN}"}).status_code == 200


def test_no_page_hands_files_to_streamlit_s_media_route():
    """Whoever knows a file's address there gets it, so nobody's pictures may lie there."""
    from pathlib import Path

    import dmlviz_app

    source = "".join(path.read_text() for path in Path(dmlviz_app.__file__).parent.rglob("*.py"))
    for name in ("st.image(", "st.audio(", "st.video(", "st.download_button(", "st.pyplot(", "st.logo("):
        assert name not in source, name
