// A mailbox with its adapter: busproof check mailbox --bus 'exec:node adapter.mjs'
// All state is a folder of numbered changes. Who wants to make change N+1 has read all N before it, and gives its file
// that name by a link, which fails if it exists: one of several writers wins, the others read on and try again.
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const full = ["ENOSPC", "EDQUOT"];
const sync = (folder) => { const fd = openSync(folder); try { fsyncSync(fd); } finally { closeSync(fd); } };
const name = (number) => `${store}/change-${number}.json`;
let store, count, inboxes; // count: of the changes that the inboxes hold

function read() {
  for (;; count++) {
    let change;
    try { change = JSON.parse(readFileSync(name(count + 1))); } catch (e) { if (e.code === "ENOENT") return inboxes; throw e; }
    const { agent, sent = [], acked = [] } = change;
    inboxes.set(agent, [...inboxes.get(agent) ?? [], ...sent].filter((m) => !acked.includes(m.id)));
  }
}

function write(change) {
  const mine = `${store}/new-${randomUUID()}`;
  try {
    writeFileSync(mine, JSON.stringify(change), { flush: true });
    for (;;) {
      read();
      sync(store); // all the changes that this follows, before it
      try { linkSync(mine, name(count + 1)); break; } catch (e) { if (e.code !== "EEXIST") throw e; }
    }
    try { sync(store); } catch (e) { throw new Error(`stored, but perhaps not on the disk yet: ${e.message}`); }
  } finally { try { rmSync(mine, { force: true }); } catch { /* nobody reads it */ } }
}

const methods = {
  hello: () => ({ protocol: "1", name: "minimal-node-mailbox", version: "1", language: "javascript", systems: ["mailbox"], nouns: ["log", "cursor"], features: ["ack"] }),
  open: (p) => { store = p.store; count = 0; inboxes = new Map(); },
  close: () => {},
  send: (p) => {
    const message = { id: randomUUID(), from_agent: p.agent_id, to_agent: p.to, body: p.body };
    write({ agent: p.to, sent: [message] });
    return { id: message.id };
  },
  receive: (p) => ({ messages: (read().get(p.agent_id) ?? []).slice(0, p.limit ?? 100) }),
  ack: (p) => write({ agent: p.agent_id, acked: p.ids }),
};
for await (const line of createInterface({ input: process.stdin })) {
  let id = null, method, params, answer;
  try { ({ id, method, params } = JSON.parse(line)); } catch { answer = { error: { code: -32700, message: "no JSON" } }; }
  if (answer); else if (!methods[method]) answer = { error: { code: -32601, message: `no method ${method}` } };
  else try { answer = { result: methods[method](params) ?? {} }; } catch (e) { answer = { error: { code: -32000, message: e.message, data: { code: full.includes(e.code) ? "DISK_FULL" : e.code ?? "INTERNAL", definite: e.code !== undefined } } }; }
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
