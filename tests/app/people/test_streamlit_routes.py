"""The routes that Streamlit brings along: each is known here with what keeps it harmless, and a new one is noticed."""

from functools import partial

from starlette.testclient import TestClient
from streamlit import config
from streamlit.runtime import Runtime

from app.api.events import event_hub
from app.api.routes import routes
from app.runtime import services
from app.runtime.services import Settings
from app.server import build_app, options

KNOWN = {
    "/_stcore/health": "says that the server answers",
    "/_stcore/host-config": "options of the page",
    "/_stcore/metrics": "counts, of nobody by name",
    "/_stcore/stream": "the pages: bound to the person by SessionBindingMiddleware, and to the origin by Streamlit",
    "/_stcore/upload_file/{session_id}/{file_id}": "only into an open session, with its XSRF token; nobody reads it",
    "/_stcore/bidi-components/{path:path}": "files of the page",
    "/_stcore/agent/interact": "off: server.enableAgentApi",
    "/_stcore/agent/mcp": "off: server.enableAgentApi",
    "/_stcore/agent/openapi.json": "off: server.enableAgentApi",
    "/auth/login": "leads to the provider",
    "/auth/logout": "forgets the login",
    "/oauth2callback": "comes from the provider",
    "/component/{path:path}": "files of components; we have none of this kind",
    "/media/{file_id:path}": "pictures by st.image and the like; we use none",
}


def test_streamlit_has_no_route_that_we_do_not_know(tmp_path, monkeypatch):
    monkeypatch.setattr(services, "start_services", partial(services.start_services, warm=False))
    settings = Settings(runs=tmp_path / "runs", data=tmp_path / "data")
    app = build_app(settings)
    try:
        with TestClient(app, base_url="http://localhost"):
            # The Starlette app inside is not public; what it is asked for is only which routes there are.
            mounted = app._starlette_app.routes
        (ours,) = routes()
        assert {path for route in mounted if (path := getattr(route, "path", ""))} == {ours.path, *KNOWN}
    finally:
        event_hub.closing.clear()
        Runtime._instance = None  # Streamlit has one in a process, and never lets go of it
    assert "server.enableAgentApi" not in options(settings)
    assert config.get_option("server.enableAgentApi") is False


def test_no_page_hands_files_to_streamlit_s_media_route():
    """Whoever knows a file's address there gets it, so nobody's pictures may lie there."""
    from pathlib import Path

    import app

    source = "".join(path.read_text() for path in Path(app.__file__).parent.rglob("*.py"))
    for name in ("st.image(", "st.audio(", "st.video(", "st.download_button(", "st.pyplot(", "st.logo("):
        assert name not in source, name
