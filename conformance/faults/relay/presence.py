"""Faults of relay, presence."""

import inspect
import os

from plant import fault, patch, rewrite

from refbus.relay import names, presence, processes, requests, route, spawn
from refbus.relay.processes import Processes, Target
from refbus.relay.spawn import Spawns

CONTROL = "lease.lock"


@fault("relay.presence.42")
def a_copy_knows_the_earlier_process():
    """A ledger that is put back and knows a process of an agent keeps it, though that one has ended and another
    runs.
    """

    def adopt(self: Spawns, running: list[tuple[str, Target]]) -> None:
        known = {name for name, _ in self._targets()}
        with self._store.transaction() as tx:
            for name, target in running:
                if name not in known:
                    spawn._enter(tx, name, target)

    patch(Spawns, adopt=adopt)


@fault("relay.presence.29", item="corpus:requests")
def a_release_of_nobody_waits():
    """A release of nobody is tried again."""
    rewrite(
        spawn.Spawns.release,
        'raise Failure("unknown_agent", name, is_final=True)',
        'raise Failure("unknown_agent", name)',
    )


@fault("relay.presence.41")
def a_restore_forgets_processes():
    """A ledger that is put back is all that is then known: an agent started since it was copied belongs to nobody."""
    patch(Spawns, adopt=lambda self, running: None)


@fault("relay.presence.19", "relay.presence.12")
def agents_do_not_know_their_name():
    """The environment does not say who the agent is."""
    rewrite(spawn.Spawns._program, '"AGENT_RELAY_NAME": name,', '"AGENT_RELAY_AGENT": name,')


@fault("relay.presence.32")
def agents_outlive_the_end():
    """A clean end leaves the agents running."""
    rewrite(spawn.Spawns.end_all, "        if not agents:\n", "        if agents or not agents:\n")


@fault("relay.presence.23")
def all_variables():
    """ENV may set everything."""
    rewrite(spawn.Spawns._environment, "if key not in self._store.config.env:", "if key in ():")


@fault("relay.presence.35", item="corpus:routes")
def any_action_is_fine():
    """An ACTION that nobody knows is done."""
    rewrite(requests.Requests._continuity, 'what.strip() not in ("save", "load")', 'what.strip() == "never"')


@fault("relay.presence.20")
def anything_is_run():
    """CLI is a command line."""
    rewrite(
        spawn.Spawns._program,
        'argv = config.clis.get(wanted["CLI"])',
        'argv = config.clis.get(wanted["CLI"], ["/bin/true"])',
    )


@fault("relay.presence.25", item="corpus:requests")
def bad_names_are_denied():
    """A bad name in a request is denied."""
    rewrite(spawn._name, 'raise Failure("bad_request", f"NAME', 'raise Failure("denied", f"NAME')


@fault("relay.presence.06", item="corpus:odd_things")
def bad_names_are_not_told():
    """A folder with a bad name is passed over in silence."""
    rewrite(presence.Presence._folders, 'event = "bad_agent_name"', "continue")


@fault("relay.presence.39", chaos={"points": True, "only": "spawn"})
def believes_a_recorded_pid():
    """Recovery takes a program whose process is in the ledger for one that ran. Its gate may never have let it
    through.
    """
    right = spawn.Spawns.recover

    def recover(self, tx, operation, kind, payload):
        """The ticket, which the gate takes away as it lets its program through, is not looked at."""
        recorded = tx.row("SELECT 1 FROM processes WHERE token = ?", (payload.get("token"),))
        if recorded is not None:
            self._ticket(payload["token"]).unlink(missing_ok=True)
        return right(self, tx, operation, kind, payload)

    patch(spawn.Spawns, recover=recover)


@fault("relay.presence.07", item="corpus:agents")
def capitals_do_not_count():
    """Agents whose names differ in case are one."""
    rewrite(
        presence.Presence.refresh,
        "new = [name for name in present if name not in known]",
        "new = [name for name in present if name not in known and (name.islower() or name.lower() not in present)]",
    )


@fault("relay.presence.28")
def children_stay():
    """A release ends one process."""
    rewrite(
        processes.Processes.end,
        "left = members(targets)\n        foreign = _signal(left, signal.SIGTERM)",
        "left = []\n        foreign = _signal([target.pid for target in targets if target.pid], signal.SIGTERM)",
    )


