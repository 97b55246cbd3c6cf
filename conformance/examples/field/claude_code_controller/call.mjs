// One call of claude-code-controller's inbox: `node call.mjs AGENT send TO ID BODY | receive`.
import { readUnread, writeInbox } from "claude-code-controller";

const [agent, operation, to, id, text] = process.argv.slice(2);
if (operation === "send") await writeInbox("team", to, { from: agent, text, timestamp: new Date().toISOString(), id });
console.log(JSON.stringify(operation === "send" ? { id } : await readUnread("team", agent)));
