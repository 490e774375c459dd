"""Rules that every journal applies inside the transaction that writes: pure functions, without SQL."""
