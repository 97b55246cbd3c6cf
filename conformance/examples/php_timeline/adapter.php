<?php
// The adapter: JSON-RPC 2.0, one object a line.
ini_set('display_errors', 'stderr');
set_error_handler(fn($no, $text, $file, $line) => throw new ErrorException($text, 0, $no, $file, $line));
require_once __DIR__ . '/bus.php';
final class Rpc extends Exception {}

$bus = null;
$clock = null;
$open = function () use (&$bus): Bus { return $bus ?? throw new Refused("NOT_OPEN", "open comes first"); };
$call = function (array $p, string $type, array $dims) use ($open) {
    $fields = ['type' => $type];
    foreach (['timeline', 'submission', ...$dims] as $dim) $fields[$dim] = $p[$dim];
    return $open()->call($fields, $p['payload'] ?? null, $p['nonce'] ?? null, $p['timeout_ms'] ?? 30000);
};
// name => [required, optional, what it does]
$methods = [
    'hello' => [[], ['protocol', 'system'], function ($p) {
        if (isset($p['protocol']) && !in_array('1', (array)$p['protocol'], true)) Keys::bad('this adapter speaks version 1');
        return ['protocol' => '1', 'name' => 'php-timeline', 'version' => '1', 'language' => 'php', 'systems' => ['timeline'],
            'nouns' => ['log', 'cursor', 'route', 'retry', 'export', 'fork'],
            'features' => ['calls', 'nak', 'groups', 'replay', 'verify', 'dump', 'sqlite'], 'clock' => 'manual', 'durability' => 'process-crash',
            'limits' => ['payload_bytes_max' => Bus::PAYLOAD_MAX, 'name_bytes_max' => Keys::NAME_MAX, 'sequence_max' => Keys::SEQUENCE_MAX, 'call_timeout_ms' => 30000]];
    }],
    'open' => [['store'], ['options'], function ($p) use (&$bus, &$clock) {
        $options = ($p['options'] ?? null) instanceof Obj ? $p['options']->m : [];
        $wait = $options['ack_wait_ms'] ?? 30000;
        if (!is_int($wait) || $wait < 1 || $wait > 1000 * Bus::DAY_MS) Keys::bad('ack_wait_ms is no whole number from 1');
        if (($options['backend'] ?? 'sqlite') !== 'sqlite') Keys::bad('this bus has no other backend than sqlite');
        if (!is_string($p['store'])) throw new Rpc('store is no text', -32602);
        $bus = null;
        $bus = new Bus($p['store'], $wait * 1000);
        $bus->setClock($clock);
    }],
    'close' => [[], [], function () use (&$bus, &$clock) { $bus = null; $clock = null; }],
    'clock.set' => [['now_ms'], [], function ($p) use (&$bus, &$clock) {
        if (!is_int($p['now_ms']) || abs($p['now_ms']) > 9007199254740) Keys::bad('now_ms is no time');
        $clock = $p['now_ms'];
        $bus?->setClock($clock);
    }],
    'subject_of' => [['key'], ['nonce'], function ($p) {
        $key = Keys::check($p['key']);
        Keys::nonce($key, $p['nonce'] ?? null);
        return ['subject' => Keys::subject($key), 'consumer' => Keys::consumer(Keys::subject($key))];
    }],
    'key_of' => [['subject'], [], fn($p) => ['key' => Keys::parse(is_string($p['subject']) ? $p['subject'] : Keys::bad('a subject is a text'))]],
    'reply_key' => [['key'], ['nonce'], function ($p) {
        $key = Keys::check($p['key']);
        return ['key' => Keys::reply($key, Keys::nonce($key, $p['nonce'] ?? null))];
    }],
    'filter_subject' => [['filter'], ['group'], fn($p) => $open()->filterSubject($p['filter'], $p['group'] ?? null)],
    'matches' => [['filter', 'key'], [], fn($p) => ['matches' => Keys::matches(Keys::filter($p['filter']), Keys::check($p['key']))]],
    'send' => [['key'], ['nonce', 'payload'], fn($p) => $open()->send($p['key'], $p['payload'] ?? null, $p['nonce'] ?? null)],
    'reply' => [['key'], ['nonce', 'payload', 'state'], fn($p) => $open()->reply($p['key'], $p['payload'] ?? null, $p['nonce'] ?? null, $p['state'] ?? null)],
    'log' => [['timeline'], ['submission', 'after', 'limit'], fn($p) => $open()->log($p['timeline'], $p['submission'] ?? null, $p['after'] ?? 0, $p['limit'] ?? 1000)],
    'state' => [['timeline', 'agent'], [], fn($p) => $open()->state($p['timeline'], $p['agent'])],
    'verify' => [[], ['timeline', 'head'], fn($p) => $open()->verify($p['timeline'] ?? null, $p['head'] ?? null)],
    'fetch' => [['filter'], ['group', 'wait_ms'], fn($p) => $open()->fetch($p['filter'], $p['group'] ?? null, $p['wait_ms'] ?? 0)],
    'ack' => [['delivery'], [], fn($p) => $open()->ack($p['delivery'])],
    'nak' => [['delivery'], [], fn($p) => $open()->nak($p['delivery'])],
    'run_agent' => [['timeline', 'submission', 'harness', 'runtime', 'agent'], ['payload', 'timeout_ms'], fn($p) => $call($p, 'invoke', ['harness', 'runtime', 'agent'])],
    'call_service' => [['timeline', 'submission', 'agent', 'service', 'backend', 'operation', 'sequence'], ['payload', 'timeout_ms'],
        fn($p) => $call($p, 'request', ['agent', 'service', 'backend', 'operation', 'sequence'])],
    'delegate' => [['timeline', 'submission', 'caller', 'target', 'nonce'], ['payload', 'timeout_ms'], fn($p) => $call($p, 'delegate', ['caller', 'target'])],
    'replay' => [['timeline', 'submission'], [], fn($p) => $open()->replay($p['timeline'], $p['submission'])],
    'fork' => [['timeline', 'submission', 'agent_name', 'parent', 'at'], [], fn($p) => $open()->fork($p['timeline'], $p['submission'], $p['agent_name'], $p['parent'], $p['at'])],
    'timelines' => [[], [], fn($p) => $open()->timelines()],
    'dump' => [[], [], fn($p) => $open()->dump()],
];
$refusal = fn(string $code, bool $definite) => ['code' => $code, 'definite' => $definite];
while (($line = fgets(STDIN)) !== false) {
    $id = null;
    try {
        $request = Json::parse($line);
        $m = $request instanceof Obj ? $request->m : throw new Rpc('a request is an object', -32600);
        if (is_int($m['id'] ?? null) || is_string($m['id'] ?? null)) $id = $m['id'];
        if ($id === null || ($m['jsonrpc'] ?? null) !== '2.0' || !is_string($m['method'] ?? null)) throw new Rpc('no request', -32600);
        [$required, $optional, $do] = $methods[$m['method']] ?? throw new Rpc('no such method', -32601);
        $params = $m['params'] ?? new Obj();
        if (!$params instanceof Obj) throw new Rpc('params are an object', -32602);
        foreach ($required as $name) if (!array_key_exists($name, $params->m)) throw new Rpc("$name is missing", -32602);
        foreach ($params->m as $name => $_) if (!in_array((string)$name, [...$required, ...$optional], true)) throw new Rpc("there is no parameter $name", -32602);
        $answer = ['result' => $do($params->m) ?: new Obj()];
    } catch (NoJson $no) {
        $answer = ['error' => ['code' => -32700, 'message' => $no->getMessage(), 'data' => $refusal('INVALID_ARGUMENT', true)]];
    } catch (Rpc $no) {
        $answer = ['error' => ['code' => $no->getCode(), 'message' => $no->getMessage(),
            'data' => $refusal($no->getCode() === -32601 ? 'METHOD_NOT_FOUND' : 'INVALID_ARGUMENT', true)]];
    } catch (Refused $no) {
        $answer = ['error' => ['code' => -32000, 'message' => $no->getMessage(), 'data' => $refusal($no->kind, $no->definite)]];
    } catch (Throwable $no) {
        fwrite(STDERR, "$no\n");
        $answer = ['error' => ['code' => -32000, 'message' => $no->getMessage(), 'data' => $refusal('INTERNAL', false)]];
    }
    fwrite(STDOUT, Json::write(['jsonrpc' => '2.0', 'id' => $id, ...$answer]) . "\n");
}
