"""The pages in a real browser. `BUSPROOF_SCREENSHOTS=docs/images` keeps what it showed."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reference.tests.conftest import Peer
from reference.tests.topics.web.chromium import Browser
from reference.tests.topics.web.served import TOKENS

from refbus.topics.bus import TopicsBus

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")

IS_LIVE = "document.getElementById('live')?.textContent === 'live'"
EVIL = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script> [x](javascript:alert(1))"
TASKS = "Two tasks:\n\n1. the **parser**\n2. its tests\n\n| file | who |\n|---|---|\n| a.py | bob |"
TALK: list[tuple[str, dict[str, Any]]] = [
    ("lead", {"content_markdown": TASKS}),
    ("bob", {"content_markdown": "Which grammar?", "message_type": "question"}),
    ("lead", {"content_markdown": "```python\nassert parse('a')\n```\n\n> as in the seed", "message_type": "answer"}),
    ("carol", {"content_markdown": "Is CI red for you as well? " + "/tmp/parser" * 40, "message_type": "question"}),
]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with contextlib.closing(Browser(tmp_path / "profile")) as browser:
        yield browser


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[dict[str, Peer]]:
    """Three agents on the wall clock, as the page server is."""
    with contextlib.ExitStack() as stack:
        names = ("lead", "bob", "carol")
        yield {name: Peer(stack.enter_context(TopicsBus(tmp_path / "bus.sqlite")), name) for name in names}


def test_messages_come_live_and_run_nothing(browser: Browser, peers: dict[str, Peer], port: int) -> None:
    """All their content is shown as text."""
    lead = peers["lead"]
    lead.sync("first")
    page = browser.open(f"http://127.0.0.1:{port}/topics/{lead.topic_id}?token={TOKENS[port]}")
    page.wait_for(IS_LIVE)
    lead.sync(EVIL, "last")
    page.wait_for("document.querySelectorAll('article').length === 3")
    bodies = page("[...document.querySelectorAll('.body')].map(body => body.textContent.trim())")
    assert bodies == ["first", EVIL, "last"]
    assert page("document.title") == "lane" and page("document.images.length") == 0
    assert page("document.querySelectorAll('.body a').length") == 0


def test_a_topic_opens_at_its_end_and_says_what_came_while_one_read_above(
    browser: Browser, peers: dict[str, Peer], port: int
) -> None:
    """With a count in the title, until the reader goes there."""
    lead = peers["lead"]
    lead.sync(*[f"number {number}" for number in range(50)])
    page = browser.open(f"http://127.0.0.1:{port}/topics/{lead.topic_id}?token={TOKENS[port]}")
    page.wait_for(IS_LIVE)
    assert page("innerHeight + scrollY >= document.body.scrollHeight - 60")
    page("scrollTo(0, 0)")
    page.wait_for("scrollY === 0")
    lead.sync("a", "b", "c")
    page.wait_for("document.title === '(3) lane'")
    assert page("document.getElementById('new').textContent") == "3 new ↓"
    page("document.getElementById('new').click()")
    page.wait_for("innerHeight + scrollY >= document.body.scrollHeight - 60 && document.title === 'lane'")
    assert page("document.getElementById('new').hidden") is True


@pytest.mark.parametrize("width", [1280, 390])
def test_no_column_is_narrower_than_its_words(browser: Browser, peers: dict[str, Peer], port: int, width: int) -> None:
    """On a phone too, and beside a name of a thousand letters; nothing is wider than the screen."""
    lead = peers["lead"]
    for name in ("m" * 1000, "parser and its tests", "release"):
        lead.bus.topic_create(name=name)
    answers: dict[int, str] = {}
    for seq, (sender, item) in enumerate(TALK, 1):
        reply_to = {"reply_to": answers[seq - 1]} if item.get("message_type") == "answer" else {}
        answers[seq] = peers[sender].sync(outbox=[item | reply_to])["sent"][0]["message"]["message_id"]
    page = browser.open(f"http://127.0.0.1:{port}/?token={TOKENS[port]}", width=width)
    page.wait_for(IS_LIVE)
    heights = "[...document.querySelectorAll('td:not(.name), th')].filter(c => c.offsetParent).map(c => {"
    heights += "const r = document.createRange(); r.selectNodeContents(c); return r.getBoundingClientRect().height; })"
    assert max(page(heights)) < 40  # each of these cells is one line
    assert page("Math.max(...[...document.querySelectorAll('tr')].map(row => row.offsetHeight))") < 100
    assert page("document.documentElement.scrollWidth <= innerWidth")
    page.picture(f"topics-{width}.png")
    topic = browser.open(f"http://127.0.0.1:{port}/topics/{lead.topic_id}", width=width)
    topic.wait_for(IS_LIVE)
    assert topic("document.documentElement.scrollWidth <= innerWidth")
    assert topic("document.querySelectorAll('.body table td').length") == 2
    assert topic("document.querySelector('.reply').textContent") == "↩ 2"
    assert "carol" in topic("document.querySelector('#aside ul').textContent")
    search = browser.open(f"http://127.0.0.1:{port}/search?q=red", width=width)
    search.wait_for("document.querySelectorAll('mark').length > 0")
    assert search("document.documentElement.scrollWidth <= innerWidth")
    search.picture(f"search-{width}.png")
    topic.picture(f"topic-{width}.png")
    topic.dark()
    topic.picture(f"topic-dark-{width}.png")
