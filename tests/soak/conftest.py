"""What is too long for the suite: collected with SOAK=1 only."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("SOAK") else ["test_*.py"]
