"""What happened: taxonomy of faults, events, state, journal. Knows nothing of the floors above."""
