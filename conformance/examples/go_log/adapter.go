// A `worker` bus in Go, of the standard library alone: one file of JSON lines, appended under flock, read on by every
// session. Go asks the kernel for the time, past the C library, so this bus answers clock.set:
//
//	go build -o adapter adapter.go && busproof check worker --bus 'exec:./adapter'
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const leaseMs = 60_000

type m = map[string]any
type params = json.RawMessage

type refused struct{ code, message string }

func (no refused) Error() string { return no.code + ": " + no.message }

var clockMs *int64

func nowMs() int64 {
	if clockMs != nil {
		return *clockMs
	}
	return time.Now().UnixMilli()
}

// -- the store: what happened, in order; state is what came of it

type message struct {
	Seq           int64           `json:"seq,omitempty"`
	Id            string          `json:"id,omitempty"`
	TsMs          int64           `json:"ts_ms,omitempty"`
	FromAgent     string          `json:"from_agent"`
	ToAgent       *string         `json:"to_agent"`
	Type          string          `json:"type"`
	CorrelationId *string         `json:"correlation_id,omitempty"`
	InReplyTo     *string         `json:"in_reply_to,omitempty"`
	Payload       json.RawMessage `json:"payload,omitempty"` // null is a payload; of a pointer it would make none
}

type claim struct {
	Task, Agent string
	UntilMs     int64
}

type beat struct {
	AgentId     string   `json:"agent_id"`
	Status      string   `json:"status"`
	CurrentTask *string  `json:"current_task"`
	Progress    *float64 `json:"progress"`
	TsMs        int64    `json:"ts_ms"`
}

type event struct {
	Message *message `json:",omitempty"`
	Ack     *struct {
		Agent string
		Seq   int64
	} `json:",omitempty"`
	Claim   *claim  `json:",omitempty"`
	Release *string `json:",omitempty"`
	Beat    *beat   `json:",omitempty"`
}

type bus struct {
	file     *os.File
	readUpto int64
	messages []*message
	byId     map[string]*message
	cursors  map[string]int64
	claims   map[string]*claim
	beats    map[string]*beat
}

func (b *bus) apply(e event) {
	switch {
	case e.Message != nil:
		b.messages = append(b.messages, e.Message)
		e.Message.Seq = int64(len(b.messages))
		b.byId[e.Message.Id] = e.Message
	case e.Ack != nil:
		if e.Ack.Seq > b.cursors[e.Ack.Agent] {
			b.cursors[e.Ack.Agent] = e.Ack.Seq
		}
	case e.Claim != nil:
		b.claims[e.Claim.Task] = e.Claim
	case e.Release != nil:
		delete(b.claims, *e.Release)
	case e.Beat != nil:
		b.beats[e.Beat.AgentId] = e.Beat
	}
}

// alone runs do under the file's lock, on the state of now.
func (b *bus) alone(do func() (any, error)) (any, error) {
	if b == nil {
		return nil, refused{"NOT_OPEN", "no store is open"}
	}
	if err := syscall.Flock(int(b.file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	defer syscall.Flock(int(b.file.Fd()), syscall.LOCK_UN)
	if err := b.catchUp(); err != nil {
		return nil, err
	}
	return do()
}

// catchUp reads on. A last line without its end, or with a hole that a power cut left in it, was never acknowledged.
func (b *bus) catchUp() error {
	text, err := io.ReadAll(io.NewSectionReader(b.file, b.readUpto, 1<<40))
	if err != nil {
		return err
	}
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return b.file.Truncate(b.readUpto)
		}
		var e event
		if err := json.Unmarshal(text[:end], &e); err != nil {
			if end+1 == len(text) {
				return b.file.Truncate(b.readUpto)
			}
			return err
		}
		b.apply(e)
		b.readUpto += int64(end) + 1
		text = text[end+1:]
	}
	return nil
}

func (b *bus) add(e event) error {
	text, err := encoded(e)
	if err != nil {
		return err
	}
	if _, err = b.file.WriteAt(text, b.readUpto); err != nil {
		return err
	}
	if err = b.file.Sync(); err != nil {
		return err
	}
	b.readUpto += int64(len(text))
	b.apply(e)
	return nil
}

