"""`python -m toy.run …` is `busproof …` with the toy registered, in every process that it starts."""

import os
import sys

from busproof.cli import main
from toy import system

assert system
if __name__ == "__main__":
    os.environ["PYTEST_PLUGINS"] = "toy.system"
    sys.exit(main())
