"""The message file's rules, for all bytes, stats and times: they are pure, so nothing needs a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel import msgfile
from refbus.kernel.msgfile import FormatError, Malformed, Message, Stat, Wait, judge, parse

MS = 1_000_000
NOW = 1_768_053_600_000 * MS

values = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda text: text == text.strip(" \t") and text
)
bodies = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
hashes = st.integers(0, 2**256 - 1).map(lambda number: f"sha256:{number:064x}")
names = st.from_regex(r"\AX[A-Z0-9_-]{0,8}\Z")
others = st.dictionaries(names, values, max_size=4).map(lambda pairs: tuple(pairs.items()))
messages = st.builds(
    Message,
    to=values,
    body=bodies,
    kind=st.sampled_from(msgfile.KINDS),
    thread=st.none() | values,
    priority=st.none() | st.integers(0, 9),
    checksum=st.none(),
    attachment=st.none() | hashes,
    others=others,
)
# Bytes that come near to a message, and bytes that do not.
lines = st.sampled_from(
    [
        "TO: bob",
        "TO:bob",
        "KIND: spawn",
        "KIND: x",
        "PRIORITY: 3",
        "PRIORITY: 10",
        "FROM: eve",
        "ID: 1",
        "",
        " ",
        "X: \t",
        "CHECKSUM: sha256:" + "0" * 64,
        "CHECKSUM: abc",
        "to: bob",
        ": x",
        "TO: a\tb",
        "TO: \u0085",
        "\ufeffTO: b",
        "# c",
    ]
)
nearly = st.lists(lines, max_size=6).map(lambda parts: "\n".join(parts).encode()) | st.binary(max_size=60)
stats = st.builds(Stat, st.integers(0, 200), st.integers(NOW - 10_000 * MS, NOW + 10_000 * MS), st.integers(1, 3))


@given(messages, st.booleans())
def test_what_is_formatted_is_parsed_as_it_was(message: Message, is_summed: bool) -> None:
    """With any content, with the hash of its body and without."""
    if is_summed:
        message = message._replace(checksum=msgfile.checksum_of(message.body))
    assert parse(msgfile.format(message)) == message


@given(messages, values, values)
def test_a_copy_holds_the_file_to_the_letter(message: Message, sender: str, id_: str) -> None:
    """Below its sender and its id."""
    sent = msgfile.format(message)
    copy = msgfile.format_copy(sender, id_, sent)
    assert copy.endswith(sent)
    assert msgfile.parse_copy(copy) == (sender, id_, message)


@given(nearly)
def test_any_bytes_are_a_message_or_a_format_error(data: bytes) -> None:
    """And a message is one again when it is formatted."""
    try:
        message = parse(data)
    except FormatError as error:
        fault = error.reason
    else:
        fault = "" if parse(msgfile.format(message)) == message else "another one"
    assert fault in ("", "empty", "malformed", "checksum_mismatch")


@given(messages, st.integers(0, 400))
def test_what_is_cut_off_is_never_another_message_with_other_headers(message: Message, at: int) -> None:
    """A part of a file is no message, or one that lacks only the end of its body; with a checksum, never one."""
    data = msgfile.format(message)
    part = data[: min(at, len(data) - 1)]
    try:
        cut = parse(part)
    except FormatError:
        pass
    else:
        assert message.body.startswith(cut.body) and cut._replace(body=message.body) == message
    summed = msgfile.format(message._replace(checksum=msgfile.checksum_of(message.body)))
    with pytest.raises(FormatError):
        parse(summed[: min(at, len(summed) - 1)])


@given(nearly, stats, stats, st.integers(0, 10_000))
def test_a_file_is_believed_only_when_it_has_settled_and_stood_still(
    data: bytes, before: Stat, after: Stat, unchanged_ms: int
) -> None:
    """Changed or young: wait. Old and bad: malformed. Too large: whatever it says."""
    judged = judge(data, before, after, NOW, unchanged_ms * MS, bytes_max=100)
    age = msgfile.age_ns(before, NOW, unchanged_ms * MS)
    if before != after or age < 100 * MS:
        assert isinstance(judged, Wait)
    elif before.size > 100:
        assert isinstance(judged, Malformed) and judged.reason == "too_large"
    elif len(data) != before.size:
        assert isinstance(judged, Wait)
    elif isinstance(judged, Message):
        assert judged == parse(data)
    else:
        assert isinstance(judged, Wait if age < 5_000 * MS else Malformed)


@given(stats, st.integers(0, 10**6))
def test_a_file_from_the_future_is_as_old_as_it_was_seen_unchanged(stat: Stat, unchanged_ms: int) -> None:
    """R9: a clock that went back makes nothing wait for it to catch up."""
    age = msgfile.age_ns(stat, NOW, unchanged_ms * MS)
    assert age == (NOW - stat.mtime_ns if stat.mtime_ns <= NOW else unchanged_ms * MS)
