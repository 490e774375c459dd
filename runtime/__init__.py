"""The embedded async runtime: carries out runs durably, and asks when one of them is stuck."""
