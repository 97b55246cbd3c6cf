// A small orchestrator of `relay`, without spawn. Its ledger is ledger.jsonl: a line for each transaction, a list of [table, key, value].
// A copy is written into tmp, the ledger says where it goes, and it is renamed into the inbox: what has left tmp was delivered.
import fs from "node:fs";
import net from "node:net";
import { createHash } from "node:crypto";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
const FILE = /^([0-9]{1,19})-([0-9a-f]{8})\.msg$/, NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,62}$/, HASH = /^sha256:[0-9a-f]{64}$/;
const isAgent = (name) => NAME.test(name) && !/^(__orchestrator__|system|root|admin|lead)$/i.test(name);
const isChannel = (word) => word.startsWith("#") && NAME.test(word.slice(1));
const KINDS = ["message", "spawn", "release", "ack", "nack", "status", "continuity"], ORCHESTRATOR = "__orchestrator__";
const GONE = ["ENOENT", "ENOTDIR", "ELOOP"], TAKES_NOTHING = ["ENOTDIR", "ELOOP", "EACCES", "EPERM", "EXDEV", "EISDIR", "EEXIST", "ENOTEMPTY"];
const DEFAULTS = { settle_ms: 100, malformed_ms: 5_000, orphan_ms: 30_000, message_bytes_max: 1 << 20, retries_max: 3, retry_ms: 1_000,
  rate_per_min: 6_000, retention_days: 30, agent_timeout_ms: 3_600_000, archive: true };

export class Refused extends Error { constructor(code, message) { super(message); this.code = code; this.definite = true; } }
class Failure extends Error { constructor(reason, mayCome = false) { super(reason); this.mayCome = mayCome; } }

const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const unless = (codes, work) => { try { return work(); } catch (e) { if (!codes.includes(e.code)) throw e; } };
const look = (path) => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
const looks = (stat) => `${stat.size} ${stat.mtimeNs} ${stat.ino}`;
const odd = (stat) => stat.isSymbolicLink() ? "symlink" : !stat.isFile() ? "not_regular" : stat.nlink > 1n ? "hard_link" : "";
const isOf = (row, stat) => row.file_size === Number(stat.size) && row.file_mtime_ns === `${stat.mtimeNs}`;
const inRow = (stat) => ({ file_size: Number(stat.size), file_mtime_ns: `${stat.mtimeNs}`, file_inode: Number(stat.ino) });
const nameOf = (row) => row.file_path.split("/").at(-1);
const entries = (at) => fs.readdirSync(at, { encoding: "buffer" }).map((raw) => {
  const path = Buffer.concat([Buffer.from(`${at}/`), raw]); // a name need not be UTF-8
  return { name: raw.toString(), path, stat: look(path) };
}).filter((entry) => entry.stat).sort((a, b) => (a.name < b.name ? -1 : 1));

function read(path, stat) { // nothing where it is another file, or changes meanwhile
  const fd = unless([...GONE, "EACCES", "ENXIO"], () => fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (fd === undefined) return;
  const now = () => { const is = fs.fstatSync(fd, { bigint: true }); return odd(is) === "" && looks(is) === looks(stat); };
  try { const data = now() && fs.readFileSync(fd); return now() ? data : undefined; } finally { fs.closeSync(fd); }
}

function parsed(data) {
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data); } catch { return; }
  const blank = text.indexOf("\n\n"), headers = new Map();
  for (const line of blank < 0 ? [] : text.slice(0, blank).split("\n")) {
    const [, name, rest] = /^([A-Z][A-Z0-9_-]*):([^]*)$/.exec(line) ?? [], value = rest?.replace(/^[ \t]+|[ \t]+$/g, "");
    if (!value || headers.has(name) || name === "FROM" || name === "ID" || /\p{Cc}/u.test(value)) return;
    headers.set(name, value);
  }
  const { TO: to, KIND: kind = "message", PRIORITY: priority = "5", CHECKSUM: checksum, ATTACHMENT: attachment } = Object.fromEntries(headers);
  if (!to || !KINDS.includes(kind) || !/^[0-9]$/.test(priority) || [checksum, attachment].some((hash) => hash !== undefined && !HASH.test(hash))) return;
  const body = text.slice(blank + 2);
  return { to, kind, body, priority: Number(priority), attachment, isWhole: checksum === undefined || checksum === `sha256:${sha256(body)}` };
}

