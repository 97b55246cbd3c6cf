"""Faults of timeline, route."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from plant import fault, patch, wrap

from refbus.timeline import filters, keys, token
from refbus.timeline.bus import TimelineBus

CONTROL = "retry.time_out"


def ends_turned_round(word: str) -> None:
    """The last two tokens of a kind of subject stand in each other's place."""

    def turned(text: Any) -> Any:
        if not isinstance(text, str) or f".{word}." not in text:
            return text
        *start, last, other = text.split(".")
        return ".".join((*start, other, last))

    wrap(keys, subject=lambda whole, key: turned(whole(key)), parse=lambda whole, text: whole(turned(text)))


def replies_otherwise(kind: type, change: Callable[[Any, Any], Any]) -> None:
    """Reply keys of this kind are changed, by the key that they answer."""

    def changed(whole: Any, key: Any, nonce: str | None = None) -> Any:
        reply = whole(key, nonce)
        return change(reply, key) if isinstance(reply, kind) else reply

    wrap(keys, reply_key=changed)


@fault("timeline.route.10", item="corpus:keys_fork")
def a_fork_is_a_branch():
    """The word of a Fork in a subject is branch."""
    keys.TOKENS[keys.Fork] = "branch"
    keys._KIND_OF_TOKEN["branch"] = keys.Fork


@fault("timeline.route.29", item="corpus:program_01")
def anything_takes_a_nonce():
    """A nonce of an invoke or a request is ignored."""
    check_nonce = keys.check_nonce
    patch(keys, check_nonce=lambda key, nonce: check_nonce(key, nonce) if isinstance(key, keys.Delegate) else None)


@fault("timeline.route.05", item="corpus:keys_complete")
def completes_end_in_the_agent():
    """A Complete's subject ends in harness and agent."""
    ends_turned_round("complete")


@fault("timeline.route.11", item="corpus:program_03")
def completes_go_to_the_runtime():
    """The Complete of an Invoke is addressed to its runtime."""
    replies_otherwise(keys.Complete, lambda reply, key: replace(reply, harness=key.runtime))


@fault("timeline.route.09", item="corpus:keys_delegate_reply")
def delegate_replies_end_in_the_target():
    """A DelegateReply's subject ends in nonce and target."""
    ends_turned_round("delegate-reply")


@fault("timeline.route.13", item="corpus:program_03")
def delegates_answer_themselves():
    """The DelegateReply goes from the target to itself."""
    replies_otherwise(keys.DelegateReply, lambda reply, key: replace(reply, caller=reply.target))


@fault("timeline.route.08", item="corpus:keys_delegate")
def delegates_end_in_the_caller():
    """A Delegate's subject ends in target and caller."""
    ends_turned_round("delegate")


@fault("timeline.route.28", item="corpus:program_08")
def delegations_need_no_nonce():
    """A delegation without a nonce is taken."""
    check_nonce = keys.check_nonce
    patch(keys, check_nonce=lambda key, nonce: None if nonce is None else check_nonce(key, nonce))


@fault("timeline.route.16", item="corpus:program_20")
def dots_stand_as_they_are():
    """A dot in a name adds a token to the subject."""
    encode = token.encode
    patch(token, encode=lambda text: encode(text).replace("%2E", "."))


@fault("timeline.route.20", item="corpus:program_01")
def empty_names_pass():
    """A dimension may be empty."""
    name = token.name
    patch(token, name=lambda what, value: "" if value == "" else name(what, value))


@fault("timeline.route.21", item="corpus:names")
def escapes_in_lower_case():
    """Escapes are written with lower-case digits."""
    encode = token.encode

    def in_lower_case(text: str) -> str:
        return re.sub("%..", lambda match: match[0].lower(), encode(text))

    patch(token, encode=in_lower_case, _TOKEN=re.compile(token._TOKEN.pattern.replace("0-9A-F", "0-9a-f"), re.ASCII))


@fault("timeline.route.23", "timeline.route.24", item="corpus:keys_request")
def filters_end_at_the_service():
    """A worker of a backend gets the requests to all backends of its service."""
    from_dict = filters.from_dict

    def without_backend(value: Any, group: object = None) -> filters.Filter:
        wanted = from_dict(value, group)
        if value["type"] != "request":
            return wanted
        return replace(wanted, tokens=(*wanted.tokens[:4], None, *wanted.tokens[5:]))

    patch(filters, from_dict=without_backend)


