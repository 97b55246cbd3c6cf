// A small `worker` bus, correct in its core: log, cursor, route, lease and presence in a folder of numbered changes.
// Who wants to make change N+1 has read all N before it, and gives its file that name by a link, which fails if it exists:
// one of several writers wins, the others read what it changed and try again. No locks, so the dead hold nobody up.
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

const LEASE_MS = 60_000;

export class Refused extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

const sync = (folder) => { const fd = openSync(folder); try { fsyncSync(fd); } finally { closeSync(fd); } };

export class Bus {
  constructor(store) {
    this.store = store;
    this.count = 0; // of the changes that `state` holds
    this.state = { messages: [], cursors: {}, claims: {}, beats: {} };
  }

  name(number) { return `${this.store}/change-${number}.json`; }

  read() {
    for (;; this.count++) {
      let change;
      try { change = JSON.parse(readFileSync(this.name(this.count + 1))); } catch (e) { if (e.code === "ENOENT") return this.state; throw e; }
      this.state = { ...change, messages: this.state.messages.concat(change.messages) };
    }
  }

  change(work) {
    const mine = `${this.store}/new-${randomUUID()}`;
    try {
      for (;;) {
        const { messages, ...rest } = this.read();
        const draft = { ...structuredClone(rest), messages: [...messages] }, result = work(draft);
        writeFileSync(mine, JSON.stringify({ ...draft, messages: draft.messages.slice(messages.length) }), { flush: true });
        sync(this.store); // all the changes that this follows, before it
        try { linkSync(mine, this.name(this.count + 1)); } catch (e) { if (e.code === "EEXIST") continue; throw e; }
        try { sync(this.store); } catch (e) { throw new Error(`stored, but perhaps not on the disk yet: ${e.message}`); }
        return result;
      }
    } finally { try { rmSync(mine, { force: true }); } catch { /* nobody reads it */ } }
  }

  publish(now, sender, message) {
    if (typeof sender !== "string" || typeof message.type !== "string") throw new Refused("INVALID_ARGUMENT", "a message has a sender and a type");
    const { to = null, type, correlation_id = null, in_reply_to = null } = message, id = message.id ?? randomUUID();
    const row = { from_agent: sender, to_agent: to, type, correlation_id, in_reply_to, ..."payload" in message && { payload: message.payload } };
    return this.change(({ messages }) => {
      const known = messages.find((m) => m.id === id);
      if (!known) { messages.push({ seq: messages.length + 1, id, ts_ms: now, ...row }); return { id, seq: messages.length }; }
      const { seq, id: _, ts_ms, ...content } = known;
      if (!isDeepStrictEqual(content, JSON.parse(JSON.stringify(row)))) throw new Refused("ID_CONFLICT", `${id} is another message`);
      return { id, seq };
    });
  }

  poll(agent, limit) {
    const { messages, cursors } = this.read();
    return messages.slice(cursors[agent] ?? 0).filter((m) => m.to_agent === null || m.to_agent === agent).slice(0, limit);
  }

  ack(agent, seq) {
    this.change(({ messages, cursors }) => {
      if (seq > messages.length) throw new Refused("INVALID_ARGUMENT", `the newest seq is ${messages.length}`);
      cursors[agent] = Math.max(cursors[agent] ?? 0, seq);
    });
  }

  claim(now, task, agent) {
    return this.change(({ claims }) => {
      if (Object.hasOwn(claims, task) && claims[task].until > now) return false;
      claims[task] = { agent, until: now + LEASE_MS };
      return true;
    });
  }

  held(task, agent, then) {
    return this.change(({ claims }) => {
      if (!Object.hasOwn(claims, task) || claims[task].agent !== agent) return false;
      then(claims);
      return true;
    });
  }

  renew(now, task, agent) { return this.held(task, agent, (claims) => { claims[task].until = now + LEASE_MS; }); }
  release(task, agent) { return this.held(task, agent, (claims) => { delete claims[task]; }); }

  beat(now, agent, { status, current_task = null, progress = null }) {
    if (!["idle", "working", "blocked"].includes(status)) throw new Refused("INVALID_ARGUMENT", `no such status: ${status}`);
    this.change(({ beats }) => { beats[agent] = { ts_ms: now, status, current_task, progress }; });
  }

  liveness(now) {
    return Object.entries(this.read().beats).map(([agent_id, beat]) => {
      const age_ms = now - beat.ts_ms;
      const state = age_ms >= 300_000 ? "DEAD" : age_ms >= 100_000 ? "STALE" : age_ms >= 30_000 ? "WARN" : "ALIVE";
      return { agent_id, age_ms, state, ...beat };
    });
  }
}
