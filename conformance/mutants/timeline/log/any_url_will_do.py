"""What config.toml says of the queue is used as it stands there, whatever kind of value it is."""

from pathlib import Path

from refbus.driver import serve
from refbus.timeline import config
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.25",)


def load(folder: Path, **said: str | None) -> config.Config:
    values = config._read(folder / config.CONFIG_NAME)
    found = config.Config(**{**values, **{name: value for name, value in said.items() if value is not None}})
    found.nats_url.partition("://")
    return found


config.load = load


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
