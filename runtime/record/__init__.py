"""What happened: events, the state folded from them, and the journal that keeps them."""
