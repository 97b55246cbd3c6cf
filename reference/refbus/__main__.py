"""`python -m refbus` is `refbus`."""

import sys

from refbus.cli import main

sys.exit(main())
