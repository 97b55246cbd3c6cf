"""Faults of relay, blob."""

from plant import fault, rewrite

from refbus.relay import blob, process

CONTROL = "lease.lock"


@fault("relay.blob.03", item="corpus:attachments")
def hashes_are_believed():
    """An attachment is not read."""
    rewrite(blob.Attachments._verify, "if sum_.hexdigest() != digest:", 'if sum_.hexdigest() == "":')


@fault("relay.blob.04", item="corpus:attachments")
def missing_is_corrupt():
    """A missing attachment is called corrupt."""
    rewrite(
        blob.Attachments.verify,
        'raise Failure("attachment_missing", digest) from None',
        'raise Failure("attachment_corrupt", digest) from None',
    )


@fault("relay.blob.01", item="corpus:attachments")
def other_folders():
    """An attachment is looked for below its first digit."""
    rewrite(blob.Attachments._look, "digest[:2]", "digest[:1]")


@fault("relay.blob.02", item="corpus:attachments")
def references_are_dropped():
    """ATTACHMENT does not reach the recipient."""
    rewrite(
        process.Processing._copies,
        "msgfile.format_copy(row.agent, row.message_id, data)",
        'msgfile.format_copy(row.agent, row.message_id, data.replace(b"ATTACHMENT: ", b"X-ATTACHED: "))',
    )


@fault("relay.blob.05", item="corpus:attachments")
def used_up():
    """An attachment is removed once it was named."""
    rewrite(
        blob.Attachments._verify,
        "status = os.fstat(file)",
        "status = os.fstat(file)\n        os.unlink(self._store.root / 'attachments' / digest[:2] / digest)",
    )
