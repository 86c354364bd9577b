"""What a resumed research looks at before it goes on: whether the documents that it cites are still what they were.

What was read is kept beside the run word for word. The rule: a document that is another by now is named and put before
a person, since an answer that quotes it would quote what no longer stands there.
"""

from __future__ import annotations

from graph_agent.protocols import Context, ToolDenied
from graph_agent.runtime.graph import Seen
from graph_agent.workflows.research.state import ResearchState


def look(state: ResearchState, ctx: Context) -> Seen:
    """Compare the version of each document that evidence is from with the present one."""
    recorded = {one.source: one.version for one in state.evidence if one.version}
    if not recorded:
        return Seen(facts=("no document was read yet",))
    changed = []
    for name, version in sorted(recorded.items()):
        try:
            found = ctx.tools.call("read_document", path=name, start=1, end=1)
        except ToolDenied:
            return Seen(facts=("there are no documents to compare with",))
        if not found.ok or found.value.version != version:
            changed.append(f"{name} ({'changed' if found.ok else found.error})")
    facts = (f"{len(recorded)} documents compared",)
    if changed:
        return Seen(facts=facts, problem=f"not as they were when they were read: {', '.join(changed)}")
    return Seen(facts=facts)
