"""What a page has sent reaches the browser, also where a part of it runs again at once."""

import asyncio
from unittest.mock import MagicMock

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.script_data import ScriptData

from app.runtime import message_queue

PART = "part"  # a fragment's ID


@pytest.fixture
def queue(monkeypatch):
    """The queue of a new session of Streamlit's."""
    monkeypatch.setattr(app_session, "ForwardMsgQueue", ForwardMsgQueue)  # undone after the test
    message_queue.install()

    async def session_queue() -> ForwardMsgQueue:
        script = ScriptData("page.py", is_hello=False)
        return AppSession(script, MagicMock(), MagicMock(), lambda: None, {})._browser_queue

    return asyncio.run(session_queue())


def text(body: str, place: int, fragment: str = "") -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.text.body = body
    message.delta.fragment_id = fragment
    message.metadata.delta_path.extend([0, place])
    return message


def end_of_page() -> ForwardMsg:
    return ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)


def send_page(queue: ForwardMsgQueue) -> list[ForwardMsg]:
    messages = [text("title", 0), text("map", 1, PART), text("scores", 2), end_of_page()]
    for message in messages:
        queue.enqueue(message)
    return messages


def test_a_fragment_that_runs_before_the_page_was_delivered_takes_nothing_of_it_away(queue):
    sent = send_page(queue)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[PART])
    assert queue.flush() == sent


def test_what_the_fragment_then_sends_comes_after_it(queue):
    sent = send_page(queue)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[PART])
    queue.enqueue(text("another map", 1, PART))
    assert queue.flush() == [*sent, text("another map", 1, PART)]


def test_a_run_of_the_whole_page_still_replaces_what_was_not_delivered(queue):
    send_page(queue)
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.flush() == [ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN)]


def test_streamlit_by_itself_still_drops_the_map_and_says_that_the_page_is_complete():
    """Where this fails, Streamlit has mended it, and ours can go."""
    queue = ForwardMsgQueue()
    send_page(queue)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[PART])
    assert queue.flush() == [text("title", 0), text("scores", 2), end_of_page()]
