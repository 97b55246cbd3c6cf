// BullMQ 6.7 (npm) as a `worker` bus: log and cursor, as far as a job queue goes. One redis-server a store, as redis_streams.
// From the library: add (deduplicated by id, as its pages advise for retries), getNextJob (lock), getActive, moveToCompleted.
// A poll locks what waits and shows all that is locked; an ack completes each job up to a seq, which is the job's number.
// The shim adds nothing that the library leaves to its users: it checks no envelope (worker.log.12 and .15), and takes an ack
// of any number (worker.cursor.09). Those rows are this file's.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue, Worker } from "bullmq";

const START_MS = 10_000, LOCK_MS = 86_400_000, TOKEN = "bus";   // any session may complete what another one took
const SERVE = 'redis-server "$@" & server=$!; while [ -d "$0" ] && kill -0 $server; do sleep 0.3; done; kill $server';
let queue, worker;

const answers = (path) => new Promise((yes) => {
  const socket = connect(path, () => socket.write("PING\r\n"));
  socket.on("data", (data) => { socket.destroy(); yes(String(data).startsWith("+PONG")); });
  socket.on("error", () => yes(false));
});

async function open({ store }) {
  await close();
  const path = `${store}/redis.sock`, deadline = performance.now() + START_MS;
  const options = ["--port", "0", "--unixsocket", path, "--dir", store, "--set-proc-title", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  for (let looks = 0; !(await answers(path)); looks++) {
    if (looks % 20 === 0) spawn("flock", ["-n", `${store}/lock`, "sh", "-c", SERVE, store, ...options], { detached: true, stdio: "ignore" }).unref();
    if (performance.now() > deadline) throw new Error("redis-server does not start");
    await sleep(10);
  }
  const connection = { path, maxRetriesPerRequest: null };
  queue = new Queue("bus", { connection });
  worker = new Worker("bus", null, { connection, autorun: false, lockDuration: LOCK_MS });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return {};
}

async function close() {
  await Promise.all([worker?.close(true), queue?.close()]);
  queue = worker = undefined;
  return {};
}

async function publish({ agent_id, message }) {
  const said = { ...message, id: message.id ?? randomUUID(), from_agent: agent_id };
  const job = await queue.add("message", said, { deduplication: { id: said.id } });
  return { id: said.id, seq: Number(job.id) };
}

async function unfinished() {
  while (await worker.getNextJob(TOKEN, { block: false }));
  return (await queue.getActive()).filter(Boolean).sort((a, b) => a.id - b.id);
}

const isFor = (agent) => (job) => (job.data.to ?? agent) === agent;

async function poll({ agent_id, limit = 100 }) {
  const jobs = (await unfinished()).filter(isFor(agent_id)).slice(0, limit);
  return { messages: jobs.map(({ id, timestamp, data: { to, ...said } }) => ({ seq: Number(id), ts_ms: timestamp, to_agent: to ?? null, ...said })) };
}

async function ack({ agent_id, seq }) {
  for (const job of (await unfinished()).filter(isFor(agent_id)))
    if (job.id <= seq) await job.moveToCompleted(null, TOKEN, false);
  return {};
}

const hello = () => ({
  protocol: "1", name: "bullmq", version: "6.7.0", language: "javascript", systems: ["worker"],
  nouns: ["log", "cursor"], features: ["seq"], clock: "wall",
});
const methods = { hello, open, close, publish, poll, ack };

for await (const line of createInterface({ input: process.stdin })) {
  let id = null, answer;
  try {
    const request = JSON.parse(line);
    id = request.id;
    answer = Object.hasOwn(methods, request.method)
      ? { result: await methods[request.method](request.params) }
      : { error: { code: -32601, message: `no method ${request.method}` } };
  } catch (fault) {
    const code = fault instanceof SyntaxError && id === null ? -32700 : -32000;
    answer = { error: { code, message: String(fault), data: { code: fault.name, definite: false } } };
  }
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
await close();
