"""The engine room. The names that the seeds document (call_runner, state, message_builder, output_parser, graph) stay."""
