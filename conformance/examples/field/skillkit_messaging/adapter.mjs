// @skillkit/messaging 1.24.0. Its page: an inbox that persists, with read tracking. It shows the newest message first.
import { createInterface } from "node:readline";
import { createMessagingService, InboxStorage } from "@skillkit/messaging";

const own = { name: "@skillkit/messaging", version: "1.24.0", language: "javascript", clock: "wall", limits: {} };
const declared = { systems: ["mailbox"], nouns: ["log", "cursor"], features: ["ack", "sender"], durability: "process-crash" };
const shown = (message) => ({ id: message.id, body: message.body, from_agent: message.from, to_agent: message.to });
async function call(method, { store, agent_id, to, body, limit, ids }) {
  if (method === "hello") return { protocol: "1", ...own, ...declared };
  if (method === "open") process.env.HOME = store;
  if (!["send", "receive", "ack"].includes(method)) return ["open", "close"].includes(method) ? {} : null;
  const service = await createMessagingService(agent_id);
  for (const one of ids ?? []) await service.markAsRead(one);
  if (method === "receive") return { messages: (await service.getInbox({ status: "unread" })).reverse().slice(0, limit).map(shown) };
  if (method === "ack") return {};
  service.getRouter().registerLocalAgent(to, new InboxStorage(to));
  const answer = await service.send({ to, subject: "a note", body });
  return answer.delivered ? { id: answer.messageId } : answer.error;
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = await Promise.resolve(line).then(JSON.parse).catch(() => ({ id: null, method: "" }));
  const result = await call(method, params ?? {}).catch((error) => String(error));
  const error = { code: result === null ? -32601 : -32000, message: String(result), data: { code: "REFUSED", definite: true } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result !== null && typeof result === "object" ? { result } : { error }) }));
}
