"""Streamlit's queue of messages to a browser, which keeps what fragments have sent."""

from streamlit.runtime import app_session
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue


class MessageQueue(ForwardMsgQueue):
    """A queue that drops no message when a fragment runs again.

    When a fragment runs right after the whole page, before the browser got what the page has sent, Streamlit 1.67 drops
    the fragment's part of that, but not the message that the page is complete. The browser then takes away whatever was
    dropped, until the fragment has sent it anew: the map vanishes for some tenths of a second, or an element that
    follows the fragment does until the page is loaded again. No public name of Streamlit reaches this queue;
    tests/app/test_message_queue.py fails where it has moved.
    """

    def clear(self, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None) -> None:
        """Empty the queue, or keep all that is in it for a run of fragments, as if it had been sent already."""
        super().clear(retain_lifecycle_msgs, None if fragment_ids_this_run is None else [])


def install() -> None:
    """Let the sessions that begin from now on use `MessageQueue`."""
    app_session.ForwardMsgQueue = MessageQueue  # type: ignore[attr-defined]
