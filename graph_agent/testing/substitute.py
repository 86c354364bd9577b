"""Run pytest with another source in the place of a module's: `MODULE SOURCE_FILE NOTE_FILE PYTEST_ARGUMENT...`.

A script of its own, run by the text of this file; it imports nothing of graph_agent, since that may be the module. The
rule: the module's file is not written, and NOTE_FILE says for which file the other source stood.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any


class Substitute:
    """Finds the one module as the others do, and has it loaded from the other source."""

    def __init__(self, module: str, source: Path, note: Path) -> None:
        self.module, self.source, self.note = module, source, note

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if spec.origin is not None:
                    spec.loader = _Loader(name, spec.origin, self)
                return spec  # type: ignore[no-any-return]
        return None


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, given: Substitute) -> None:
        super().__init__(name, path)
        self._given = given

    def get_code(self, fullname: str) -> CodeType:
        """Without a cache: `__pycache__` has the code of the file."""
        text = self._given.source.read_text(encoding="utf-8")
        self._given.note.write_text(str(self.path), encoding="utf-8")
        code: CodeType = compile(text, str(self.path), "exec", dont_inherit=True)
        return code


if __name__ == "__main__":
    module, source, note, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, Substitute(module, Path(source), Path(note)))
    import pytest

    sys.exit(pytest.main(arguments))