func encoded(value any) ([]byte, error) {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	err := to.Encode(value)
	return text.Bytes(), err
}

// -- methods

var open *bus

type holder struct {
	TaskId  string `json:"task_id"`
	AgentId string `json:"agent_id"`
}

func publish(p params) (any, error) {
	var of struct {
		AgentId string `json:"agent_id"`
		Message struct {
			Id *string `json:"id"`
			To *string `json:"to"`
			message
		}
	}
	if err := json.Unmarshal(p, &of); err != nil {
		return nil, err
	}
	said := of.Message.message
	said.Seq, said.Id, said.TsMs, said.FromAgent, said.ToAgent = 0, "", 0, of.AgentId, of.Message.To
	if said.FromAgent == "" || said.Type == "" {
		return nil, refused{"INVALID_ARGUMENT", "a message has a sender and a type"}
	}
	return open.alone(func() (any, error) {
		id := uuid4()
		if of.Message.Id != nil {
			id = *of.Message.Id
		}
		if known, ok := open.byId[id]; ok {
			before := *known
			before.Seq, before.Id, before.TsMs = 0, "", 0
			if !same(before, said) {
				return nil, refused{"ID_CONFLICT", id + " is another message"}
			}
			return m{"id": id, "seq": known.Seq}, nil
		}
		said.Id, said.TsMs = id, nowMs()
		err := open.add(event{Message: &said})
		return m{"id": id, "seq": len(open.messages)}, err
	})
}

// same compares as JSON values, whatever the order of their keys.
func same(a, b message) bool {
	canonical := func(one message) string {
		text, _ := json.Marshal(one)
		var value any
		from := json.NewDecoder(bytes.NewReader(text))
		from.UseNumber()
		_ = from.Decode(&value)
		text, _ = json.Marshal(value)
		return string(text)
	}
	return canonical(a) == canonical(b)
}

func uuid4() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func ofHolder(p params, do func(of holder, held *claim) (any, error)) (any, error) {
	var of holder
	if err := json.Unmarshal(p, &of); err != nil {
		return nil, err
	}
	return open.alone(func() (any, error) { return do(of, open.claims[of.TaskId]) })
}

func take(of holder) error {
	return open.add(event{Claim: &claim{of.TaskId, of.AgentId, nowMs() + leaseMs}})
}

func state(ageMs int64) string {
	switch {
	case ageMs < 30_000:
		return "ALIVE"
	case ageMs < 100_000:
		return "WARN"
	case ageMs < 300_000:
		return "STALE"
	}
	return "DEAD"
}

