// A `worker` bus on Redis Streams, without packages: one redis-server a store, on a socket in its folder. Whoever finds
// none starts it, and it lives as long as the folder. An operation is one script in it; the time is the agent's own:
// busproof check worker --clock faketime --bus 'exec:node adapter.mjs'
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const LEASE_MS = 60_000, START_MS = 10_000;
const STATUSES = ["idle", "working", "blocked"];
class Refused extends Error { constructor(code, message) { super(message); this.code = code; } }

// -- the wire of Redis: arrays of strings out; strings, numbers, arrays and null back
class Redis {
  constructor(socket) {
    this.socket = socket; this.left = Buffer.alloc(0); this.waiting = [];
    socket.on("data", (data) => { this.left = Buffer.concat([this.left, data]); this.#read(); });
    socket.on("close", () => { for (const [, no] of this.waiting.splice(0)) no(new Error("the server has gone")); });
    socket.on("error", () => {});
  }
  call(...words) {
    const parts = words.map((word) => Buffer.from(String(word)));
    const lines = parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")]);
    return new Promise((yes, no) => {
      this.waiting.push([yes, no]);
      this.socket.write(Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...lines]));
    });
  }
  #read() {
    for (let found; this.waiting.length && (found = parsed(this.left, 0));) {
      this.left = this.left.subarray(found[1]);
      const [yes, no] = this.waiting.shift();
      found[0] instanceof Error ? no(found[0]) : yes(found[0]);
    }
  }
}

function parsed(bytes, at) {       // [value, where it ends], or null while it is not all there
  const end = bytes.indexOf("\r\n", at);
  if (end < 0) return null;
  const kind = String.fromCharCode(bytes[at]), said = bytes.toString("utf8", at + 1, end);
  if (kind === "+") return [said, end + 2];
  if (kind === "-") return [new Error(said), end + 2];
  if (kind === ":") return [Number(said), end + 2];
  const size = Number(said);
  if (size < 0) return [null, end + 2];
  if (kind === "$") return bytes.length < end + size + 4 ? null : [bytes.toString("utf8", end + 2, end + 2 + size), end + size + 4];
  const values = [];
  let next = end + 2;
  for (let i = 0; i < size; i++) {
    const one = parsed(bytes, next);
    if (!one) return null;
    values.push(one[0]);
    next = one[1];
  }
  return [values, next];
}

// -- the store
const SCRIPTS = {
  publish: `local known = redis.call('HGET', 'ids', ARGV[1])
    if known then return {tonumber(known), redis.call('HGET', 'said', ARGV[1])} end
    local seq = redis.call('INCR', 'seq')
    redis.call('XADD', 'bus', seq .. '-0', 'id', ARGV[1], 'row', ARGV[2], 'ts_ms', ARGV[3])
    redis.call('HSET', 'ids', ARGV[1], seq)
    redis.call('HSET', 'said', ARGV[1], ARGV[2])
    return {seq, ARGV[2]}`,
  ack: `if tonumber(ARGV[2]) > tonumber(redis.call('GET', 'seq') or '0') then return 0 end
    if tonumber(ARGV[2]) > tonumber(redis.call('HGET', 'cursors', ARGV[1]) or '0') then redis.call('HSET', 'cursors', ARGV[1], ARGV[2]) end
    return 1`,
  claim: `local upto = redis.call('HGET', 'until', ARGV[1])
    if upto and tonumber(upto) > tonumber(ARGV[3]) then return 0 end
    redis.call('HSET', 'holder', ARGV[1], ARGV[2])
    redis.call('HSET', 'until', ARGV[1], ARGV[3] + ARGV[4])
    return 1`,
  renew: `if redis.call('HGET', 'holder', ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('HSET', 'until', ARGV[1], ARGV[3] + ARGV[4])
    return 1`,
  release: `if redis.call('HGET', 'holder', ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('HDEL', 'holder', ARGV[1])
    redis.call('HDEL', 'until', ARGV[1])
    return 1`,
};
let redis;
const run = (name, ...words) => redis.call("EVAL", SCRIPTS[name], 0, ...words);

async function ready(path) {        // a client of a server that has read its file, or null
  const socket = connect(path), found = new Redis(socket);
  const isThere = await new Promise((yes) => { socket.once("connect", () => yes(true)); socket.once("error", () => yes(false)); });
  if (isThere && (await found.call("PING").catch(() => "")) === "PONG") return found;
  socket.destroy();
  return null;
}

// The lock goes with the server: of two that are started at once, one starts. It ends when its folder is gone.
const SERVE = 'redis-server "$@" & server=$!; while [ -d "$0" ] && kill -0 $server; do sleep 0.3; done; kill $server';

