"""A few people, streams that nobody reads, a slow reader: no error. The whole of it is `crowd.py`."""

from concurrent.futures import ThreadPoolExecutor

import crowd


def test_a_few_people_streams_unread_and_a_slow_reader_meet_no_error():
    table = crowd.new_table()
    with ThreadPoolExecutor(1) as thread:  # in the main thread Playwright's event loop may run
        thread.submit(crowd.run, table, 4, 20, 2, 5.0).result()
    (case,) = table.cases.values()
    broken = [text for sentence in case.broken for text in sentence.split("; ")]
    assert not [
        text for text in broken if not text.startswith("p95") and "MB more memory" not in text
    ]  # in five seconds
    assert case.worst["reruns"] >= 4
    assert case.worst["lines read"] >= 4
