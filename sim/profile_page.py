"""A profile as one page of HTML: the flame graph and the tables."""

from __future__ import annotations

from html import escape

from .profile import Profile
from .profile_flame import flame_svg
from .profile_text import profile_text


def profile_page(profile: Profile) -> str:
    """The page, which needs nothing else."""
    title = escape(f"Profile of {profile.program}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n<h1>{title}</h1>\n{flame_svg(profile)}"
        f"<pre>{escape(profile_text(profile))}</pre>\n</body>\n</html>\n"
    )
