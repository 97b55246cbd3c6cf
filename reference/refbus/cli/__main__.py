"""`python -m refbus.cli`."""

from __future__ import annotations

import sys

from refbus.cli import main

sys.exit(main())
