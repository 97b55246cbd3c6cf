"""One call of acta's Python interface: `python call.py BOARD send FROM TO BODY | receive AGENT | ack ID`."""

import json
import sys

import acta

board, operation, *words = sys.argv[1:]
if operation == "send":
    answer = {"id": acta.post(words[2], sender=words[0], to=words[1], board=board).stem}
elif operation == "receive":
    answer = acta.read(to=words[0], board=board)
else:
    answer = {"cleared": acta.clear(words[0], board=board)}
print(json.dumps(answer, default=str))