var methods = map[string]func(params) (any, error){
	"hello": func(params) (any, error) {
		return m{
			"protocol": "1", "name": "go-log", "version": "1", "language": "go", "systems": []string{"worker"},
			"nouns":    []string{"log", "cursor", "route", "lease", "presence"},
			"features": []string{"seq"}, "clock": "manual",
		}, nil
	},
	"open": func(p params) (any, error) {
		var of struct{ Store string }
		if err := json.Unmarshal(p, &of); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(filepath.Join(of.Store, "bus.jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
		open = &bus{file: file, byId: map[string]*message{}, cursors: map[string]int64{}, claims: map[string]*claim{}, beats: map[string]*beat{}}
		return m{}, err
	},
	"close": func(params) (any, error) {
		clockMs = nil
		return m{}, open.file.Close()
	},
	"clock.set": func(p params) (any, error) {
		var of struct {
			NowMs int64 `json:"now_ms"`
		}
		err := json.Unmarshal(p, &of)
		clockMs = &of.NowMs
		return m{}, err
	},
	"publish": publish,
	"poll": func(p params) (any, error) {
		of := struct {
			AgentId string `json:"agent_id"`
			Limit   int
		}{Limit: 100}
		if err := json.Unmarshal(p, &of); err != nil {
			return nil, err
		}
		return open.alone(func() (any, error) {
			found := []*message{}
			for _, one := range open.messages {
				isOurs := one.ToAgent == nil || *one.ToAgent == of.AgentId
				if one.Seq > open.cursors[of.AgentId] && isOurs && len(found) < of.Limit {
					found = append(found, one)
				}
			}
			return m{"messages": found}, nil
		})
	},
	"ack": func(p params) (any, error) {
		var of struct {
			AgentId string `json:"agent_id"`
			Seq     int64
		}
		if err := json.Unmarshal(p, &of); err != nil {
			return nil, err
		}
		return open.alone(func() (any, error) {
			if of.Seq > int64(len(open.messages)) {
				return nil, refused{"INVALID_ARGUMENT", fmt.Sprint("the newest seq is ", len(open.messages))}
			}
			e := event{Ack: &struct {
				Agent string
				Seq   int64
			}{of.AgentId, of.Seq}}
			return m{}, open.add(e)
		})
	},
	"try_claim_task": func(p params) (any, error) {
		return ofHolder(p, func(of holder, held *claim) (any, error) {
			if held != nil && held.UntilMs > nowMs() {
				return m{"claimed": false}, nil
			}
			return m{"claimed": true}, take(of)
		})
	},
	"renew_claim": func(p params) (any, error) {
		return ofHolder(p, func(of holder, held *claim) (any, error) {
			if held == nil || held.Agent != of.AgentId {
				return m{"renewed": false}, nil
			}
			return m{"renewed": true}, take(of)
		})
	},
	"release_claim": func(p params) (any, error) {
		return ofHolder(p, func(of holder, held *claim) (any, error) {
			if held == nil || held.Agent != of.AgentId {
				return m{"released": false}, nil
			}
			return m{"released": true}, open.add(event{Release: &of.TaskId})
		})
	},
	"heartbeat": func(p params) (any, error) {
		var of beat
		if err := json.Unmarshal(p, &of); err != nil {
			return nil, err
		}
		if of.Status != "idle" && of.Status != "working" && of.Status != "blocked" {
			return nil, refused{"INVALID_ARGUMENT", "no such status"}
		}
		of.TsMs = nowMs()
		return open.alone(func() (any, error) { return m{}, open.add(event{Beat: &of}) })
	},
	"liveness": func(params) (any, error) {
		return open.alone(func() (any, error) {
			agents := []m{}
			for _, one := range open.beats {
				ageMs := nowMs() - one.TsMs
				agents = append(agents, m{
					"agent_id": one.AgentId, "status": one.Status, "current_task": one.CurrentTask,
					"progress": one.Progress, "ts_ms": one.TsMs, "age_ms": ageMs, "state": state(ageMs),
				})
			}
			return m{"agents": agents}, nil
		})
	},
}

// -- the door

func answer(line []byte) m {
	var request struct {
		Id     any
		Method *string
		Params params
	}
	if !json.Valid(line) {
		return m{"id": nil, "error": fault(-32700, "no JSON", "INVALID_ARGUMENT", true)}
	}
	err := json.Unmarshal(line, &request)
	if err != nil || request.Method == nil || !bytes.HasPrefix(request.Params, []byte("{")) {
		return m{"id": request.Id, "error": fault(-32600, "no request", "INVALID_ARGUMENT", true)}
	}
	method, found := methods[*request.Method]
	if !found {
		return m{"id": request.Id, "error": fault(-32601, "no method "+*request.Method, "METHOD_NOT_FOUND", true)}
	}
	result, err := method(request.Params)
	switch no := err.(type) {
	case nil:
		return m{"id": request.Id, "result": result}
	case refused:
		return m{"id": request.Id, "error": fault(-32000, no.message, no.code, true)}
	case *json.UnmarshalTypeError:
		return m{"id": request.Id, "error": fault(-32602, err.Error(), "INVALID_ARGUMENT", true)}
	}
	return m{"id": request.Id, "error": fault(-32000, err.Error(), "INTERNAL", false)}
}

func fault(number int, message, code string, definite bool) m {
	return m{"code": number, "message": message, "data": m{"code": code, "definite": definite}}
}

func main() {
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			reply := answer(line)
			reply["jsonrpc"] = "2.0"
			text, err := encoded(reply)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			os.Stdout.Write(text)
		}
		if err != nil {
			return
		}
	}
}
