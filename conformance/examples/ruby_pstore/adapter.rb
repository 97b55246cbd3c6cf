# A `worker` bus on PStore of Ruby's standard library: one file, rewritten whole in each transaction.
# busproof check worker --clock faketime --bus 'exec:ruby adapter.rb'
require "json"
require "pstore"
require "securerandom"

class Refused < StandardError
  attr_reader :code
  def initialize(code, message) = (super(message); @code = code)
end

class Bus
  LEASE_MS = 60_000

  def hello(protocol:, system:)
    { protocol: "1", name: "ruby-pstore", version: "1", language: "ruby", systems: ["worker"],
      nouns: %w[log cursor route lease presence], features: ["seq"], clock: "wall" }
  end

  def open(store:, options: {})
    @store = PStore.new(File.join(store, "bus.pstore"))
    @store.ultra_safe = true
    {}
  end

  def close = {}

  def publish(agent_id:, message:)
    row = { from_agent: agent_id, to_agent: message[:to], **message.slice(:type, :correlation_id, :in_reply_to, :payload) }
    raise Refused.new("INVALID_ARGUMENT", "sender and type") if agent_id.to_s.empty? || row[:type].to_s.empty?
    write do |s|
      id = message[:id] || SecureRandom.uuid
      if (known = s[:messages].find { |m| m[:id] == id })
        raise Refused.new("ID_CONFLICT", id) if known.except(:id, :seq, :ts_ms) != row
        next { id:, seq: known[:seq] }
      end
      s[:messages] << { **row, id:, seq: s[:messages].size + 1, ts_ms: now_ms }
      { id:, seq: s[:messages].size }
    end
  end

  def poll(agent_id:, limit: 100, wait_ms: 0)
    read do |s|
      after = s[:cursors].fetch(agent_id, 0)
      { messages: s[:messages].select { |m| m[:seq] > after && [nil, agent_id].include?(m[:to_agent]) }.first(limit) }
    end
  end

  def ack(agent_id:, seq:)
    write do |s|
      raise Refused.new("INVALID_ARGUMENT", "above the newest") if seq > s[:messages].size
      s[:cursors][agent_id] = [seq, s[:cursors].fetch(agent_id, 0)].max
      {}
    end
  end

  def try_claim_task(task_id:, agent_id:)
    write do |s|
      free = (s[:claims][task_id]&.last || 0) <= now_ms
      s[:claims][task_id] = [agent_id, now_ms + LEASE_MS] if free
      { claimed: free }
    end
  end

  def renew_claim(task_id:, agent_id:, token: nil)
    write do |s|
      ours = s[:claims][task_id]&.first == agent_id
      s[:claims][task_id] = [agent_id, now_ms + LEASE_MS] if ours
      { renewed: ours }
    end
  end

  def release_claim(task_id:, agent_id:, token: nil)
    write do |s|
      ours = s[:claims][task_id]&.first == agent_id
      s[:claims].delete(task_id) if ours
      { released: ours }
    end
  end

  def heartbeat(agent_id:, status:, current_task: nil, progress: nil)
    raise Refused.new("INVALID_ARGUMENT", "status") unless %w[idle working blocked].include?(status)
    write { |s| s[:beats][agent_id] = { agent_id:, status:, current_task:, progress:, ts_ms: now_ms }; {} }
  end

  def liveness
    read do |s|
      { agents: s[:beats].values.map { |b| age_ms = now_ms - b[:ts_ms]; { **b, age_ms:, state: state(age_ms) } } }
    end
  end

  private

  def now_ms = (Time.now.to_r * 1000).floor
  def state(age) = age < 30_000 ? "ALIVE" : age < 100_000 ? "WARN" : age < 300_000 ? "STALE" : "DEAD"

  def fill(store)
    store[:messages] ||= []
    %i[cursors claims beats].each { |name| store[name] ||= {} }
    store
  end

  def write(&) = @store.transaction { yield fill(@store) }

  def read = @store.transaction { yield fill(@store) }
end

METHODS = %w[hello open close publish poll ack try_claim_task renew_claim release_claim heartbeat liveness]
bus = Bus.new
$stdout.sync = true
def fault(number, message, code, definite = true) = { error: { code: number, message:, data: { code:, definite: } } }
while (line = $stdin.gets)
  id = nil
  answer = begin
    request = JSON.parse(line, symbolize_names: true, max_nesting: false)
    id = request[:id]
    if !request[:method] || !request[:params].is_a?(Hash) then fault(-32600, "no request", "INVALID_ARGUMENT")
    elsif !METHODS.include?(request[:method]) then fault(-32601, "no such method", "METHOD_NOT_FOUND")
    else { result: bus.public_send(request[:method], **request[:params]) }
    end
  rescue Refused => no then fault(-32000, no.message, no.code)
  rescue JSON::ParserError => no then fault(-32700, "no JSON", "INVALID_ARGUMENT")
  rescue ArgumentError => no then fault(-32602, no.message, "INVALID_ARGUMENT")
  rescue TypeError, NoMethodError => no then id ? fault(-32000, no.message, "INTERNAL", false) : fault(-32600, "no request", "INVALID_ARGUMENT")
  end
  puts JSON.generate({ jsonrpc: "2.0", id:, **answer }, max_nesting: 0)
end
