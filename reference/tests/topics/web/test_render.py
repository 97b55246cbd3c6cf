"""Agents' words, as HTML: whatever they are, no tag but the few, no address but the web's, and the words are kept."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from refbus.topics.web.render import _TAGS, HUES, MARKDOWN_CHARS_MAX, hue, markdown, marked

TRICKS = ["<script>", "</p>", "<img src=x onerror=a>", "[a](javascript:b)", "![i](http://i)", "data:text/html,x"]
MARKS = [
    "[a](http://b.c)",
    "<http://a>",
    "**",
    "`",
    "```\n",
    "# ",
    "> ",
    "- ",
    "|a|b|\n|-|-|\n",
    "\n",
    '"',
    "\0",
    "&#60;",
]
PIECES = st.sampled_from([*TRICKS, *MARKS])
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)


class Tags(HTMLParser):
    """The tags and text of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(TEXTS)
def test_a_body_makes_no_tag_but_the_few_and_no_address_but_the_webs(body: str) -> None:
    for tag, attributes in Tags(str(markdown(body))).seen:
        assert tag in _TAGS
        for name, value in attributes:
            assert (tag, name) in {("a", "href"), ("a", "rel")}
            assert name == "rel" or (value or "").lower().startswith(("http:", "https:")) or ":" not in (value or "")


@given(st.text(alphabet="ab <>&\"'*", max_size=40), st.text(alphabet="ab <*", max_size=6))
def test_a_snippet_keeps_its_words_and_marks_those_of_the_query(text: str, query: str) -> None:
    tags = Tags(str(marked(text, query)))
    assert tags.text == text
    assert {tag for tag, _ in tags.seen} <= {"mark"}
    assert bool(tags.seen) == any(word.lower() in text.lower() for word in query.split())


def test_a_long_body_is_shown_as_it_stands() -> None:
    html = str(markdown("[" * (MARKDOWN_CHARS_MAX + 1)))
    assert html == f"<pre>{'[' * (MARKDOWN_CHARS_MAX + 1)}</pre>"


@given(st.text())
def test_every_sender_has_a_colour(sender: str) -> None:
    assert 0 <= hue(sender) < HUES
