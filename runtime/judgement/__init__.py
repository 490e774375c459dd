"""What a fault means and what may be done about it: pure functions, no I/O, no clock of their own."""
