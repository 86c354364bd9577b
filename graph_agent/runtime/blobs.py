"""Large texts beside a journal, each in a file named by the SHA-256 of its bytes.

The state and the journal keep the name and a bounded summary. The rule: a blob is on the disk before a record names it,
and what is read back is what was written, or an error.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

from graph_agent.runtime.errors import BlobError
from graph_agent.runtime.replacing import replace_file

_REF = re.compile(r"[0-9a-f]{64}")


def blob_ref(text: str) -> str:
    """The name of a text: the SHA-256 of its UTF-8, in hex."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Blobs:
    """The blobs in one folder, which is made when the first is put."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, text: str) -> str:
        """Keep a text; returns its name. The same text is written once."""
        ref = blob_ref(text)
        target = self._folder / ref
        if target.exists():
            return ref
        self._folder.mkdir(exist_ok=True)
        replace_file(target, text.encode("utf-8", "surrogatepass"), beside=f".{ref}-{os.getpid()}.tmp", mode=None)
        return ref

    def read(self, ref: str) -> str:
        """The text of a name. Raises `BlobError` when it is no name, or the blob is gone or altered."""
        if not _REF.fullmatch(ref):
            raise BlobError(f"{ref[:80]!r} is no name of a blob: it has 64 digits from 0 to f")
        try:
            raw = (self._folder / ref).read_bytes()
        except FileNotFoundError:
            raise BlobError(f"the blob {ref} is gone from {self._folder.name}: what it held can't be shown") from None
        if sha256(raw).hexdigest() != ref:
            raise BlobError(f"the blob {ref} was altered: its bytes no longer have that hash")
        return raw.decode("utf-8", "surrogatepass")
