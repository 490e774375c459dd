"""The code of swarms' own files, compiled once for each content of a file.

Such a file is executed again for every run, so that no run sees what another one left in its variables. To compile it
takes as long as to execute it. Python's own bytecode files are no help: they tell versions of a file apart by whole
seconds and by size.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Final

MAX_FILES: Final = 256
"""Contents whose code is kept."""

_codes: OrderedDict[tuple[str, bytes], CodeType] = OrderedDict()


class OnceCompiledLoader(SourceFileLoader):
    """Loads a Python file by its content as it is now."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file; compiled only where its content is another than before."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        key = (path, hashlib.sha256(source).digest())
        code = _codes.pop(key, None)
        if code is None:
            code = self.source_to_code(source, path)
        _codes[key] = code  # the one that was used last goes last
        while len(_codes) > MAX_FILES:
            _codes.popitem(last=False)
        return code
