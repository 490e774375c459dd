"""The demo: a real swarm over the current directory, whose faults are real too."""
