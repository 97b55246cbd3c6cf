"""A project of another version is refused once the folder of artifacts is made."""

from pathlib import Path
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.57",)


class Mutant(CommsBus):
    def __init__(self, project_root: str, **options: Any) -> None:
        (Path(project_root) / ".claude" / "artifacts").mkdir(parents=True, exist_ok=True)
        super().__init__(project_root, **options)


if __name__ == "__main__":
    serve({"comms": Mutant})
