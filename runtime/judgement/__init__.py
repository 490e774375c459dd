"""What it means and what may be done: pure rules, without I/O and without a clock of their own."""
