"""How long a test waits for a fact before it says that the fact did not come about.

It does not measure speed: CI may run on a machine that is several times slower than a laptop. It is shorter than the
limit of time of a test (pyproject.toml), so that the message of the test is seen and not the stack of the limit.
"""

PATIENCE_S = 150.0
"""In seconds."""
