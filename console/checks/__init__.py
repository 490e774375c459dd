"""What `doctor` looks at. Each check says what it found and, where something is amiss, what to do about it."""
