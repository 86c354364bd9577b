"""What a resumed research looks at before it goes on: whether the documents that it cites are still what they were.

What was read is kept beside the run word for word. The rule: a document that is another by now is named and put before
a person, since an answer that quotes it would quote what no longer stands there.
"""

from __future__ import annotations

from collections.abc import Iterable

from graph_agent.protocols import Context, ToolDenied
from graph_agent.runtime.graph import Seen
from graph_agent.workflows.research.state import Evidence, ResearchState

OF_DOCUMENTS = ("search_documents", "read_document")


def look(state: ResearchState, ctx: Context) -> Seen:
    """Compare the version of each document that evidence is from with the present one."""
    recorded = _versions(state.evidence)
    if not recorded:
        return Seen(facts=("no document was read yet",))
    try:
        changed = changed_since(state.evidence, ctx)
    except ToolDenied:
        return Seen(facts=("there are no documents to compare with",))
    facts = (f"{len(recorded)} documents compared",)
    if changed:
        return Seen(facts=facts, problem=f"not as they were when they were read: {', '.join(changed)}")
    return Seen(facts=facts)


def changed_since(evidence: Iterable[Evidence], ctx: Context) -> list[str]:
    """The documents that are not what they were when they were read. Raises `ToolDenied` where none can be."""
    changed = []
    for name, version in sorted(_versions(evidence).items()):
        found = ctx.tools.call("read_document", path=name, start=1, end=1)
        if not found.ok or found.value.version != version:
            changed.append(f"{name} ({'changed' if found.ok else found.error})")
    return changed


def _versions(evidence: Iterable[Evidence]) -> dict[str, str]:
    return {one.source: one.version for one in evidence if one.by in OF_DOCUMENTS and one.version}
