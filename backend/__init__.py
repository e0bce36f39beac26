"""From a dataflow graph to a mapped design."""
