"""Pure rules: state in, decision out; time and randomness are arguments."""