async function opened(store) {
  const path = `${store}/redis.sock`, deadline = performance.now() + START_MS;
  const { LD_PRELOAD, ...env } = process.env;     // its clock is nobody's
  const options = ["--port", "0", "--unixsocket", path, "--dir", store, "--set-proc-title", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  for (let looks = 0; !(redis = await ready(path)); looks++) {
    if (looks % 20 === 0) spawn("flock", ["-n", `${store}/lock`, "sh", "-c", SERVE, store, ...options], { detached: true, stdio: "ignore", env }).unref();
    if (performance.now() > deadline) throw new Error("redis-server does not start");
    await sleep(10);
  }
}

// -- the bus
const sorted = (value) => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)])) : value;
const pairs = (list) => Object.fromEntries(list.flatMap((word, i) => (i % 2 ? [] : [[word, list[i + 1]]])));
const stateOf = (age) => (age < 30_000 ? "ALIVE" : age < 100_000 ? "WARN" : age < 300_000 ? "STALE" : "DEAD");

const methods = {
  hello: () => ({
    protocol: "1", name: "redis-streams", version: "1", language: "javascript", systems: ["worker"],
    nouns: ["log", "cursor", "route", "lease", "presence"], features: ["seq"], clock: "wall",
  }),
  open: async ({ store }) => { await opened(store); return {}; },
  close: () => { redis.socket.destroy(); return {}; },
  publish: async ({ agent_id, message }) => {
    if (typeof agent_id !== "string" || !agent_id || typeof message.type !== "string" || !message.type) throw new Refused("INVALID_ARGUMENT", "a message has a sender and a type");
    const row = { from_agent: agent_id, to_agent: message.to ?? null };
    for (const name of ["type", "correlation_id", "in_reply_to", "payload"]) if (name in message) row[name] = message[name];
    const id = message.id ?? randomUUID(), text = JSON.stringify(sorted(row));
    const [seq, said] = await run("publish", id, text, Date.now());
    if (said !== text) throw new Refused("ID_CONFLICT", `${id} is another message`);
    return { id, seq };
  },
  poll: async ({ agent_id, limit = 100 }) => {
    const after = Number((await redis.call("HGET", "cursors", agent_id)) ?? 0), messages = [];
    for (const [at, fields] of await redis.call("XRANGE", "bus", `(${after}-0`, "+")) {
      if (messages.length >= limit) break;
      const { id, row, ts_ms } = pairs(fields), message = JSON.parse(row);
      if (message.to_agent !== null && message.to_agent !== agent_id) continue;
      messages.push({ seq: parseInt(at), id, ts_ms: Number(ts_ms), ...message });
    }
    return { messages };
  },
  ack: async ({ agent_id, seq }) => {
    if (!(await run("ack", agent_id, seq))) throw new Refused("INVALID_ARGUMENT", "above the newest seq");
    return {};
  },
  try_claim_task: async ({ task_id, agent_id }) => ({ claimed: !!(await run("claim", task_id, agent_id, Date.now(), LEASE_MS)) }),
  renew_claim: async ({ task_id, agent_id }) => ({ renewed: !!(await run("renew", task_id, agent_id, Date.now(), LEASE_MS)) }),
  release_claim: async ({ task_id, agent_id }) => ({ released: !!(await run("release", task_id, agent_id)) }),
  heartbeat: async ({ agent_id, ...row }) => {
    if (!STATUSES.includes(row.status)) throw new Refused("INVALID_ARGUMENT", "no such status");
    await redis.call("HSET", "beats", agent_id, JSON.stringify({ agent_id, ...row, ts_ms: Date.now() }));
    return {};
  },
  liveness: async () => {
    const now = Date.now(), beats = (await redis.call("HVALS", "beats")).map((text) => JSON.parse(text));
    return { agents: beats.map((beat) => ({ ...beat, age_ms: now - beat.ts_ms, state: stateOf(now - beat.ts_ms) })) };
  },
};

const fault = (code, message, name, definite = true) => ({ error: { code, message, data: { code: name, definite } } });
for await (const line of createInterface({ input: process.stdin })) {
  let id = null, answer;
  try {
    const request = JSON.parse(line);
    id = request?.id ?? null;
    if (!request?.method || !request.params) answer = fault(-32600, "no request", "INVALID_ARGUMENT");
    else if (!Object.hasOwn(methods, request.method)) answer = fault(-32601, `no method ${request.method}`, "METHOD_NOT_FOUND");
    else answer = { result: await methods[request.method](request.params) };
  } catch (error) {
    if (error instanceof Refused) answer = fault(-32000, error.message, error.code);
    else if (error instanceof SyntaxError) answer = fault(-32700, error.message, "INVALID_ARGUMENT");
    else answer = fault(-32000, String(error), "INTERNAL", false);
  }
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\n");
}
process.exit(0);
