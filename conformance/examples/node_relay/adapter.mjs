// An orchestrator of `relay` in Node: busproof check relay --bus 'exec:node conformance/examples/node_relay/adapter.mjs'
import { createInterface } from "node:readline";
import { performance } from "node:perf_hooks";
import { Bus, Refused } from "./orchestrator.mjs";
process.umask(0o077);
let bus, clock, steps_ms = 0;
const time = () => clock === undefined ? { now_ms: Date.now(), monotonic_ms: performance.now() } : { now_ms: clock, monotonic_ms: steps_ms };
const close = async () => { const was = bus; bus = undefined; await was?.close(); };
const methods = {
  hello: () => ({ protocol: "1", name: "node-relay", version: "1", language: "javascript", systems: ["relay"], features: ["scan", "dump"], clock: "manual",
    nouns: ["log", "cursor", "lease", "route", "presence", "blob", "retry", "limit", "export"] }),
  open: async (p) => { await close(); clock = undefined; steps_ms = 0; const next = new Bus(); await next.open(p.store, p.options ?? {}, time); bus = next; },
  close, "clock.set": (p) => { steps_ms += Math.max(0, p.now_ms - (clock ?? p.now_ms)); clock = p.now_ms; },
};
for (const name of ["scan", "status", "dump"]) methods[name] = () => { if (!bus) throw new Refused("NOT_OPEN", "no folder is open"); return bus[name](); };
// A time in nanoseconds is no number of JavaScript: it is a text that begins with NUL until it is a number on the wire.
const wire = (answer) => JSON.stringify(answer).replace(/"\\u0000(-?\d+)"/g, "$1");
for await (const line of createInterface({ input: process.stdin })) {
  let id = null, method, params, answer;
  try { ({ id, method, params } = JSON.parse(line)); } catch { answer = { error: { code: -32700, message: "no JSON" } }; }
  if (answer); else if (!methods[method]) answer = { error: { code: -32601, message: `no method ${method}` } };
  else try { answer = { result: await methods[method](params) ?? {} }; } catch (e) {
    const code = e instanceof Refused ? e.code : ["ENOSPC", "EDQUOT"].includes(e.code) ? "DISK_FULL" : e.syscall ? "IO_ERROR" : "INTERNAL";
    answer = { error: { code: -32000, message: e.stack, data: { code, definite: e instanceof Refused } } };
  }
  console.log(wire({ jsonrpc: "2.0", id, ...answer }));
}