@fault("relay.presence.39", chaos={"points": True, "only": "release"})
def crossed_out_first():
    """A release crosses the agent out in the ledger, and then ends its process."""
    rewrite(
        spawn.Spawns.release,
        "        self.end([name])\n",
        """\
        targets = [target for agent, target in self._targets() if agent == name]
        with self._store.transaction() as tx:
            terminate(tx, name)
        self._processes.end(targets, self._store.config.grace_ms)
""",
    )


@fault("relay.presence.39", chaos={"points": True, "only": "spawn"})
def goes_before_it_is_known():
    """A spawn lets its program go, and records the process afterwards. A kill in between makes it run twice."""
    rewrite(
        spawn.Spawns.spawn,
        "            self._register(program.name, started.target)\n            started.go()\n",
        "            started.go()\n            self._register(program.name, started.target)\n",
    )


@fault("relay.presence.14")
def headers_are_no_fields():
    """NAME and CLI are not looked for among the headers."""
    rewrite(spawn._fields, "return headers | read_fields", "return read_fields")


@fault("relay.presence.11", item="corpus:agents")
def inactive_late():
    """At exactly its time an agent is still active."""
    rewrite(presence.Presence._silent, "<= ?", "< ?")


@fault("relay.presence.36")
def late_comers_stay():
    """An agent's end ends only the processes that were there when it began."""
    rewrite(
        processes.Processes.end,
        "            left = members(targets)\n",
        "            left = [pid for pid in left if process.find(pid) is not None]\n",
    )


@fault("relay.presence.38")
def messages_say_who_one_is():
    """ENV comes last, and overrides what the orchestrator tells an agent of itself."""
    FIRST = "            **self._environment(variables),\n"
    LAST = '            "AGENT_RELAY_DIR": str(self._store.root),\n'
    SOURCE = inspect.getsource(spawn.Spawns._program)
    assert FIRST in SOURCE and LAST in SOURCE
    rewrite(spawn.Spawns._program, FIRST, "", LAST, LAST + FIRST)


@fault("relay.presence.18")
def metadata_without_a_pid():
    """meta.json has no pid."""
    rewrite(spawn.Spawns._register, '"pid": target.pid, ', "")


@fault("relay.presence.01", item="corpus:agents")
def names_of_one_letter():
    """A name has two letters at least."""
    rewrite(
        names.is_agent_name, "_NAME.fullmatch(name) is not None", "_NAME.fullmatch(name) is not None and len(name) > 1"
    )


@fault("relay.presence.04", item="corpus:agents")
def new_agents_are_inactive():
    """A new agent is inactive until it writes."""
    rewrite(presence.Presence.refresh, "VALUES (?, ?, 'active')", "VALUES (?, ?, 'inactive')")


@fault("relay.presence.17", "relay.presence.23")
def no_environment():
    """ENV is ignored."""
    rewrite(spawn.Spawns._program, "self._environment(variables)", "self._environment([])")


@fault("relay.presence.40")
def no_grace():
    """A released agent is killed as soon as it is told: its work stays half done."""
    end = Processes.end

    def at_once(self: Processes, targets: list[Target], _grace_ms: int) -> None:
        end(self, targets, 0)

    patch(Processes, end=at_once)


@fault("relay.presence.05", item="corpus:agents")
def no_inbox():
    """Nobody makes an agent's inbox."""
    rewrite(
        presence.Presence._is_made,
        "            refusals += self.make_folders(name)",
        "            os.chmod(self._store.root / 'agents' / name, 0o700)",
    )
    patch(presence, os=os)


@fault("relay.presence.10", item="corpus:agents")
def nobody_is_inactive():
    """Silent agents stay active."""
    rewrite(presence.Presence._silent, "return [name for (name,) in rows]", "return []")


@fault("relay.presence.27")
def nobody_is_released():
    """A release without a name releases ann."""
    rewrite(spawn._name, 'wanted.get("NAME", "")', 'wanted.get("NAME", "ann")')


