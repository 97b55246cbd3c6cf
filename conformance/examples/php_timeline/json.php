<?php
// JSON that keeps what it is given: numbers as they were written, objects and lists apart, members in their order.
final class Num { public function __construct(public string $text) {} }          // a number that is no PHP integer
final class Obj { public function __construct(public array $m = []) {} }          // a JSON object
final class Raw { public function __construct(public string $text) {} }           // JSON text that is ready
final class NoJson extends Exception {}

final class Json {
    private int $at = 0;
    private function __construct(private string $s) {}

    public static function parse(string $s): mixed {
        if (!preg_match('//u', $s)) throw new NoJson('not UTF-8');
        $p = new self($s);
        $v = $p->value(0);
        $p->blank();
        if ($p->at !== strlen($s)) throw new NoJson("something behind the value at $p->at");
        return $v;
    }
    private function blank(): void { $this->at += strspn($this->s, " \t\n\r", $this->at); }
    private function value(int $depth): mixed {
        if ($depth > 5000) throw new NoJson('too deep');
        $this->blank();
        $c = $this->s[$this->at] ?? '';
        if ($c === '"') return $this->text();
        if ($c === '{') {
            $this->at++;
            $o = [];
            $this->blank();
            if (($this->s[$this->at] ?? '') === '}') { $this->at++; return new Obj(); }
            while (true) {
                $this->blank();
                if (($this->s[$this->at] ?? '') !== '"') throw new NoJson("a name is missing at $this->at");
                $k = $this->text();
                $this->blank();
                if (($this->s[$this->at] ?? '') !== ':') throw new NoJson("a colon is missing at $this->at");
                $this->at++;
                $o[$k] = $this->value($depth + 1);
                $this->blank();
                $c = $this->s[$this->at] ?? '';
                $this->at++;
                if ($c === '}') return new Obj($o);
                if ($c !== ',') throw new NoJson("a comma is missing at $this->at");
            }
        }
        if ($c === '[') {
            $this->at++;
            $l = [];
            $this->blank();
            if (($this->s[$this->at] ?? '') === ']') { $this->at++; return $l; }
            while (true) {
                $l[] = $this->value($depth + 1);
                $this->blank();
                $c = $this->s[$this->at] ?? '';
                $this->at++;
                if ($c === ']') return $l;
                if ($c !== ',') throw new NoJson("a comma is missing at $this->at");
            }
        }
        foreach (['true' => true, 'false' => false, 'null' => null] as $word => $v)
            if (substr_compare($this->s, $word, $this->at, strlen($word)) === 0) { $this->at += strlen($word); return $v; }
        if (preg_match('/\G-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/', $this->s, $m, 0, $this->at)) {
            $this->at += strlen($m[0]);
            return (string)(int)$m[0] === $m[0] ? (int)$m[0] : new Num($m[0]);
        }
        throw new NoJson("no value at $this->at");
    }
    private function text(): string {
        $out = '';
        $this->at++;
        while (true) {
            $n = strcspn($this->s, "\"\\\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f", $this->at);
            $out .= substr($this->s, $this->at, $n);
            $this->at += $n;
            $c = $this->s[$this->at] ?? '';
            $this->at++;
            if ($c === '"') return $out;
            if ($c !== '\\') throw new NoJson("a text that does not end at $this->at");
            $e = $this->s[$this->at] ?? '';
            $this->at++;
            if ($e !== 'u') {
                $plain = ['"' => '"', '\\' => '\\', '/' => '/', 'b' => "\x08", 'f' => "\f", 'n' => "\n", 'r' => "\r", 't' => "\t"];
                $out .= $plain[$e] ?? throw new NoJson("no such escape at $this->at");
                continue;
            }
            $u = $this->hex();
            if ($u >= 0xD800 && $u < 0xDC00 && preg_match('/\G\\\\u([dD][c-fC-F][0-9a-fA-F]{2})/', $this->s, $m, 0, $this->at)) {
                $this->at += 6;
                $u = 0x10000 + (($u - 0xD800) << 10) + (hexdec($m[1]) - 0xDC00);
            }
            $out .= self::utf8($u);       // half a surrogate becomes bytes that are no UTF-8, and is refused where it is used
        }
    }
    private function hex(): int {
        if (!preg_match('/\G[0-9a-fA-F]{4}/', $this->s, $m, 0, $this->at)) throw new NoJson("four digits are missing at $this->at");
        $this->at += 4;
        return hexdec($m[0]);
    }
    private static function utf8(int $u): string {
        if ($u < 0x80) return chr($u);
        if ($u < 0x800) return chr(0xC0 | $u >> 6) . chr(0x80 | $u & 63);
        if ($u < 0x10000) return chr(0xE0 | $u >> 12) . chr(0x80 | $u >> 6 & 63) . chr(0x80 | $u & 63);
        return chr(0xF0 | $u >> 18) . chr(0x80 | $u >> 12 & 63) . chr(0x80 | $u >> 6 & 63) . chr(0x80 | $u & 63);
    }

    /** JSON text in ASCII, a blank after comma and colon. Throws NoJson for half a surrogate. */
    public static function write(mixed $v, bool $sorted = false): string {
        if ($v === null) return 'null';
        if (is_bool($v)) return $v ? 'true' : 'false';
        if (is_int($v)) return (string)$v;
        if (is_string($v)) return self::quote($v);
        if ($v instanceof Num || $v instanceof Raw) return $v->text;
        if ($v instanceof Obj || !array_is_list($v)) {
            $m = $v instanceof Obj ? $v->m : $v;
            if ($sorted) uksort($m, fn($a, $b) => strcmp((string)$a, (string)$b));
            $parts = [];
            foreach ($m as $k => $x) $parts[] = self::quote((string)$k) . ': ' . self::write($x, $sorted);
            return '{' . implode(', ', $parts) . '}';
        }
        $parts = [];
        foreach ($v as $x) $parts[] = self::write($x, $sorted);
        return '[' . implode(', ', $parts) . ']';
    }
    private static function quote(string $s): string {
        $t = json_encode($s, JSON_UNESCAPED_SLASHES);
        if ($t === false) throw new NoJson('half a surrogate');
        return str_replace("\x7f", '\u007f', $t);
    }
}
