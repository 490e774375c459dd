"""The engine room. Names that the seeds document (call_runner, state, message_builder, output_parser, graph) stay."""
