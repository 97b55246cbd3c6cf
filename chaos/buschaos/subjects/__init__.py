"""The systems that can be broken."""

from __future__ import annotations

from buschaos.subjects.base import Subject
from buschaos.subjects.comms.subject import SUBJECT as COMMS
from buschaos.subjects.mailbox import SUBJECT as MAILBOX
from buschaos.subjects.relay.subject import SUBJECT as RELAY
from buschaos.subjects.timeline.subject import SUBJECT as TIMELINE
from buschaos.subjects.topics.subject import SUBJECT as TOPICS
from buschaos.subjects.worker.subject import SUBJECT as WORKER

SUBJECTS: dict[str, Subject] = {
    "worker": WORKER,
    "comms": COMMS,
    "relay": RELAY,
    "timeline": TIMELINE,
    "topics": TOPICS,
    "mailbox": MAILBOX,
}
