"""A rerun that a newer one disturbs is repeated, and two threads of one session do not disturb each other's state."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from dmlviz_app.application import share_session_lock
from dmlviz_app.widgets import components
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest


def test_two_threads_of_one_session_have_one_lock(monkeypatch):
    monkeypatch.setattr(SafeSessionState, "__init__", SafeSessionState.__init__)  # put back afterwards
    share_session_lock()
    share_session_lock()
    state = SessionState()
    old, new = (SafeSessionState(state, lambda: None) for _ in range(2))
    wrong, stop = [], threading.Event()

    def finish():
        while not stop.is_set():
            try:
                old.on_script_finished(frozenset())
                _ = old.filtered_state
            except Exception as error:
                wrong.append(error)
                return

    thread = threading.Thread(target=finish)
    thread.start()
    for number in range(800):
        new[f"key {number}"] = number
        new.on_script_will_rerun(None)
        if number > 100:
            del new[f"key {number - 100}"]
    stop.set()
    thread.join()
    assert not wrong
    assert SafeSessionState(SessionState(), lambda: None)._lock is not old._lock


CLICKS = """
import sys, time
import streamlit as st
from dmlviz_app.application import finish_scripts_of_left_pages
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

finish_scripts_of_left_pages()
page = sys.argv[1] + "/page.py"
open(page, "w").write('''
import streamlit as st
def click():
    st.session_state.clicked = True
    print("stopped")
st.button("Stop", on_click=click)
for _ in range(50):
    st.caption("more")
''')
with TestClient(st.App(page)) as client:
    for number in range(8):
        with client.websocket_connect("/_stcore/stream", subprotocols=["streamlit"]) as tab:
            asked, told = BackMsg(rerun_script={"query_string": ""}), ForwardMsg()
            tab.send_bytes(asked.SerializeToString())
            while told.WhichOneof("type") != "script_finished":
                told.ParseFromString(tab.receive_bytes())
                if told.delta.new_element.button.id:
                    click = {"id": told.delta.new_element.button.id, "trigger_value": True}
            if number % 2:  # its script is at work
                tab.send_bytes(asked.SerializeToString())
            asked.rerun_script.widget_states.widgets.add(**click)
            tab.send_bytes(asked.SerializeToString())
    time.sleep(1)
"""


@pytest.mark.slow
def test_a_click_is_done_where_the_tab_is_closed_at_once(tmp_path):
    command = [sys.executable, "-c", CLICKS, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("stopped") == 8


@pytest.mark.parametrize("disturbed", ["iterating", "missing"])
@pytest.mark.parametrize(("times", "said"), [(1, ["drawn"]), (9, ["The part failed"])])
def test_a_disturbed_rerun_is_repeated_but_not_for_ever(disturbed, times, said):
    def page(disturbed, times):
        import streamlit as st
        from dmlviz_app.widgets.error_boundary import error_boundary

        with error_boundary("The part"):
            st.session_state.runs = st.session_state.get("runs", 0) + 1
            if st.session_state.runs <= times:
                if disturbed == "missing":
                    st.session_state["gone"]
                raise RuntimeError("dictionary changed size during iteration")
            st.caption("drawn")

    shown = AppTest.from_function(page, kwargs={"disturbed": disturbed, "times": times}).run()
    assert [any(text in caption.value for text in said) for caption in shown.caption] == [True]
    assert shown.session_state.runs == min(times, 3) + 1


# Those that still send data by a rerun. All others ask routes, and have the page drawn anew without data (`rerun`).
SENT = {"drawing", "go", "remedy", "settings", "snapshot", "subset", "view", "cancel", "resume"}


def test_no_other_component_sends_data_by_a_rerun():
    app = Path(components.__file__).parents[1]
    heard = {name for path in app.rglob("*.py") for name in re.findall(r"on_(\w+)_change\b[^\w\n]*=", path.read_text())}
    assert heard == SENT | {"rerun"}
