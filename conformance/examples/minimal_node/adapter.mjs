// A complete adapter for the core of `worker`: busproof check worker --bus 'exec:node adapter.mjs'
import { createInterface } from "node:readline";
import { Bus } from "./bus.mjs";
const full = ["ENOSPC", "EDQUOT"], now = () => clock ?? Date.now(); let bus, clock;
const methods = {
  hello: () => ({ protocol: "1", name: "minimal-node", version: "1", language: "javascript", systems: ["worker"], features: ["seq"], clock: "manual", nouns: ["log", "cursor", "route", "lease", "presence"] }),
  open: (p) => { bus = new Bus(p.store); }, close: () => { clock = undefined; }, "clock.set": (p) => { clock = p.now_ms; },
  publish: (p) => bus.publish(now(), p.agent_id, p.message), ack: (p) => bus.ack(p.agent_id, p.seq),
  poll: (p) => ({ messages: bus.poll(p.agent_id, p.limit ?? 100) }),
  try_claim_task: (p) => ({ claimed: bus.claim(now(), p.task_id, p.agent_id) }),
  renew_claim: (p) => ({ renewed: bus.renew(now(), p.task_id, p.agent_id) }), release_claim: (p) => ({ released: bus.release(p.task_id, p.agent_id) }),
  heartbeat: (p) => bus.beat(now(), p.agent_id, p), liveness: () => ({ agents: bus.liveness(now()) }),
};
for await (const line of createInterface({ input: process.stdin })) {
  let id = null, method, params, answer;
  try { ({ id, method, params } = JSON.parse(line)); } catch { answer = { error: { code: -32700, message: "no JSON" } }; }
  if (answer); else if (!methods[method]) answer = { error: { code: -32601, message: `no method ${method}` } };
  else try { answer = { result: methods[method](params) ?? {} }; } catch (e) { answer = { error: { code: -32000, message: e.message, data: { code: full.includes(e.code) ? "DISK_FULL" : e.code ?? "INTERNAL", definite: e.code !== undefined } } }; }
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
