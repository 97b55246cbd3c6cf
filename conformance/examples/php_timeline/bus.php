<?php
// The bus: one session on one timeline.db. Every method is one transaction.
require_once __DIR__ . '/json.php';
require_once __DIR__ . '/keys.php';

final class Bus {
    const PAYLOAD_MAX = 1000000;
    const DAY_MS = 86400000;
    const ZEROS = '0000000000000000000000000000000000000000000000000000000000000000';
    const COLUMNS = [
        'messages' => ['position', 'timeline', 'number', 'submission', 'type', 'subject', 'nonce', 'state', 'payload', 'time_us', 'previous', 'hash'],
        'timelines' => ['timeline', 'parent', 'at', 'number', 'hash'],
        'consumers' => ['consumer', 'floor'],
        'deliveries' => ['consumer', 'position', 'delivery_count', 'visible_at_us']];
    const SCHEMA = [
        'CREATE TABLE IF NOT EXISTS messages (position INTEGER PRIMARY KEY AUTOINCREMENT, timeline TEXT NOT NULL,
           number INTEGER NOT NULL, submission TEXT NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL, nonce TEXT,
           state TEXT, payload TEXT NOT NULL, time_us INTEGER NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL,
           UNIQUE (timeline, number))',
        "CREATE UNIQUE INDEX IF NOT EXISTS messages_by_subject ON messages(subject, coalesce(nonce, ''))",
        'CREATE INDEX IF NOT EXISTS messages_by_type ON messages(type, position)',
        'CREATE TABLE IF NOT EXISTS timelines (timeline TEXT PRIMARY KEY, parent TEXT, at INTEGER, number INTEGER NOT NULL, hash TEXT NOT NULL)',
        'CREATE TABLE IF NOT EXISTS consumers (consumer TEXT PRIMARY KEY, floor INTEGER NOT NULL)',
        'CREATE TABLE IF NOT EXISTS deliveries (consumer TEXT NOT NULL, position INTEGER NOT NULL, delivery_count INTEGER NOT NULL,
           visible_at_us INTEGER NOT NULL, PRIMARY KEY (consumer, position))'];
    private PDO $db;
    private array $statements = [];
    private ?int $clockUs = null;

    public function __construct(string $folder, private int $ackWaitUs) {
        if (is_file("$folder/config.toml") && preg_match('/^\s*backend\s*=\s*"(?!sqlite")/m', file_get_contents("$folder/config.toml")))
            Keys::bad('this bus has no other backend than sqlite');
        $this->sqlite(function () use ($folder) {
            $this->db = new PDO("sqlite:$folder/timeline.db", null, null,
                [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
            for ($try = 0; ; $try++) {
                try {
                    $this->db->exec('PRAGMA journal_mode = WAL');
                    break;
                } catch (PDOException $no) {       // two that open at once: this statement does not wait
                    if (($no->errorInfo[1] ?? 0) !== 5 || $try > 200) throw $no;
                    usleep(20000);
                }
            }
            $this->db->exec('PRAGMA synchronous = NORMAL');
        });
        $known = array_column($this->rows("SELECT name FROM sqlite_master WHERE type = 'table'"), 'name');
        if (array_diff(array_keys(self::COLUMNS), $known))
            $this->write(function () { foreach (self::SCHEMA as $statement) $this->run($statement); });
        foreach (self::COLUMNS as $table => $columns)
            if (array_diff($columns, array_column($this->rows("PRAGMA table_info($table)"), 'name')))
                throw new Refused('SCHEMA_MISMATCH', "the table $table is another one");
    }

    // --- SQLite

    private function sqlite(callable $work): mixed {
        try {
            return $work();
        } catch (PDOException $no) {
            [$kind, $definite] = match (($no->errorInfo[1] ?? 0) & 255) {
                5, 6 => ['BUSY', true],
                13 => ['DISK_FULL', true],
                11, 26 => ['CORRUPT', false],
                default => ['IO_ERROR', false]};
            throw new Refused($kind, $no->getMessage(), $definite);
        }
    }
    private function run(string $sql, array $values = []): PDOStatement {
        $statement = $this->statements[$sql] ??= $this->db->prepare($sql);
        foreach (array_values($values) as $i => $v)
            $statement->bindValue($i + 1, $v, is_int($v) ? PDO::PARAM_INT : ($v === null ? PDO::PARAM_NULL : PDO::PARAM_STR));
        $statement->execute();
        return $statement;
    }
    private function rows(string $sql, array $values = []): array {
        return $this->sqlite(function () use ($sql, $values) {
            $s = $this->run($sql, $values);
            $rows = $s->fetchAll();
            $s->closeCursor();
            return $rows;
        });
    }
    private function row(string $sql, array $values = []): ?array { return $this->rows($sql, $values)[0] ?? null; }

    private function transaction(string $begin, callable $work): mixed {
        return $this->sqlite(function () use ($begin, $work) {
            $this->db->exec($begin);
            try {
                $result = $work();
                $this->db->exec('COMMIT');
                return $result;
            } catch (Throwable $no) {
                try { $this->db->exec('ROLLBACK'); } catch (PDOException) {}      // SQLite has rolled back by itself
                throw $no;
            }
        });
    }
    private function write(callable $work): mixed { return $this->transaction('BEGIN IMMEDIATE', $work); }
    private function read(callable $work): mixed { return $this->transaction('BEGIN', $work); }

    // --- time

    public function setClock(?int $nowMs): void { $this->clockUs = $nowMs === null ? null : $nowMs * 1000; }
    private function now(): int { return $this->clockUs ?? (int)(microtime(true) * 1e6); }

    // --- what is written

    public static function hash(string $previous, int $number, string $subject, ?string $nonce, ?string $state, string $payload, int $time): string {
        $text = '';
        foreach ([$previous, (string)$number, $subject, $nonce ?? '', $state ?? '', $payload, (string)$time] as $field)
            $text .= pack('J', strlen($field)) . $field;
        return hash('sha256', $text);
    }
    private static function jsonText(mixed $v, bool $sorted = false): string {
        try {
            $text = Json::write($v, $sorted);
        } catch (NoJson $no) {
            Keys::bad($no->getMessage());
        }
        if (strlen($text) > self::PAYLOAD_MAX) throw new Refused('PAYLOAD_TOO_LARGE', 'more than 1,000,000 bytes of JSON text');
        return $text;
    }
    private function known(string $subject, ?string $nonceToken): ?array {
        return $this->row("SELECT * FROM messages WHERE subject = ? AND coalesce(nonce, '') = ?", [$subject, $nonceToken ?? '']);
    }
    /** Append behind the head of the timeline; within a writing transaction. */
    private function append(array $key, ?string $nonce, ?string $state, string $payload, ?array $start = null): array {
        $subject = Keys::subject($key);
        $timeline = Keys::token($key['timeline']);
        $nonce = $nonce === null ? null : Keys::token($nonce);
        $head = $start ?? $this->row('SELECT number, hash FROM timelines WHERE timeline = ?', [$timeline]) ?? ['number' => 0, 'hash' => self::ZEROS];
        $number = $head['number'] + 1;
        $time = $this->now();
        $hash = self::hash($head['hash'], $number, $subject, $nonce, $state, $payload, $time);
        $this->run('INSERT INTO messages (timeline, number, submission, type, subject, nonce, state, payload, time_us, previous, hash)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', [$timeline, $number, Keys::token($key['submission']), Keys::WORDS[$key['type']],
            $subject, $nonce, $state, $payload, $time, $head['hash'], $hash]);
        $this->run('INSERT INTO timelines (timeline, parent, at, number, hash) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (timeline) DO UPDATE SET number = excluded.number, hash = excluded.hash',
            [$timeline, $start['parent'] ?? null, $start['at'] ?? null, $number, $hash]);
        return ['subject' => $subject, 'number' => $number, 'hash' => $hash, 'duplicate' => false];
    }
    private function put(array $key, ?string $nonce, ?string $state, string $payload): array {
        $known = $this->known(Keys::subject($key), $nonce === null ? null : Keys::token($nonce));
        if ($known === null) return $this->append($key, $nonce, $state, $payload);
        if ($known['payload'] !== $payload || $known['state'] !== $state)
            throw new Refused('ID_CONFLICT', "{$known['subject']} was sent with other content");
        return ['subject' => $known['subject'], 'number' => $known['number'], 'hash' => $known['hash'], 'duplicate' => true];
    }
    public function send(mixed $key, mixed $payload, mixed $nonce): array {
        $key = Keys::check($key);
        if (!isset(Keys::REPLY[$key['type']])) Keys::bad("send takes what asks; {$key['type']} is none");
        $nonce = Keys::nonce($key, $nonce, true);
        $text = self::jsonText($payload);
        return $this->write(fn() => $this->put($key, $nonce, null, $text));
    }
    public function reply(mixed $key, mixed $payload, mixed $nonce, mixed $state): array {
        $key = Keys::check($key);
        $answer = Keys::reply($key, Keys::nonce($key, $nonce, true));
        $text = self::jsonText($payload);
        if ($state !== null && $answer['type'] === 'response') Keys::bad('a response has no state');
        $state = $answer['type'] === 'response' ? null : hash('sha256', self::jsonText($state, true));
        return $this->write(fn() => $this->put($answer, null, $state, $text));
    }

    // --- what is read

    /** A row as it is shown. */
    private static function message(array $row): array {
        try {
            $key = Keys::parse($row['subject']);
        } catch (Refused) {
            throw new Refused('CORRUPT', "{$row['timeline']} {$row['number']} has no subject of ours", false);
        }
        try {
            Json::parse($row['payload']);
        } catch (NoJson) {
            throw new Refused('CORRUPT', "{$row['subject']} has a payload that is no JSON", false);
        }
        return ['key' => $key, 'subject' => $row['subject'], 'number' => $row['number'], 'payload' => new Raw($row['payload']),
            'nonce' => $row['nonce'] === null ? null : Keys::untoken($row['nonce']), 'state' => $row['state'], 'time_us' => $row['time_us'],
            'previous' => $row['previous'], 'hash' => $row['hash'], 'status' => 'sent'];
    }
    private function timelineRow(string $token): array {
        return $this->row('SELECT * FROM timelines WHERE timeline = ?', [$token]) ?? throw new Refused('NOT_FOUND', 'nobody has written to this timeline');
    }
    /** What a timeline sees, nearest first: pairs of a timeline's token and the last number that is seen of it. */
    private function path(string $token): array {
        $path = [];
        for ($to = PHP_INT_MAX; ; ) {
            $row = $this->timelineRow($token);
            $path[] = [$token, $to];
            if ($row['parent'] === null) return $path;
            if (count($path) > 100000) throw new Refused('CORRUPT', 'parents go round in a circle', false);
            $to = min($to, $row['at']);
            $token = $row['parent'];
        }
    }
    public function log(mixed $timeline, mixed $submission, mixed $after, mixed $limit): array {
        $timeline = Keys::token(Keys::name($timeline, 'timeline'));
        $submission = $submission === null ? null : Keys::token(Keys::name($submission, 'submission'));
        foreach (['after' => [$after, 0], 'limit' => [$limit, 1]] as $what => [$n, $least]) if (!is_int($n) || $n < $least) Keys::bad("$what is no whole number from $least");
        return $this->read(function () use ($timeline, $submission, $after, $limit) {
            $found = [];
            foreach (array_reverse($this->path($timeline)) as [$token, $to]) {
                $only = $submission === null ? '' : ' AND submission = ?';
                $found = [...$found, ...$this->rows("SELECT * FROM messages WHERE timeline = ? AND number > ? AND number <= ?$only ORDER BY number LIMIT ?",
                    [$token, $after, $to, ...($submission === null ? [] : [$submission]), $limit - count($found)])];
            }
            return ['messages' => array_map(self::message(...), $found)];
        });
    }
    public function state(mixed $timeline, mixed $agent): array {
        $timeline = Keys::token(Keys::name($timeline, 'timeline'));
        $agent = Keys::name($agent, 'agent');
        return $this->read(function () use ($timeline, $agent) {
            foreach ($this->path($timeline) as [$token, $to])
                foreach ($this->rows("SELECT subject, state, number FROM messages WHERE timeline = ? AND number <= ?
                        AND type IN ('complete', 'delegate-reply') ORDER BY number DESC", [$token, $to]) as $row) {
                    $key = Keys::parse($row['subject']);
                    if (($key['type'] === 'complete' ? $key['agent'] : $key['target']) === $agent)
                        return ['state' => $row['state'], 'number' => $row['number']];
                }
            return ['state' => null, 'number' => null];
        });
    }
    public function replay(mixed $timeline, mixed $submission): array {
        $messages = $this->log($timeline, Keys::name($submission, 'submission'), 0, PHP_INT_MAX)['messages'];
        if (!$messages) throw new Refused('NOT_FOUND', 'nothing of this submission is seen');
        $complete = null;
        foreach ($messages as $m) {
            if ($m['key']['type'] === 'complete') $complete = $m;
            $nonce = $m['nonce'] === null ? null : Keys::token($m['nonce']);
            if (self::hash($m['previous'], $m['number'], $m['subject'], $nonce, $m['state'], $m['payload']->text, $m['time_us']) !== $m['hash'])
                throw new Refused('CORRUPT', "{$m['subject']} is not what was recorded", false);
        }
        return ['messages' => $messages, 'complete' => $complete, 'digest' => hash('sha256', implode('', array_column($messages, 'hash')))];
    }
    public function timelines(): array {
        $shown = [];
        foreach ($this->rows('SELECT * FROM timelines') as $row)
            $shown[] = ['timeline' => Keys::untoken($row['timeline']), 'parent' => $row['parent'] === null ? null : Keys::untoken($row['parent']),
                'at' => $row['at'], 'number' => $row['number'], 'hash' => $row['hash']];
        usort($shown, fn($a, $b) => strcmp($a['timeline'], $b['timeline']));
        return ['timelines' => $shown];
    }
    public function dump(): array {
        return $this->read(fn() => [
            'messages' => array_map(self::message(...), $this->rows('SELECT * FROM messages ORDER BY timeline, number')),
            ...$this->timelines(),
            'deliveries' => $this->rows('SELECT * FROM deliveries ORDER BY consumer, position'),
            'integrity' => implode("\n", array_column($this->rows('PRAGMA integrity_check'), 'integrity_check'))]);
    }

    // --- the chain

    public function verify(mixed $timeline, mixed $head): array {
        if ($head !== null && $timeline === null) Keys::bad('a head is of a timeline');
        $timeline = $timeline === null ? null : Keys::token(Keys::name($timeline, 'timeline'));
        if ($timeline !== null) $this->timelineRow($timeline);
        if ($head !== null && (!is_string($head) || !preg_match('/^[0-9a-f]{64}$/D', $head))) Keys::bad('head is no hash');
        return $this->read(function () use ($timeline, $head) {
            $round = false;
            if ($timeline !== null) try {
                $path = array_reverse($this->path($timeline));
            } catch (Refused) {
                [$path, $round] = [[[$timeline]], true];
            }
            else $path = array_map(fn($row) => [$row['timeline']],
                $this->rows('SELECT timeline FROM timelines UNION SELECT timeline FROM messages ORDER BY timeline'));
            $checked = 0;
            $faults = $round ? [['timeline' => $timeline, 'number' => 0, 'fault' => 'its parents are gone, or go round in a circle']] : [];
            foreach ($path as [$token]) $checked += $this->verifyOne($token, $faults);      // ancestors as a whole
            if ($head !== null && $this->timelineRow($timeline)['hash'] !== $head)
                $faults[] = ['timeline' => $token, 'number' => $this->timelineRow($timeline)['number'], 'fault' => 'the head is another one'];
            foreach ($faults as &$fault) try { $fault['timeline'] = Keys::untoken($fault['timeline']); } catch (Refused) {}
            return ['ok' => !$faults, 'checked' => $checked, 'faults' => $faults];
        });
    }
    private function verifyOne(string $token, array &$faults): int {
        $fault = function (int $number, string $words) use ($token, &$faults) { $faults[] = ['timeline' => $token, 'number' => $number, 'fault' => $words]; };
        $row = $this->row('SELECT * FROM timelines WHERE timeline = ?', [$token]);
        if ($row === null) $fault(0, 'messages of a timeline that has no row');
        $forked = ($row['parent'] ?? null) !== null;
        if ($forked !== (($row['at'] ?? null) !== null)) $fault(0, 'half a fork point');
        [$number, $hash] = [$row['at'] ?? 0, self::ZEROS];
        if (($row['parent'] ?? null) !== null) {
            try {
                $hash = $this->hashAt($row['parent'], $number);
            } catch (Refused) {
                $fault($number + 1, 'the parent, or its message at the fork point, is gone');
            }
        }
        $checked = 0;
        foreach ($this->rows('SELECT * FROM messages WHERE timeline = ? ORDER BY number', [$token]) as $m) {
            $checked++;
            $at = is_int($m['number']) ? $m['number'] : $number + 1; // another program may write a text there
            if ($m['number'] !== $number + 1) $fault($number + 1, 'a message is missing');
            if ($m['previous'] !== $hash) $fault($at, 'it does not follow the message before');
            if ($m['hash'] !== self::hash($m['previous'], $at, $m['subject'], $m['nonce'], $m['state'], $m['payload'], (int)$m['time_us']))
                $fault($at, 'it has another hash');
            if ($m['nonce'] === '' || $m['state'] === '') $fault($at, 'an empty text stands where nothing belongs');
            try {
                $key = Keys::parse($m['subject']);
                if (Keys::token($key['timeline']) !== $m['timeline'] || Keys::token($key['submission']) !== $m['submission'] || Keys::WORDS[$key['type']] !== $m['type'])
                    $fault($at, 'its columns say something else than its subject');
                $began = ($row['parent'] ?? null) === null ? null : Json::write(['parent' => Keys::untoken($row['parent']), 'at' => $row['at']]);
                if ($checked === 1 && ($key['type'] === 'fork') !== $forked) $fault($at, 'the first message is not how it began');
                if ($key['type'] === 'fork' && $m['payload'] !== $began) $fault($at, 'the timeline began elsewhere');
            } catch (Refused) {
                $fault($at, 'its subject is none');
            }
            [$number, $hash] = [$at, $m['hash']];
        }
        if ($row !== null && ($row['number'] !== $number || $row['hash'] !== $hash)) $fault($row['number'], 'the head is not the last message');
        return $checked;
    }
    /** The hash of message `at` as this timeline sees it. */
    private function hashAt(string $token, int $at): string {
        if ($at === 0) return self::ZEROS;
        foreach ($this->path($token) as [$t, $to]) {
            $row = $at > $to ? null : $this->row('SELECT hash FROM messages WHERE timeline = ? AND number = ?', [$t, $at]);
            if ($row !== null) return $row['hash'];
        }
        throw new Refused('NOT_FOUND', "there is no message $at");
    }

    // --- forks

    public function fork(mixed $timeline, mixed $submission, mixed $agent, mixed $parent, mixed $at): array {
        $key = Keys::check(new Obj(['type' => 'fork', 'timeline' => $timeline, 'submission' => $submission, 'agent_name' => $agent]));
        $parent = Keys::name($parent, 'parent');
        if (!is_int($at) || $at < 0) Keys::bad('at is no whole number from 0');
        return $this->write(function () use ($key, $parent, $at) {
            $payload = Json::write(['parent' => $parent, 'at' => $at]);
            $shown = ['timeline' => $key['timeline'], 'parent' => $parent, 'at' => $at];
            $token = Keys::token($parent);
            $this->timelineRow($token);
            $hash = $this->hashAt($token, $at);
            if ($this->row('SELECT 1 FROM timelines WHERE timeline = ?', [Keys::token($key['timeline'])])) {
                $known = $this->known(Keys::subject($key), null);
                if ($known === null || $known['payload'] !== $payload) throw new Refused('ID_CONFLICT', 'the timeline exists');
                return [...$shown, 'number' => $known['number'], 'hash' => $known['hash'], 'duplicate' => true];
            }
            $sent = $this->append($key, null, null, $payload, ['number' => $at, 'hash' => $hash, 'parent' => $token, 'at' => $at]);
            return [...$shown, 'number' => $sent['number'], 'hash' => $sent['hash'], 'duplicate' => false];
        });
    }

    // --- work queues

    private function queue(mixed $filter, mixed $group): array {
        $filter = Keys::filter($filter);
        $group = $group === null ? null : Keys::name($group, 'group');
        return [$filter, Keys::pattern($filter), $group];
    }
    public function filterSubject(mixed $filter, mixed $group): array {
        [, $pattern, $group] = $this->queue($filter, $group);
        return ['subject' => $pattern, 'consumer' => Keys::consumer($pattern, $group)];
    }
    /** What this consumer would be given now: the position, and how often it was handed out. */
    private function next(array $filter, string $pattern, string $consumer): ?array {
        $back = $this->row('SELECT position, delivery_count FROM deliveries WHERE consumer = ? AND visible_at_us <= ? ORDER BY position LIMIT 1', [$consumer, $this->now()]);
        if ($back !== null) return $back;
        $floor = $this->row('SELECT floor FROM consumers WHERE consumer = ?', [$consumer])['floor'] ?? 0;
        [$only, $values] = ['', []];
        foreach (['timeline', 'submission'] as $dim)
            if (isset($filter[$dim])) [$only, $values] = ["$only AND $dim = ?", [...$values, Keys::token($filter[$dim])]];
        while (true) {
            $rows = $this->rows("SELECT position, subject FROM messages WHERE type = ? AND position > ?$only ORDER BY position LIMIT 200",
                [Keys::WORDS[$filter['type']], $floor, ...$values]);
            foreach ($rows as $row) if (Keys::fits($pattern, $row['subject'])) return ['position' => $row['position'], 'delivery_count' => 0];
            if (count($rows) < 200) return null;
            $floor = end($rows)['position'];
        }
    }
    public function fetch(mixed $filter, mixed $group, mixed $waitMs): array {
        [$filter, $pattern, $group] = $this->queue($filter, $group);
        if (!is_int($waitMs) || $waitMs < 0 || $waitMs > self::DAY_MS) Keys::bad('wait_ms is no whole number from 0 to a day');
        $consumer = Keys::consumer($pattern, $group);
        $until = hrtime(true) + $waitMs * 1000000;
        while (true) {
            if ($this->read(fn() => $this->next($filter, $pattern, $consumer)) !== null) {
                $message = $this->write(function () use ($filter, $pattern, $group, $consumer) {
                    $next = $this->next($filter, $pattern, $consumer);
                    if ($next === null) return null;
                    $count = $next['delivery_count'] + 1;
                    $this->run('INSERT INTO consumers VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE SET floor = max(floor, excluded.floor)', [$consumer, $next['position']]);
                    $this->run('INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?)', [$consumer, $next['position'], $count, $this->now() + $this->ackWaitUs]);
                    $row = $this->row('SELECT * FROM messages WHERE position = ?', [$next['position']]);
                    $name = $pattern . ($group === null ? '' : '@' . Keys::token($group));
                    return [...self::message($row), 'delivery' => "$name:{$next['position']}:$count", 'delivery_count' => $count];
                });
                if ($message !== null) return ['message' => $message];
            }
            if (hrtime(true) >= $until) return ['message' => null];
            usleep(10000);
        }
    }
    /** The consumer, position and count of a delivery that some fetch gave; within a transaction. */
    private function delivery(mixed $delivery): array {
        if (!is_string($delivery) || !preg_match('/^([^:@]+)(?:@([^:@]+))?:([1-9]\d{0,17}):([1-9]\d{0,17})$/D', $delivery, $m)) Keys::bad('no delivery');
        [, $pattern, $group, $position, $count] = $m;
        $consumer = Keys::consumer($pattern, $group === '' ? null : Keys::untoken($group));
        $floor = $this->row('SELECT floor FROM consumers WHERE consumer = ?', [$consumer])['floor'] ?? 0;
        $row = $this->row('SELECT subject FROM messages WHERE position = ?', [(int)$position]);
        if ((int)$position > $floor || $row === null || !Keys::fits($pattern, $row['subject'])) Keys::bad('no fetch gave this delivery');
        $held = $this->row('SELECT * FROM deliveries WHERE consumer = ? AND position = ?', [$consumer, (int)$position]);
        if ($held !== null && (int)$count > $held['delivery_count']) Keys::bad('no fetch gave this delivery');
        return [$consumer, (int)$position, (int)$count];
    }
    public function ack(mixed $delivery): array {
        return $this->write(function () use ($delivery) {
            [$consumer, $position] = $this->delivery($delivery);
            $this->run('DELETE FROM deliveries WHERE consumer = ? AND position = ?', [$consumer, $position]);
            return [];
        });
    }
    public function nak(mixed $delivery): array {
        return $this->write(function () use ($delivery) {
            [$consumer, $position, $count] = $this->delivery($delivery);
            $this->run('UPDATE deliveries SET visible_at_us = ? WHERE consumer = ? AND position = ? AND delivery_count = ?',
                [0, $consumer, $position, $count]);      // 0: also for a clock that is set back
            return [];
        });
    }

    // --- calls

    public function call(array $fields, mixed $payload, mixed $nonce, mixed $timeoutMs): array {
        $key = Keys::check(new Obj($fields));
        $nonce = Keys::nonce($key, $nonce, true);
        $text = self::jsonText($payload);
        if (!is_int($timeoutMs) || $timeoutMs < 0 || $timeoutMs > self::DAY_MS) Keys::bad('timeout_ms is no whole number from 0 to a day');
        $until = hrtime(true) + $timeoutMs * 1000000;
        $answer = $this->write(fn() => $this->recorded($key, $nonce, $text));
        $subject = Keys::subject(Keys::reply($key, $nonce));
        for ($replayed = $answer !== null; $answer === null; usleep(10000)) {
            $answer = $this->known($subject, null);
            if ($answer === null && hrtime(true) >= $until) throw new Refused('TIMEOUT', "no answer within $timeoutMs ms; the request stays sent", false);
            if ($answer !== null) break;
        }
        $m = self::message($answer);
        return ['payload' => $m['payload'], 'number' => $m['number'], 'hash' => $m['hash'], 'state' => $m['state'], 'replayed' => $replayed];
    }
    /** The answer that the timeline sees. Without one the request is sent, where the timeline itself has not sent it. */
    private function recorded(array $key, ?string $nonce, string $text): ?array {
        $own = Keys::token($key['timeline']);
        $path = $this->row('SELECT 1 FROM timelines WHERE timeline = ?', [$own]) === null ? [] : $this->path($own);
        foreach ($path as [$token, $to]) {
            $there = [...$key, 'timeline' => Keys::untoken($token)];
            $asked = $this->known(Keys::subject($there), $nonce === null ? null : Keys::token($nonce));
            $answer = $this->known(Keys::subject(Keys::reply($there, $nonce)), null);
            if ($asked !== null && $asked['number'] > $to) $asked = null;
            if ($answer !== null && $answer['number'] > $to) $answer = null;
            if ($asked !== null && $asked['payload'] !== $text) throw new Refused('ID_CONFLICT', 'it was called with other content');
            if ($answer !== null) return $answer;
            if ($asked !== null) break;
        }
        $this->put($key, $nonce, null, $text);
        return null;
    }
}
