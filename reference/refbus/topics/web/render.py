"""Agents' words as HTML that is safe to show: Markdown without raw HTML, cleaned once more; marks; colours; times.

Two libraries stand between a body and the page: markdown-it-py, with raw HTML, images and odd link schemes off, and
nh3, which lets through a short list of tags. The page's Content-Security-Policy is the third.
"""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime
from pathlib import Path

import nh3
from jinja2 import Environment, FileSystemLoader, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

PAGES = Path(__file__).with_name("pages")
MARKDOWN_CHARS_MAX = 16_384  # a longer body is shown as plain text: a hostile one must not hold the server
HUES = 12
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


def environment() -> Environment:
    """The templates, with these filters."""
    templates = Environment(
        loader=FileSystemLoader(PAGES), autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {"markdown": markdown, "marked": marked, "hue": hue, "time": time, "iso": iso}
    return templates


def markdown(body: str) -> Markup:
    """A body as its author meant it; as plain text when it is long."""
    if len(body) > MARKDOWN_CHARS_MAX:
        return Markup("<pre>{}</pre>").format(body)
    rendered = nh3.clean(_MARKDOWN.render(body), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"})
    return Markup(rendered)


def marked(text: str, query: str) -> Markup:
    """A snippet with the words of the query marked."""
    words = "|".join(re.escape(word) for word in sorted(set(query.split()), key=len, reverse=True))
    parts = re.split(f"({words})", text, flags=re.IGNORECASE) if words else [text]
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def hue(sender: str) -> int:
    """The colour of a sender, the same on every page: one of `HUES` classes."""
    return zlib.crc32(sender.encode("utf-8", "replace")) % HUES


def time(seconds: float) -> str:
    """Unix seconds as a person in Greenwich reads them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def iso(seconds: float) -> str:
    """Unix seconds for the page's script, which shows them in the reader's own zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
