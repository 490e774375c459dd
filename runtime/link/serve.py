"""The name under which a runtime of an earlier program goes on as this one: keep it.

When the package is upgraded, a runtime started by a program up to commit 653c6f9 imports `runtime.link.serve` to see
whether the new program loads, lets go of its runs, and execs `python -P -m runtime.link.serve`. A console of such a
program that is still open starts a runtime by the same name. The runtime itself is `runtime.service.serve`; that this
module imports it is the one exception to the order of the packages.
"""

import sys

from runtime.service.serve import main

if __name__ == "__main__":
    sys.exit(main())
