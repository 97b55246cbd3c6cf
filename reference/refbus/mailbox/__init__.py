"""The `mailbox` bus (docs/spec/mailbox.md): an inbox for each agent, an acknowledgement for each message."""
