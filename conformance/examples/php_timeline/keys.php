<?php
// Routing keys, subjects, filters and the names of consumers.
final class Refused extends Exception {
    public function __construct(public string $kind, string $message, public bool $definite = true) { parent::__construct($message); }
}

final class Keys {
    const ROOT = 'vlinder';
    const SEQUENCE_MAX = 9007199254740992;
    const NAME_MAX = 200;
    const WORDS = ['invoke' => 'invoke', 'complete' => 'complete', 'request' => 'req', 'response' => 'res',
        'delegate' => 'delegate', 'delegate-reply' => 'delegate-reply', 'fork' => 'fork'];
    const DIMS = [
        'invoke' => ['harness', 'runtime', 'agent'],
        'complete' => ['agent', 'harness'],
        'request' => ['agent', 'service', 'backend', 'operation', 'sequence'],
        'response' => ['service', 'backend', 'agent', 'operation', 'sequence'],
        'delegate' => ['caller', 'target'],
        'delegate-reply' => ['caller', 'target', 'nonce'],
        'fork' => ['agent_name']];
    const REPLY = ['invoke' => 'complete', 'request' => 'response', 'delegate' => 'delegate-reply'];

    public static function bad(string $why): never { throw new Refused('INVALID_ARGUMENT', $why); }

    /** A name: a text of 1 to 200 bytes of UTF-8. */
    public static function name(mixed $v, string $what): string {
        if (!is_string($v)) self::bad("$what is no text");
        if ($v === '') self::bad("$what is empty");
        if (strlen($v) > self::NAME_MAX) self::bad("$what has more than " . self::NAME_MAX . ' bytes');
        if (!preg_match('//u', $v)) self::bad("$what is no UTF-8");
        return $v;
    }
    private static function dimension(string $dim, mixed $v): string|int {
        if ($dim !== 'sequence') return self::name($v, $dim);
        if (!is_int($v) || $v < 0 || $v > self::SEQUENCE_MAX) self::bad('sequence is no whole number from 0 to 2^53');
        return $v;
    }
    private static function type(array $m): string {
        $type = $m['type'] ?? null;
        if (!is_string($type) || !isset(self::DIMS[$type])) self::bad('no such type of message');
        return $type;
    }
    public static function all(string $type): array { return ['timeline', 'submission', ...self::DIMS[$type]]; }

    /** A key as it came, checked: type, and every dimension, in the order of the subject. */
    public static function check(mixed $key): array {
        $m = $key instanceof Obj ? $key->m : self::bad('a key is an object');
        $type = self::type($m);
        $out = ['type' => $type];
        foreach (self::all($type) as $dim) {
            if (!array_key_exists($dim, $m)) self::bad("$dim is missing");
            $out[$dim] = self::dimension($dim, $m[$dim]);
        }
        foreach ($m as $k => $_) if (!array_key_exists($k, $out)) self::bad("a key of $type has no such dimension");
        return $out;
    }
    /** The nonce that comes with a key: of delegations alone. */
    public static function nonce(array $key, mixed $nonce, bool $needed = false): ?string {
        if ($nonce !== null && $key['type'] !== 'delegate') self::bad('a nonce is for delegations alone');
        if ($nonce === null && $key['type'] === 'delegate' && $needed) self::bad('a delegation needs a nonce');
        return $nonce === null ? null : self::name($nonce, 'nonce');
    }
    public static function token(string|int $v): string {
        return preg_replace_callback('/[^A-Za-z0-9_~-]/', fn($m) => sprintf('%%%02X', ord($m[0])), (string)$v);
    }
    public static function untoken(string $t): string {
        if (!preg_match('/^(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})+$/D', $t)) self::bad('no token');
        $v = preg_replace_callback('/%(..)/', fn($m) => chr(hexdec($m[1])), $t);
        if (self::token($v) !== $t) self::bad('an escape that was not needed');
        return $v;
    }
    public static function subject(array $key): string {
        $tokens = [self::ROOT, self::token($key['timeline']), self::token($key['submission']), self::WORDS[$key['type']]];
        foreach (self::DIMS[$key['type']] as $dim) $tokens[] = self::token($key[$dim]);
        return implode('.', $tokens);
    }
    public static function parse(string $subject): array {
        $t = explode('.', $subject);
        $type = array_search($t[3] ?? '', self::WORDS, true);
        if ($t[0] !== self::ROOT || $type === false) self::bad('no subject of ours');
        if (count($t) !== 4 + count(self::DIMS[$type])) self::bad('tokens too many or too few');
        $key = ['type' => $type];
        foreach (self::all($type) as $i => $dim) {
            $token = $t[$i < 2 ? $i + 1 : $i + 2];
            if ($dim === 'sequence') {
                if (!preg_match('/^(?:0|[1-9]\d{0,15})$/D', $token)) self::bad('sequence is no plain decimal');
                $key[$dim] = self::dimension($dim, (int)$token);
            } else $key[$dim] = self::dimension($dim, self::untoken($token));
        }
        return $key;
    }
    public static function reply(array $key, ?string $nonce): array {
        $type = self::REPLY[$key['type']] ?? self::bad("{$key['type']} has no reply");
        if ($type === 'delegate-reply') $key['nonce'] = $nonce ?? self::bad('a delegation needs its nonce for a reply key');
        $out = ['type' => $type];
        foreach (self::all($type) as $dim) $out[$dim] = $key[$dim];
        return $out;
    }
    public static function filter(mixed $filter): array {
        $m = $filter instanceof Obj ? $filter->m : self::bad('a filter is an object');
        $type = self::type($m);
        $out = ['type' => $type];
        foreach (self::all($type) as $dim) if (isset($m[$dim])) $out[$dim] = self::dimension($dim, $m[$dim]);
        foreach ($m as $k => $_) if ($k !== 'type' && !in_array((string)$k, self::all($type), true)) self::bad("$type has no such dimension");
        return $out;
    }
    public static function pattern(array $filter): string {
        $tokens = [self::ROOT];
        foreach (['timeline', 'submission'] as $dim) $tokens[] = isset($filter[$dim]) ? self::token($filter[$dim]) : '*';
        $tokens[] = self::WORDS[$filter['type']];
        $dims = self::DIMS[$filter['type']];
        while ($dims && !isset($filter[end($dims)])) array_pop($dims);
        foreach ($dims as $dim) $tokens[] = isset($filter[$dim]) ? self::token($filter[$dim]) : '*';
        if (count($dims) < count(self::DIMS[$filter['type']])) $tokens[] = '>';
        return implode('.', $tokens);
    }
    public static function consumer(string $pattern, ?string $group = null): string {
        $name = strtr($pattern, ['.' => '+', '*' => '=', '>' => '==']) . ($group === null ? '' : '@' . self::token($group));
        return strlen($name) > 200 ? 'sha256+' . hash('sha256', $name) : $name;
    }
    public static function fits(string $pattern, string $subject): bool {
        $p = explode('.', $pattern);
        $s = explode('.', $subject);
        foreach ($p as $i => $token) {
            if ($token === '>') return count($s) > $i;
            if (!isset($s[$i]) || ($token !== '*' && $token !== $s[$i])) return false;
        }
        return count($p) === count($s);
    }
    public static function matches(array $filter, array $key): bool {
        foreach ($filter as $dim => $v) if (($key[$dim] ?? null) !== $v) return false;
        return true;
    }
}
