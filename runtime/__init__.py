"""The embedded asynchronous runtime: it runs swarms durably and asks an operator when a run cannot go on.

Imports nothing itself; each package in it says what it imports.
"""
