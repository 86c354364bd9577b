"""The README's own graph, as a module."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
_code = README.split("```python\n", 1)[1].split("final = run_graph(", 1)[0]
_module = ModuleType("tests.runtime.essay_of_the_readme")
sys.modules[_module.__name__] = _module  # where its annotations are looked up
exec(compile(_code, "README.md", "exec"), _module.__dict__)

GRAPH, Essay, Stage = _module.GRAPH, _module.Essay, _module.Stage
