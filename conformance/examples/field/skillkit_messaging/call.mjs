// One call of @skillkit/messaging: `node call.mjs AGENT send TO BODY | receive | ack ID`.
import { createMessagingService, InboxStorage } from "@skillkit/messaging";

const [agent, operation, ...words] = process.argv.slice(2);
const service = await createMessagingService(agent);
let answer = {};
if (operation === "send") {
  const inbox = new InboxStorage(words[0]);
  await inbox.initialize();
  service.getRouter().registerLocalAgent(words[0], inbox);
  answer = await service.send({ to: words[0], subject: "a note", body: words[1] });
}
if (operation === "receive") answer = await service.getInbox({ status: "unread" });
if (operation === "ack") answer = { found: (await service.markAsRead(words[0])) !== null };
console.log(JSON.stringify(answer));
