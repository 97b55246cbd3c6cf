"""A script that is played again on a new store uses the names that the bus chose this time."""

from __future__ import annotations

from busproof.run.replay import _chosen, _with


def test_ids_of_the_report_are_those_of_today_wherever_they_stand() -> None:
    then = {"topic": {"topic_id": "old", "name": "lane"}, "sent": [{"message_id": "m1"}, {"message_id": "m2"}]}
    now = {"topic": {"topic_id": "new", "name": "lane"}, "sent": [{"message_id": "n1"}, {"message_id": "n2"}]}
    ids = _chosen(then, now, request='{"name": "lane"}')
    assert ids == {"old": "new", "m1": "n1", "m2": "n2"}
    asked = {"topic_id": "old", "outbox": [{"reply_to": "m2", "content_markdown": "old news"}], "n": 1}
    assert _with(ids, asked) == {
        "topic_id": "new",
        "outbox": [{"reply_to": "n2", "content_markdown": "old news"}],
        "n": 1,
    }


def test_what_the_caller_said_is_no_id_of_the_bus() -> None:
    """The replay is to show an answer that differs in it."""
    assert _chosen({"status": "ready"}, {"status": "lane"}, request='{"name": "lane"}') == {}