@fault("relay.presence.09", item="corpus:agents")
def nobody_is_seen():
    """last_seen_at stays as it is."""
    rewrite(presence.Presence.seen, "SET last_seen_at = ?,", "SET last_seen_at = nullif(?, 0) * NULL,")


@fault("relay.presence.13")
def nobody_needs_a_name():
    """A spawn without CLI starts claude."""
    rewrite(spawn.Spawns._program, 'raise Failure("bad_request", "CLI is missing")', 'wanted["CLI"] = "claude"')


@fault("relay.presence.33", item="corpus:routes")
def nothing_is_kept():
    """continuity save keeps nothing."""
    rewrite(requests._keep, '"INSERT OR REPLACE INTO continuity', '"INSERT OR IGNORE INTO continuity')


@fault("relay.presence.31")
def orphans_are_forgotten():
    """Agents that died unseen stay active."""
    rewrite(spawn.Spawns.bury, "        if dead:\n", "        if dead and not list(self._targets()):\n")


@fault("relay.presence.21")
def prompts_are_run():
    """A shell reads the prompt."""
    rewrite(spawn.Spawns._program, "[*argv, *prompt]", '["/bin/sh", "-c", f\'exec "$0" "{"".join(prompt)}"\', *argv]')


@fault("relay.presence.15")
def prompts_are_words():
    """PROMPT is split into words."""
    rewrite(
        spawn.Spawns._program,
        'prompt = [wanted["PROMPT"]] if wanted.get("PROMPT") else []',
        'prompt = wanted.get("PROMPT", "").split()',
    )


@fault("relay.presence.37")
def recovered_on_paper():
    """A release that a kill interrupted is written down as done when the next orchestrator starts."""
    rewrite(spawn.Spawns.recover, '            self.end([payload["name"]])\n', "")


@fault("relay.presence.08", item="corpus:agents")
def registered_anew():
    """registered_at follows the last message."""
    rewrite(
        presence.Presence.seen,
        "SET last_seen_at = ?",
        "SET registered_at = ?, last_seen_at = ?",
        "(tx.now_ms,",
        "(tx.now_ms, tx.now_ms,",
    )


@fault("relay.presence.26", "relay.presence.28")
def released_on_paper():
    """A release changes the row alone."""
    rewrite(spawn.Spawns.release, "        self.end([name])\n", "        self.end([])\n")


@fault("relay.presence.02", "relay.presence.03", item="corpus:odd_things")
def roots_are_welcome():
    """root may be an agent, if it is shouted."""
    rewrite(names.is_agent_name, "name.lower() not in _RESERVED", "name not in _RESERVED")


@fault("relay.presence.24", item="corpus:requests")
def spawned_twice():
    """An agent that is there is started again."""
    rewrite(spawn.Spawns._refuse_known, '!= "terminated"', '== "never"')


@fault("relay.presence.39", chaos={"points": True, "only": "spawn"})
def starts_another():
    """A spawn that a kill interrupted is begun anew, and the process that was started by then is forgotten."""
    WAS = '        ticket = self._ticket(payload["token"])\n'
    rewrite(
        spawn.Spawns.recover,
        WAS,
        '        terminate(tx, payload["name"])\n        end(tx, operation)\n        return False\n' + WAS,
    )


@fault("relay.presence.34", item="corpus:routes")
def the_first_line_is_state():
    """The saved state begins with its action."""
    rewrite(
        requests.Requests._continuity,
        "return Answer(effects=[lambda tx: _keep(tx, row.agent, state)])",
        "return Answer(effects=[lambda tx: _keep(tx, row.agent, message.body)])",
    )


@fault("relay.presence.30", item="corpus:requests")
def the_terminated_receive():
    """A message for a terminated agent is delivered."""
    rewrite(route.Route._one, 'row is None or row[0] == "terminated"', "row is None")


@fault("relay.presence.22")
def working_dirs_are_text():
    """WORKING_DIR is compared as it is written."""
    rewrite(spawn.Spawns._folder, "real = Path(os.path.realpath(working_dir))", "real = Path(working_dir)")


@fault("relay.presence.16", "relay.presence.22")
def works_at_home():
    """WORKING_DIR is ignored."""
    rewrite(spawn.Spawns._program, 'self._folder(name, wanted.get("WORKING_DIR"))', "self._folder(name, None)")
