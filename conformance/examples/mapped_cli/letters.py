"""A mailbox as a command line: one file of JSON lines under a lock.

    letters.py FILE send FROM TO --key=K --text=T      prints: sent as NUMBER
    letters.py FILE inbox AGENT --limit=N              prints a JSON line for each letter that is not acked, oldest first
    letters.py FILE ack AGENT NUMBER…
    letters.py FILE lock NAME AGENT SECONDS            exit status 3: somebody has it
    letters.py FILE unlock NAME AGENT
"""

import argparse, fcntl, json, os, sys, time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, words in {"send": ["sender", "to"], "inbox": ["agent"], "ack": ["agent"],
                        "lock": ["name", "agent", "seconds"], "unlock": ["name", "agent"]}.items():
        part = verbs.add_parser(verb)
        for word in words:
            part.add_argument(word)
    verbs.choices["send"].add_argument("--text", required=True)
    verbs.choices["send"].add_argument("--key")
    verbs.choices["inbox"].add_argument("--limit", type=int, default=100)
    verbs.choices["ack"].add_argument("numbers", type=int, nargs="+")
    args = parser.parse_args()
    with open(args.file, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        add = lambda **row: print(json.dumps(row), file=file, flush=True) or os.fsync(file.fileno())
        return globals()[args.verb](args, read(file), add)


def read(file):
    """The rows. A line without its end, or with a hole, was never answered: a kill, a full disk or a power cut left it."""
    file.seek(0)
    *lines, torn = file.read().split("\n")
    torn = lines.pop() if lines and "\0" in lines[-1] else torn
    if torn:
        file.truncate(len("".join(f"{line}\n" for line in lines)))
    return [json.loads(line) for line in lines]


def send(args, rows, add):
    letters = [row for row in rows if "text" in row]
    again = [row for row in letters if args.key and (row["from"], row.get("key")) == (args.sender, args.key)]
    if again and (again[0]["to"], again[0]["text"]) != (args.to, args.text):
        sys.exit(f"the key {args.key} is that of another letter")
    number = again[0]["number"] if again else len(letters) + 1
    if not again:
        add(number=number, to=args.to, key=args.key, text=args.text, **{"from": args.sender})
    print(f"sent as {number}")


def inbox(args, rows, add):
    acked = {number for row in rows if row.get("by") == args.agent for number in row["acked"]}
    mine = [row for row in rows if row.get("to") == args.agent and row["number"] not in acked]
    print(*map(json.dumps, mine[: args.limit]), sep="\n")


def ack(args, rows, add):
    own = [row["number"] for row in rows if row.get("to") == args.agent]
    add(by=args.agent, acked=[number for number in args.numbers if number in own])


def lock(args, rows, add):
    taken = holder(args.name, rows) is not None
    return 3 if taken else add(lock=args.name, holder=args.agent, until=time.time() + float(args.seconds))


def unlock(args, rows, add):
    return 3 if holder(args.name, rows) != args.agent else add(lock=args.name, holder=None, until=0)


def holder(name, rows):
    last = [row for row in rows if row.get("lock") == name][-1:]
    return last[0]["holder"] if last and last[0]["until"] > time.time() else None


sys.exit(main())
