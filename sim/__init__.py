"""Running designs together with host programs."""
