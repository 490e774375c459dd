"""What an operator sees: pages and dialogs in Textual, and the pure views behind them.

Imports nothing itself; each package in it says what it imports.
"""