@fault("timeline.route.25", item="corpus:near_misses")
def filters_know_no_case():
    """A filter matches names in any letter case."""

    def folded(wanted: filters.Filter, key: keys.Key) -> bool:
        values = (keys.value_token(getattr(key, name)) for name in keys.DIMENSIONS[type(key)])
        return type(key) is wanted.kind and all(
            a is None or a.casefold() == b.casefold() for a, b in zip(wanted.tokens, values, strict=True)
        )

    patch(filters.Filter, matches=folded)


@fault("timeline.route.19", item="corpus:consumers_have_one_name")
def groups_share_a_consumer():
    """A consumer's name leaves the group out."""

    def without_group(wanted: filters.Filter) -> str:
        return wanted.subject.replace(".", "+").replace("*", "=").replace(">", "==")[:200]

    patch(filters.Filter, consumer=property(without_group))


@fault("timeline.route.04", item="corpus:keys_invoke")
def invokes_end_in_the_runtime():
    """An Invoke's subject ends in agent and runtime."""
    ends_turned_round("invoke")


@fault("timeline.route.26", item="corpus:program_05")
def names_are_counted_in_characters():
    """A name of 200 characters passes, whatever its bytes."""
    name = token.name

    def in_characters(what: str, value: object) -> str:
        if isinstance(value, str) and 0 < len(value) <= token.NAME_BYTES_MAX and value.isprintable():
            return value
        return name(what, value)

    patch(token, name=in_characters)
    del TimelineBus.LIMITS["name_bytes_max"]


@fault("timeline.route.02", item="corpus:program_05")
def names_are_stripped():
    """A name is taken without the blanks around it, so two keys are one."""
    encode = token.encode
    patch(token, encode=lambda text: encode(text.strip() or text))


@fault("timeline.route.18", item="corpus:program_02")
def needless_escapes_are_read():
    """A subject may escape what needs no escape: one key has several subjects."""
    patch(token, decode=lambda written: unquote(written, errors="strict"))


@fault("timeline.route.15", item="corpus:keys_delegate")
def nonces_are_left_out():
    """All delegations to one target within a submission have the same reply key."""
    replies_otherwise(keys.DelegateReply, lambda reply, key: replace(reply, nonce="0"))


@fault("timeline.route.14", item="corpus:keys_complete")
def replies_have_replies():
    """A reply is answered under its own key."""
    reply_key = keys.reply_key

    def of_anything(key: keys.Key, nonce: str | None = None) -> keys.Key:
        if isinstance(key, keys.Complete | keys.Response | keys.Fork):
            return key
        return reply_key(key, nonce)

    patch(keys, reply_key=of_anything)


@fault("timeline.route.06", item="corpus:keys_request")
def requests_end_in_the_operation():
    """A Request's subject ends in sequence and operation."""
    ends_turned_round("req")


@fault("timeline.route.07", item="corpus:keys_response")
def responses_end_in_the_operation():
    """A Response's subject ends in sequence and operation."""
    ends_turned_round("res")


@fault("timeline.route.12", item="corpus:keys_request")
def responses_forget_the_sequence():
    """Responses to all requests of one operation have the same key."""
    replies_otherwise(keys.Response, lambda reply, key: replace(reply, sequence=0))


@fault("timeline.route.01", item="corpus:program_05")
def strange_dimensions_pass():
    """A key may have dimensions that its type does not have."""
    kind_of = keys.kind_of

    def without_strangers(value: object) -> Any:
        kind, dimensions = kind_of(value)
        return kind, {name: dimensions[name] for name in keys.DIMENSIONS[kind] if name in dimensions}

    patch(keys, kind_of=without_strangers)


@fault("timeline.route.17", item="corpus:names")
def subjects_are_read_in_lower_case():
    """A subject is read in lower case."""
    parse = keys.parse
    patch(keys, parse=lambda text: parse(text.lower() if isinstance(text, str) and "%" not in text else text))


@fault("timeline.route.03", item="corpus:keys_complete")
def submission_comes_first():
    """In a subject the submission stands before the timeline."""
    subject = keys.subject

    def turned(key: keys.Key) -> str:
        root, timeline, submission, *rest = subject(key).split(".")
        return ".".join((root, submission, timeline, *rest))

    patch(keys, subject=turned)


@fault("timeline.route.22", item="corpus:keys_request")
def the_backend_is_the_service():
    """A request's subject has the service where the backend belongs."""
    from_dict = keys.from_dict

    def of_the_service(value: object) -> keys.Key:
        key = from_dict(value)
        return replace(key, backend=key.service) if isinstance(key, keys.Request) else key

    patch(keys, from_dict=of_the_service)


@fault("timeline.route.27", item="corpus:bad_keys")
def true_is_a_sequence():
    """A sequence may be true."""
    sequence = token.sequence
    patch(token, sequence=lambda what, value: sequence(what, int(value) if isinstance(value, bool) else value))
