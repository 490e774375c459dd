"""The code of swarms' own files, read and compiled once for each content of a file.

Such a file is executed again for every run, so that no run sees what another one left in its variables. To compile it
takes as long as to execute it. Python's own bytecode files are no help: they tell versions of a file apart by whole
seconds and by size.

Whether a file has changed is told by its inode, its size and its times. The time of the last change of the inode
(`st_ctime`) cannot be set by a program, so that a file that was edited and given its old time again is read. A file
that was changed shortly before it was read is read again next time: another change within the same tick of the file
system's clock would not be seen.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Final

MAX_FILES: Final = 256
"""Contents whose code is kept."""
SETTLED_NS: Final = 2_000_000_000
"""How long, in nanoseconds, a file has to be unchanged before its times are trusted: file systems tick in up to 2 s."""

_Key = tuple[str, bytes]
_Stamp = tuple[int, int, int, int, int]
_codes: OrderedDict[_Key, CodeType] = OrderedDict()
_settled: dict[str, tuple[_Stamp, _Key]] = {}
"""By path: how the file was, and what was read, where that was long enough after its last change."""


class OnceCompiledLoader(SourceFileLoader):
    """Loads a Python file by its content as it is now."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file; compiled only where its content is another than before."""
        path = self.get_filename(fullname)
        stamp, now = _stamp(path), time.time_ns()
        seen, key = _settled.get(path, (None, None))
        code = None if key is None or seen != stamp else _codes.pop(key, None)
        if key is None or code is None:
            source = self.get_data(path)
            key = (path, hashlib.sha256(source).digest())
            code = _codes.pop(key, None)
            if code is None:
                code = self.source_to_code(source, path)
            _remember(path, stamp, key, settled=max(stamp[-2:]) + SETTLED_NS < now)
        _codes[key] = code  # the one that was used last goes last
        while len(_codes) > MAX_FILES:
            (forgotten, _), _ = _codes.popitem(last=False)
            _settled.pop(forgotten, None)
        return code


def _remember(path: str, stamp: _Stamp, key: _Key, *, settled: bool) -> None:
    if settled:
        _settled[path] = (stamp, key)
    else:
        _settled.pop(path, None)


def _stamp(path: str) -> _Stamp:
    """Taken before the file is read: what is read is as new as this, or newer.

    The file is opened for it: a network file system asks its server then, where it else answers from what it has kept.
    """
    file = os.open(path, os.O_RDONLY)  # not inherited (PEP 446)
    try:
        found = os.fstat(file)
    finally:
        os.close(file)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
