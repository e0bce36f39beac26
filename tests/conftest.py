"""What all tests share."""

import os
from pathlib import Path

# The compiled runtime is kept between tests and runs (sim/objects.py), but not among the user's own files.
os.environ["MACAH_CACHE"] = str(Path(__file__).parents[1] / ".pytest_cache" / "macah")
# So that runs repeat, cycle by cycle, whatever else the machine does.
os.environ["MACAH_TIME"] = "lockstep"
