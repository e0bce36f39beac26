"""Passes over the kernel IR, one public function in each file."""
