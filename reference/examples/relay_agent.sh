#!/usr/bin/env bash
# An agent of the relay in a page of shell: it says one thing, whole and durable, and shows what it was told.
#
#   AGENT_RELAY_NAME=alice relay_agent.sh Lead "ACK: task received and understood."
#
# No orchestrator need run: a message waits in the outbox until one does.
set -euo pipefail

root=${AGENT_RELAY_DIR:-$HOME/.agent-relay}
me=${AGENT_RELAY_NAME:-myagent}
to=${1:-Lead}
body=${2:-ACK: task received and understood.}
outbox=$root/agents/$me/outbox
mkdir -p "$outbox/.pending"

# A name that nobody else has: nanoseconds, and eight random hexadecimal digits.
name=$(date +%s%N)-$(od -An -N4 -tx4 /dev/urandom | tr -d ' \n').msg

# Written where nobody looks, made durable, and only then renamed to where it is looked for.
printf 'TO: %s\n\n%s\n' "$to" "$body" > "$outbox/.pending/$name"
sync "$outbox/.pending/$name"
mv "$outbox/.pending/$name" "$outbox/$name"
sync "$outbox"
echo "sent $name"

# What has come: the names rise in the order of delivery.
for message in "$root/agents/$me/inbox/"*.msg; do
    [ -e "$message" ] || continue
    cat "$message"
    rm "$message"
done
