"""The Macah language and its compiler driver."""
