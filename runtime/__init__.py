"""The embedded async runtime: carries out runs, durably."""
