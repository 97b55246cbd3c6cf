// A small `worker` bus, correct in its core: log, cursor, route, lease and presence in one JSON file.
// A process takes the folder `lock`, reads the file, changes it, and renames a new one over it: all or nothing.
// A lock whose holder is dead is taken away, by a rename that only one of several takers can win.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

const LEASE_MS = 60_000;
const EMPTY = { messages: [], cursors: {}, claims: {}, beats: {} };

export class Refused extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const alive = (pid) => { try { process.kill(pid, 0); return true; } catch (e) { return e.code === "EPERM"; } };

export class Bus {
  constructor(store) { this.file = `${store}/bus.json`; this.lock = `${store}/lock`; }

  read() {
    try { return JSON.parse(readFileSync(this.file)); } catch (e) { if (e.code === "ENOENT") return structuredClone(EMPTY); throw e; }
  }

  change(work) {
    // The holder's number is in the folder before the folder has the lock's name.
    const mine = `${this.lock}-${process.pid}`;
    mkdirSync(mine, { recursive: true });
    writeFileSync(`${mine}/pid`, String(process.pid));
    for (;;) {
      try { renameSync(mine, this.lock); break; } catch (e) { if (!["ENOTEMPTY", "EEXIST"].includes(e.code)) throw e; }
      try {
        const holder = Number(readFileSync(`${this.lock}/pid`));
        if (holder && !alive(holder)) renameSync(this.lock, `${this.lock}-dead-${holder}`);
      } catch (e) { if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(e.code)) throw e; }
      pause(1);
    }
    try {
      const state = this.read(), result = work(state);
      writeFileSync(`${this.file}.new`, JSON.stringify(state), { flush: true });
      renameSync(`${this.file}.new`, this.file);
      return result;
    } finally {
      renameSync(this.lock, mine);
      rmSync(mine, { recursive: true });
    }
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
