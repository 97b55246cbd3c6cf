// A mailbox with its adapter: busproof check mailbox --bus 'exec:node adapter.mjs'
// All state is one JSON file. A process takes the lock, reads the file, changes it, and renames a new one over it. A lock
// whose holder is dead is taken away, by a rename that only one of several takers can win.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const alive = (pid) => { try { process.kill(pid, 0); return true; } catch (e) { return e.code === "EPERM"; } };
let file, lock;

function read() {
  try { return JSON.parse(readFileSync(file)); } catch (e) { if (e.code === "ENOENT") return {}; throw e; }
}

function change(work) {
  const mine = `${lock}-${process.pid}`;
  mkdirSync(mine, { recursive: true });
  writeFileSync(`${mine}/pid`, String(process.pid)); // the holder's number is there before the folder has the lock's name
  for (;;) {
    try { renameSync(mine, lock); break; } catch (e) { if (!["ENOTEMPTY", "EEXIST"].includes(e.code)) throw e; }
    try {
      const holder = Number(readFileSync(`${lock}/pid`));
      if (holder && !alive(holder)) renameSync(lock, `${lock}-dead-${holder}`);
    } catch (e) { if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(e.code)) throw e; }
    pause(1);
  }
  try {
    const inboxes = read(), result = work(inboxes);
    writeFileSync(`${file}.new`, JSON.stringify(inboxes), { flush: true });
    renameSync(`${file}.new`, file);
    return result;
  } finally { renameSync(lock, mine); rmSync(mine, { recursive: true }); }
}

const methods = {
  hello: () => ({ protocol: "1", name: "minimal-node-mailbox", version: "1", language: "javascript", systems: ["mailbox"], nouns: ["log", "cursor"], features: ["ack"] }),
  open: (p) => { file = `${p.store}/mailbox.json`; lock = `${p.store}/lock`; },
  close: () => {},
  send: (p) => change((inboxes) => {
    const message = { id: randomUUID(), from_agent: p.agent_id, to_agent: p.to, body: p.body };
    (inboxes[p.to] ??= []).push(message);
    return { id: message.id };
  }),
  receive: (p) => ({ messages: (read()[p.agent_id] ?? []).slice(0, p.limit ?? 100) }),
  ack: (p) => change((inboxes) => { inboxes[p.agent_id] = (inboxes[p.agent_id] ?? []).filter((m) => !p.ids.includes(m.id)); }),
};
for await (const line of createInterface({ input: process.stdin })) {
  let id = null, method, params, answer;
  try { ({ id, method, params } = JSON.parse(line)); } catch { answer = { error: { code: -32700, message: "no JSON" } }; }
  if (answer); else if (!methods[method]) answer = { error: { code: -32601, message: `no method ${method}` } };
  else try { answer = { result: methods[method](params) ?? {} }; } catch (e) { answer = { error: { code: -32000, message: e.message, data: { code: e.code ?? "INTERNAL", definite: false } } }; }
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
