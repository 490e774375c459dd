QUESTION = "go on without me?"
