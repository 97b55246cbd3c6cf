"""The pages: whole without scripts, live with them, harmless whatever agents write, and open to nobody else."""

from __future__ import annotations

import contextlib
import http.client
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reference.tests.conftest import Peer
from reference.tests.topics.web.served import TOKENS, asked, events, get, page_server, sent

from refbus.topics.bus import TopicsBus
from refbus.topics.web.server import listening_on

Join = Callable[..., Any]


def test_pages_show_topics_messages_and_what_is_searched_for(join: Join, port: int) -> None:
    """Without any script."""
    alice, bob = join("alice"), join("bob")
    alice.sync("a needle & a <thread>")
    bob.bus.topic_close(bob.bus.topic_create(name="old")["topic_id"], reason="done")
    status, page, headers = get(port, "/")
    assert status == 200 and page.index(">lane<") < page.index(">old<")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, page, _ = get(port, f"/topics/{alice.topic_id}")
    assert status == 200 and "a needle &amp; a &lt;thread&gt;" in page and "alice" in page
    status, page, _ = get(port, "/search?q=needle+thread")
    assert status == 200 and f"/topics/{alice.topic_id}?after=0#m1" in page
    assert "a <mark>needle</mark> &amp; a &lt;<mark>thread</mark>&gt;" in page and "embedding" not in page
    assert "Nothing found" in get(port, "/search?q=absent")[1]
    assert get(port, "/search")[0] == 200
    for name in ("/page.css", "/page.js", "/icon.svg"):
        assert get(port, name)[0] == 200


def test_a_long_topic_is_shown_a_hundred_messages_at_a_time(join: Join, port: int) -> None:
    """The newest first, and a way back and forth."""
    alice = join("alice")
    for _ in range(5):
        alice.sync(*["x"] * 50)
    path = f"/topics/{alice.topic_id}"
    page = get(port, path)[1]
    assert 'id="m151"' in page and 'id="m250"' in page and 'id="m150"' not in page and "?after=50" in page
    page = get(port, f"{path}?after=50")[1]
    assert 'id="m51"' in page and 'id="m151"' not in page and "?after=150" in page and "data-events" not in page
    assert 'id="m1"' in get(port, f"{path}?after=0")[1]
    assert get(port, f"{path}?after=9999")[0] == 200


def test_new_messages_come_as_events(join: Join, port: int) -> None:
    """From where a browser was cut off."""
    alice = join("alice")
    alice.sync("1", "2")
    path = f"/topics/{alice.topic_id}/events"
    stream = events(port, f"{path}?after=1", 4, lambda: alice.sync("3", "<b>4</b>"))
    bodies = [event for event in stream if "<article" in event]
    assert ["<p>2</p>" in bodies[0], "<p>3</p>" in bodies[1], "&lt;b&gt;4" in bodies[2]] == [True] * 3
    (stream,) = events(port, f"{path}?after=1", 1, lambda: None, Last_Event_ID="3")
    assert 'id="m4"' in stream


def test_the_list_of_topics_is_live(join: Join, port: int) -> None:
    """Anew at every change."""
    alice = join("alice")
    stream = events(port, "/events", 2, lambda: alice.bus.topic_create(name="another"))
    assert "lane" in stream[0] and "another" not in stream[0] and "another" in stream[1]


def test_only_this_machine_reads_and_nobody_writes(join: Join, port: int) -> None:
    """No other host name, no other method, no unknown topic."""
    join("alice")
    assert get(port, "/", Host="evil.example")[0] == 400
    assert get(port, "/topics/0123456789")[0] == 404
    assert get(port, "/topics/0123456789/events")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        for method in ("POST", "PUT", "DELETE"):
            connection.request(method, "/", headers=sent(port, {}))
            response = connection.getresponse()
            response.read()
            assert response.status == 405


def test_the_pages_are_for_those_who_were_given_the_address(join: Join, port: int) -> None:
    """Another user of the machine finds the port, and nothing on it. The token leaves the address at once."""
    topic_id, token = join("alice").topic_id, TOKENS[port]
    for path in ("/", f"/topics/{topic_id}", f"/topics/{topic_id}/events", "/events", "/search?q=a", "/page.js"):
        for cookie in ("", "refbus_=", f"refbus_{token[:8]}={token[:8]}", f"refbus_{token[:8]}=\u00e9"):
            assert get(port, path, Cookie=cookie)[0] == 403
    assert get(port, f"/?token={token[:-1]}", Cookie="")[0] == 403
    status, _, headers = get(port, f"/search?token={token}&q=a", Cookie="")
    assert (status, headers["Location"]) == (303, f"http://127.0.0.1:{port}/search?q=a")
    assert headers["Set-Cookie"].split("; ")[0] == f"refbus_{token[:8]}={token}"
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=strict" in headers["Set-Cookie"]


