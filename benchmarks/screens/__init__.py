"""What an operator waits for: first frame, lists, trees, searches, reports, verbs."""
