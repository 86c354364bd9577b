"""A course: make checks go green, and learn how an agent's control flow works. Begin with `python3 -m exercises`."""