def test_a_page_shows_who_is_here_and_which_questions_wait(open_session: Callable[..., Any], port: int) -> None:
    """Live as well: an answer takes its question off the list."""
    alice = Peer(TopicsBus(Path(open_session().store.path)), "alice")
    with contextlib.closing(alice.bus):
        question = {"content_markdown": "which port?", "message_type": "question"}
        (first,) = alice.sync(outbox=[question])["sent"]
        path = f"/topics/{alice.topic_id}"
        page = get(port, path)[1]
        assert "1 unanswered question<" in page and re.search(r"Here.*alice", page, re.DOTALL)
        answer = {"content_markdown": "8080", "message_type": "answer", "reply_to": first["message"]["message_id"]}
        stream = events(port, f"{path}/events?after=1", 3, lambda: alice.sync(outbox=[answer]))
        # Messages are read before the aside, so one that comes in between is shown after it.
        assert "1 unanswered" in stream[0] and any("↩ 1" in event for event in stream[1:])
        assert not any("unanswered" in event for event in stream[1:])


def test_a_topic_is_shown_by_sender_and_by_type(join: Join, port: int) -> None:
    """The filter holds for live messages, and for earlier pages."""
    alice, bob = join("alice"), join("bob")
    for _ in range(3):
        alice.sync(*["from alice"] * 50)
    bob.sync(outbox=[{"content_markdown": "mine", "message_type": "note"}])
    path = f"/topics/{alice.topic_id}"
    assert [int(seq) for seq in re.findall(r'id="m(\d+)"', get(port, f"{path}?sender=bob")[1])] == [151]
    assert [int(seq) for seq in re.findall(r'id="m(\d+)"', get(port, f"{path}?message_type=note")[1])] == [151]
    page = get(port, f"{path}?sender=alice")[1]
    assert 'id="m51"' in page and 'id="m150"' in page and 'id="m151"' not in page
    assert f"{path}/events?sender=alice&amp;after=150" in page
    assert "<option selected>alice</option>" in page and "<option>bob</option>" in page
    stream = events(port, f"{path}/events?sender=bob&after=0", 2, lambda: None)
    assert "mine" in stream[0] and "<article" not in stream[1]


def test_results_come_fifty_a_page(join: Join, port: int) -> None:
    """With a way on and back."""
    alice = join("alice")
    for _ in range(3):
        alice.sync(*["a needle"] * 40)
    pages = [get(port, f"/search?q=needle&from={start}")[1] for start in (0, 50, 100)]
    assert [page.count("<article") for page in pages] == [50, 50, 20]
    assert ["Next page" in page for page in pages] == [True, True, False]
    assert ["Previous page" in page for page in pages] == [False, True, True]
    assert get(port, "/search?q=needle&from=9999999999999")[0] == 200


PARAMETERS = {  # of each page: an address may say them
    "/search": ("q", "from"),
    "/topics/{}": ("sender", "message_type", "after"),
    "/topics/{}/events": ("sender", "message_type", "after"),
}


def test_what_an_address_may_not_say_is_refused_before_a_page_or_a_stream_begins(join: Join, tmp_path: Path) -> None:
    """By 400, whatever parameter says it, and without a word on stderr. Left empty, each is as if it were not said."""
    alice = join("alice")
    alice.sync("needle")
    long, unseen, huge = "x" * 3000, "%00", "9" * 19
    with page_server(tmp_path / "bus.sqlite") as (port, process):
        for page, names in PARAMETERS.items():
            path = page.format(alice.topic_id)
            for name in names:
                odd = (long, huge, "x", "-1", "%D9%A3") if name in ("after", "from") else (long,)
                for value in (*odd, *((unseen,) if name == "q" else ())):
                    assert get(port, f"{path}?{name}={value}")[0] == 400, (path, name, value)
                with asked(port, f"{path}?{name}=") as response:
                    assert response.status == 200
        assert get(port, f"/topics/{alice.topic_id}/events", Last_Event_ID="x")[0] == 400
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_a_page_is_sent_at_once() -> None:
    """A kept connection waits for no acknowledgement between the head of an answer and its page."""
    with listening_on(0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_ctrl_c_ends_it_quietly_while_browsers_are_connected(join: Join, tmp_path: Path) -> None:
    """Their streams end; nothing is written to stderr."""
    join("alice")
    with page_server(tmp_path / "bus.sqlite") as (port, process):
        events(port, "/events", 1, lambda: process.send_signal(signal.SIGINT))
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None and process.stderr.read() == ""
