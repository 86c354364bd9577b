"""`python3 -m graph_agent`: see `graph_agent.cli`."""

import sys

from graph_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
