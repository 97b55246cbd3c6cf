"""`python -m busproof` is `busproof`."""

import sys

from busproof.cli import main

sys.exit(main())