export class Bus {
  async open(store, options, time) {
    Object.assign(this, { store, time, seen: new Map(), limited: new Set(), doubtful: new Set(), lastPass: null, lock: net.createServer() });
    Object.assign(this, { rows: new Map(), agents: new Map(), channels: new Map(), known: new Map(), audit: new Map(), byPath: new Map(), live: new Set(), newest: new Map(), lastId: 0 });
    const { dev, ino } = fs.statSync(store); // a socket without a file: it goes with its process, however that ends
    await new Promise((done, no) => { this.lock.on("error", () => no(new Refused("LOCKED", "another orchestrator runs"))).listen(`\0relay-${dev}-${ino}`, done); });
    try {
      fs.chmodSync(store, 0o700);
      for (const name of ["agents", "attachments", "archive", "tmp"]) unless(["EEXIST"], () => fs.mkdirSync(`${store}/${name}`, 0o700));
      fs.chmodSync(`${store}/agents`, 0o700);
      this.write(["tmp"], "lock", JSON.stringify({ pid: process.pid }));
      fs.renameSync(`${store}/tmp/lock`, `${store}/.lock`);
      const config = unless(["ENOENT"], () => { fs.chmodSync(`${store}/config.json`, 0o600); return JSON.parse(fs.readFileSync(`${store}/config.json`)); });
      this.settings = { ...DEFAULTS, ...config, ...options };
      this.ledger = fs.openSync(`${store}/ledger.jsonl`, fs.constants.O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
      const data = fs.readFileSync(this.ledger);
      for (let from = 0, end; (end = data.indexOf(10, from)) >= 0; from = this.size = end + 1) this.apply(JSON.parse(data.subarray(from, end)));
      this.size ??= 0; // what follows the last line is half a transaction, and the next one takes its place
    } catch (e) { await this.close(); throw e; }
  }

  async close() {
    if (this.ledger !== undefined) fs.closeSync(this.ledger);
    await new Promise((done) => { this.lock.close(done); });
  }

  apply(changes) {
    for (const [table, key, value] of changes) {
      value === null ? this[table].delete(key) : this[table].set(key, value);
      if (table !== "rows") continue;
      this.lastId = Math.max(this.lastId, key);
      this.byPath.set(value.file_path, key);
      if (value.direction === "inbox") this.newest.set(value.agent_name, BigInt(nameOf(value).split("-")[0]));
      else value.status === "archived" || value.away ? this.live.delete(key) : this.live.add(key);
    }
  }

  commit(changes) {
    if (!changes.length) return;
    const line = Buffer.from(`${JSON.stringify(changes)}\n`);
    try {
      fs.ftruncateSync(this.ledger, this.size);
      for (let done = 0; done < line.length;) done += fs.writeSync(this.ledger, line, done, line.length - done, this.size + done);
      fs.fsyncSync(this.ledger);
    } catch (e) { unless([e.code], () => fs.ftruncateSync(this.ledger, this.size)); throw e; }
    this.size += line.length;
    this.apply(changes);
  }

  // Each folder is opened from the one above, and no link is followed: /proc/self/fd stands for openat, which Node lacks.
  within(parts, work, make = false) {
    const opened = [];
    let at = this.store;
    try {
      for (const part of parts) {
        if (make) unless(["EEXIST"], () => fs.mkdirSync(`${at}/${part}`, 0o700));
        opened.push(fs.openSync(`${at}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
        at = `/proc/self/fd/${opened.at(-1)}`;
      }
      return work(at);
    } finally { opened.forEach((fd) => fs.closeSync(fd)); }
  }

  write(folder, name, data) {
    return this.within(folder, (at) => {
      unless(["ENOENT"], () => fs.unlinkSync(`${at}/${name}`));
      const fd = fs.openSync(`${at}/${name}`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try { fs.writeFileSync(fd, data); fs.fsyncSync(fd); return fs.fstatSync(fd, { bigint: true }); } finally { fs.closeSync(fd); }
    }, true);
  }

  scan() {
    const now = this.now = this.time().now_ms, tx = [];
    this.counts = { discovered: 0, completed: 0, failed: 0, retried: 0, refused: 0 };
    this.trouble = undefined;
    this.tidy();
    for (const row of this.having("processing")) this.place(row); // begun, and not ended
    if (this.lastPass !== null && now < this.lastPass) this.record(tx, "clock_back", "");
    this.lastPass = now;
    this.look(tx, now);
    this.commit(tx);
    try {
      for (const row of this.having("pending")) if (row.tried_at === null || now < row.tried_at || now - row.tried_at >= this.settings.retry_ms * 2 ** (row.retry_count - 1)) this.process(row, now);
    } catch (e) { this.tidy(); throw e; }
    if (this.settings.archive) this.commit(this.having("completed", "failed").filter((row) => this.isPutAway(row, now)).map((row) => ["rows", row.id, { ...row, status: row.status === "failed" ? "failed" : "archived", away: true }]));
    if (this.trouble) throw this.trouble;
    return this.counts;
  }

  tidy() { // all in tmp but what the ledger says is on its way
    const sent = this.having("processing").flatMap(({ id, plan }) => plan.map((_, n) => `${id}-${n}`));
    this.within(["tmp"], (at) => entries(at).forEach(({ name, path, stat }) => sent.includes(name) || stat.isDirectory() || fs.unlinkSync(path)), true);
  }

  having(...states) { return [...this.live].map((id) => this.rows.get(id)).filter((row) => states.includes(row.status)); }

  record(tx, event, path) {
    tx.push(["audit", this.audit.size + ++this.counts.refused, { at_ms: this.now, event, path }]);
  }

  refuse(tx, event, path, what = "") {
    if (this.known.get(`${event} ${path}`) === what) return;
    tx.push(["known", `${event} ${path}`, what]);
    this.record(tx, event, path);
  }

  look(tx, now) {
    const agents = new Map(), fresh = [], recent = new Map(), seen = new Map(), { settings } = this;
    this.within(["agents"], (at) => entries(at).forEach(({ name, stat }) => {
      if (stat.isSymbolicLink()) this.refuse(tx, "symlink", `agents/${name}`);
      else if (stat.isDirectory() && !isAgent(name)) this.refuse(tx, "bad_agent_name", `agents/${name}`);
      else if (stat.isDirectory()) agents.set(name, this.agents.get(name) ?? { name, registered_at: now, last_seen_at: null, pid: null, status: "active", state: "" });
    }), true);
    for (const [name, agent] of new Map([...this.agents, ...agents])) {
      const since = agent.last_seen_at ?? agent.registered_at;
      if (agent.status === "active" && this.agents.has(name) && now - since >= settings.agent_timeout_ms) tx.push(["agents", name, { ...agent, status: "inactive" }]);
      else if (!this.agents.has(name)) tx.push(["agents", name, agent]);
    }
    for (const row of this.rows.values()) if (row.direction === "outbox" && now - 60_000 < row.discovered_at && row.discovered_at <= now) recent.set(row.agent_name, (recent.get(row.agent_name) ?? 0) + 1);
    const age = (path, stat) => { // of a time that lies ahead: since it was first seen so
      const is = looks(stat), before = this.seen.get(path), since = before?.is === is ? before.since : this.time().monotonic_ms, nowNs = BigInt(now) * 1_000_000n;
      seen.set(path, { is, since });
      return stat.mtimeNs <= nowNs ? Number(nowNs - stat.mtimeNs) / 1e6 : this.time().monotonic_ms - since;
    };
    for (const name of agents.keys()) unless([...GONE, "EACCES"], () => {
      this.within(["agents", name], (at) => fs.chmodSync(`${at}/.`, 0o700));
      unless(TAKES_NOTHING, () => this.within(["agents", name, "inbox"], () => {}, true));
      this.within(["agents", name, "outbox"], () => {}, true);
      const half = new Set();
      unless(TAKES_NOTHING, () => this.within(["agents", name, "outbox", ".pending"], (at) => entries(at).forEach(({ name: file, path, stat }) => {
        const where = `agents/${name}/outbox/.pending/${file}`;
        if (!stat.isFile() || age(where, stat) <= settings.orphan_ms) half.add(file);
        else if (unless(["EACCES", "EPERM"], () => fs.unlinkSync(path) ?? true)) this.record(tx, "orphan_removed", where);
      }), true));
      this.within(["agents", name, "outbox"], (at) => this.lookAt(tx, name, entries(at), { half, age, fresh, room: settings.rate_per_min - (recent.get(name) ?? 0) }));
    });
    this.seen = seen;
    this.doubtful.clear();
    unless(GONE, () => this.within(["archive"], (at) => entries(at).forEach(({ name }) => {
      const days = (Date.parse(new Date(now).toISOString().slice(0, 10)) - Date.parse(name)) / 86_400_000;
      if (/^\d{4}-\d\d-\d\d$/.test(name) && days > settings.retention_days) fs.rmSync(`${at}/${name}`, { recursive: true, force: true });
    })));
    fresh.sort((a, b) => a.priority - b.priority || (nameOf(a.row) < nameOf(b.row) ? -1 : nameOf(a.row) > nameOf(b.row) ? 1 : a.row.agent_name < b.row.agent_name ? -1 : 1));
    fresh.forEach(({ row }, n) => tx.push(["rows", this.lastId + 1 + n, { id: this.lastId + 1 + n, ...row }]));
    for (const name of new Set(fresh.map(({ row }) => row.agent_name))) tx.push(["agents", name, { ...agents.get(name), last_seen_at: now, status: "active" }]);
    this.counts.discovered += fresh.length;
  }

  lookAt(tx, agent, files, { half, age, fresh, room }) {
    let waits = false;
    for (const { name, path, stat } of files.filter(({ name }) => name.endsWith(".msg"))) {
      const where = `agents/${agent}/outbox/${name}`, old = age(where, stat), row = this.rows.get(this.byPath.get(where));
      if (odd(stat)) this.refuse(tx, odd(stat), where, looks(stat));
      else if (!FILE.test(name)) this.refuse(tx, "bad_file_name", where, looks(stat));
      else if (row && isOf(row, stat) && !this.doubtful.has(where)) continue;
      else if (row && row.status !== "pending") this.refuse(tx, "name_reused", where, looks(stat));
      else if (!row && room <= 0) waits = true;
      else if (!half.has(name) && old >= this.settings.settle_ms) {
        const judged = this.judged(path, stat, old);
        if (!judged) continue;
        const { priority, ...is } = judged;
        if (is.status === "failed") this.counts.failed++;
        if (row) tx.push(["rows", row.id, { ...row, ...is, last_error: is.last_error ?? row.last_error, tried_at: null }]);
        else room--, fresh.push({ priority, row: { message_id: `${agent}/${name.slice(0, -4)}`, agent_name: agent, direction: "outbox", file_path: where, discovered_at: this.now, retry_count: 0, tried_at: null, ...is } });
      }
    }
    if (waits && !this.limited.has(agent)) this.record(tx, "rate_limited", `agents/${agent}`);
    waits ? this.limited.add(agent) : this.limited.delete(agent);
  }

  judged(path, stat, age) {
    const failed = (reason, checksum) => ({ priority: 5, ...inRow(stat), checksum, status: "failed", message_type: null, target: null, processed_at: this.now, last_error: reason });
    if (stat.size > this.settings.message_bytes_max) return failed("too_large", null);
    const data = read(path, stat), message = data && parsed(data);
    if (message?.isWhole) return { ...failed(null, sha256(data)), priority: message.priority, status: "pending", message_type: message.kind, target: message.to, processed_at: null };
    if (data && age >= this.settings.malformed_ms) return failed(!data.length ? "empty" : message ? "checksum_mismatch" : "malformed", sha256(data));
  }

  process(row, now) {
    const fail = (reason, more) => { this.counts.failed++; this.commit([["rows", row.id, { ...row, status: "failed", processed_at: now, retry_count: row.retry_count + 1, last_error: reason, ...more }]]); };
    const file = unless(GONE, () => this.within(["agents", row.agent_name, "outbox"], (at) => {
      const path = `${at}/${nameOf(row)}`, stat = look(path);
      return stat && !odd(stat) && { data: isOf(row, stat) && read(path, stat) };
    }));
    if (!file) return fail("file_disappeared", { away: true });
    if (!file.data || sha256(file.data) !== row.checksum) return this.doubtful.add(row.file_path);
    try {
      if (row.file_size > this.settings.message_bytes_max) throw new Failure("too_large");
      const message = parsed(file.data), { copies = [], changes = [] } = this.answer(row, message);
      const text = (copy) => copy.text ?? Buffer.concat([Buffer.from(`FROM: ${row.agent_name}\nID: ${row.message_id}\n`), file.data]);
      const done = { ...row, status: "completed", processed_at: now };
      if (copies.length) {
        const plan = copies.map((copy, n) => this.staged(done, copy.to, text(copy), n));
        this.commit([["rows", row.id, { ...done, status: "processing", plan }]]);
        this.place(this.rows.get(row.id));
      } else { this.commit([["rows", row.id, done], ...changes]); this.counts.completed++; }
    } catch (e) {
      if (!(e instanceof Failure)) throw e;
      if (!e.mayCome || row.retry_count >= this.settings.retries_max) return fail(e.message);
      this.counts.retried++;
      this.commit([["rows", row.id, { ...row, processed_at: now, tried_at: now, retry_count: row.retry_count + 1, last_error: e.message }]]);
    }
  }

  staged(row, to, data, n) {
    const ns = [BigInt(this.now) * 1_000_000n, (this.newest.get(to) ?? -1n) + 1n].reduce((a, b) => (a > b ? a : b));
    const name = `${ns}`.padStart(19, "0") + nameOf(row).slice(-13), stat = this.write(["tmp"], `${row.id}-${n}`, data);
    return { message_id: `${to}/${name.slice(0, -4)}`, agent_name: to, direction: "inbox", file_path: `agents/${to}/inbox/${name}`, ...inRow(stat), checksum: sha256(data), status: "completed",
      message_type: row.message_type, target: row.message_type === "continuity" ? to : row.target, discovered_at: this.now, processed_at: this.now, retry_count: 0, last_error: null };
  }

  place({ plan, ...row }) {
    const copies = plan.map((copy, n) => (this.arrives(`${row.id}-${n}`, copy) ? copy : { ...copy, status: "failed", last_error: "inbox_lost" }));
    this.commit([["rows", row.id, { ...row, status: "completed" }], ...copies.map((copy, n) => ["rows", this.lastId + 1 + n, { id: this.lastId + 1 + n, ...copy }])]);
    copies.forEach((copy, n) => { if (copy.last_error) this.within(["tmp"], (at) => fs.unlinkSync(`${at}/${row.id}-${n}`)); });
    this.counts.completed++;
  }

  arrives(from, copy) {
    for (let tries = 0; tries < 3; tries++) {
      const isThere = this.within(["tmp"], (tmp) => {
        if (!look(`${tmp}/${from}`)) return true; // it came before
        try { return this.within(["agents", copy.agent_name, "inbox"], (at) => fs.renameSync(`${tmp}/${from}`, `${at}/${nameOf(copy)}`) ?? true, true); }
        catch (e) { if (TAKES_NOTHING.includes(e.code)) return false; if (e.code !== "ENOENT") throw e; } // an inbox that went meanwhile is made again
      }, true);
      if (isThere !== undefined) return isThere;
    }
    return false;
  }

  answer(row, { to, kind, body, attachment }) {
    if (to !== ORCHESTRATOR && to !== "Lead" && to !== "*" && !isChannel(to) && !isAgent(to)) throw new Failure("bad_address");
    if (to !== ORCHESTRATOR && ["spawn", "release", "continuity"].includes(kind)) throw new Failure("misdirected");
    if (attachment) this.lookAtAttachment(attachment.slice(7));
    const others = (names) => ({ copies: names.filter((name) => name !== row.agent_name).sort().map((name) => ({ to: name })) });
    if (to === "*") return others([...this.agents.values()].filter((agent) => agent.status === "active").map((agent) => agent.name));
    if (to.startsWith("#")) return others([...this.channels.keys()].map((key) => key.split(" ")).filter(([channel]) => channel === to).map(([, name]) => name));
    if (to === "Lead" && !this.agents.has(this.settings.lead)) throw new Failure("no_lead", true);
    if (to === "Lead") return { copies: [{ to: this.settings.lead }] };
    if (to !== ORCHESTRATOR && !this.agents.has(to)) throw new Failure("unknown_agent", true);
    if (to !== ORCHESTRATOR) return { copies: [{ to }] };
    if (kind === "spawn") throw new Failure("denied"); // it starts no processes
    if (kind === "release") throw new Failure("unknown_agent");
    const [first, ...rest] = body.split("\n"), me = this.agents.get(row.agent_name);
    if (kind === "continuity" && first === "ACTION: save") return { changes: [["agents", me.name, { ...me, state: rest.join("\n") }]] };
    if (kind === "continuity" && first === "ACTION: load") return { copies: [{ to: me.name, text: Buffer.from(`FROM: ${ORCHESTRATOR}\nID: ${row.message_id}\nTO: ${me.name}\nKIND: continuity\n\n${me.state}`) }] };
    if (kind === "continuity") throw new Failure("bad_request");
    const changes = [];
    for (const line of kind === "status" ? body.split("\n") : []) for (const word of /^(UN)?SUBSCRIBE:/.test(line) ? line.slice(line.indexOf(":") + 1).split(",") : []) {
      const channel = word.replace(/^[ \t]+|[ \t]+$/g, "");
      if (!isChannel(channel)) throw new Failure("bad_request");
      changes.push(["channels", `${channel} ${me.name}`, line.startsWith("UN") ? null : true]);
    }
    return { changes };
  }

  lookAtAttachment(hash) {
    const data = unless(["ELOOP", "ENOTDIR"], () => {
      try { return this.within(["attachments", hash.slice(0, 2)], (at) => { const path = `${at}/${hash}`, stat = look(path); return stat ? (odd(stat) ? undefined : read(path, stat)) : null; }); }
      catch (e) { if (e.code === "ENOENT") return null; throw e; }
    });
    if (data === null) throw new Failure("attachment_missing");
    if (!data || sha256(data) !== hash) throw new Failure("attachment_corrupt");
  }

  isPutAway(row, now) { // false: not yet; what its agent has written anew stays where it is
    let is = true;
    unless(GONE, () => this.within(["agents", row.agent_name, "outbox"], (at) => {
      const from = `${at}/${nameOf(row)}`, stat = look(from);
      if (!stat || odd(stat) || !isOf(row, stat)) return;
      try {
        this.within(["archive", new Date(now).toISOString().slice(0, 10), row.agent_name], (to) => {
          let kept = `${to}/${nameOf(row)}`;
          for (let n = 1; look(kept); n++) kept = `${to}/${nameOf(row)}.${n}`;
          fs.renameSync(from, kept);
          if (!isOf(row, look(kept))) return look(from) || fs.renameSync(kept, from);
          fs.chmodSync(kept, 0o600);
        }, true);
      } catch (e) { if (look(from)) { is = false; this.trouble ??= e; } }
    }));
    return is;
  }

  status() {
    const counts = { pending: 0, processing: 0, completed: 0, failed: 0, archived: 0 };
    for (const row of this.rows.values()) counts[row.status]++;
    return { ...counts, agents: [...this.agents.values()].map(({ name, status }) => ({ name, status })).sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }

  dump() {
    const messages = [...this.rows.values()].map(({ plan, tried_at, away, ...row }) => ({ ...row, file_mtime_ns: `\0${row.file_mtime_ns}` }));
    return { messages, agents: [...this.agents.values()].map(({ state, ...agent }) => agent), orchestrator_state: [], pending_operations: [] };
  }
}
