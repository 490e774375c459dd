"""The verbs of the command line, one small module for what belongs together. They translate, and decide nothing."""
