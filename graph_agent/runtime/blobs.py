"""Large texts beside a journal, each in a file named by the SHA-256 of its bytes.

The state and the journal keep the name and a bounded summary. The rule: a blob is on the disk before a record names it,
and what is read back is what was written, or an error.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

from graph_agent.protocols import blob_ref
from graph_agent.runtime.checkpoint import replace_file, sync_folder
from graph_agent.runtime.errors import BlobError

_REF = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """The blobs in one folder, which is made when the first is put."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, content: str | bytes) -> str:
        """Keep a text, or bytes; returns its reference. The same is written once."""
        ref = blob_ref(content)
        target = self._folder / ref
        if not target.exists():
            self._make()
            raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            replace_file(target, raw, beside=f".{ref}-{os.urandom(4).hex()}.tmp", mode=0o600)
        return ref

    def read(self, ref: str) -> str:
        """The text of a reference. Raises `BlobError` when it is none, or the blob is gone or altered."""
        return self.read_bytes(ref).decode("utf-8", "surrogatepass")

    def read_bytes(self, ref: str) -> bytes:
        """As `read`, of what is no text."""
        if not _REF.fullmatch(ref):
            raise BlobError(f"{ref[:80]!r} is no name of a blob: it has 64 digits from 0 to f")
        try:
            raw = (self._folder / ref).read_bytes()
        except FileNotFoundError:
            raise BlobError(f"the blob {ref} is gone from {self._folder.name}: what it held can't be shown") from None
        if sha256(raw).hexdigest() != ref:
            raise BlobError(f"the blob {ref} was altered: its bytes no longer have that hash")
        return raw

    def _make(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self._folder.parent)
