"""13. Citations that are checked: is what a report says of the shop borne out by what it cites? The cheapest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_agent.tools.words import numbers
from graph_agent.verify.judge import Item, Judge
from graph_agent.verify.report import Verdict
from graph_agent.verify.rulejudge import RuleJudge
from graph_agent.verify.statements import Statement, statements
from graph_agent.verify.structure import structure_problems

TASK = "Tell the owner of the shop what a discount does, and what becomes of receipts."
CRITERIA = ("speaks of a discount as a percentage of the total", "speaks of receipts that are kept")

EVIDENCE = {
    "E1": "A discount is a percentage of\n    the total, and at most 50.\n",
    "E2": "Receipts are kept for 100 days, then burnt.\n",
}
DISCOUNT = 'A discount "is a percentage of the total, and at most 50" [E1].'
RECEIPTS = '"Receipts are kept for 100 days" [E2].'
REPORTS = {
    "honest": f"{DISCOUNT} {RECEIPTS}",
    "no citation": f"{DISCOUNT} Receipts are burnt.",
    "no such id": f'{DISCOUNT} "Receipts are kept for 100 days" [E7].',
    "an invented quote": f'A discount "is a number of cents" [E1]. {RECEIPTS}',
    "another number": f"{DISCOUNT} Receipts are kept for 10 days [E2].",
    "half an answer": DISCOUNT,
}


@dataclass(frozen=True)
class Found:
    verdict: Verdict
    layer: str  # "structure", "evidence" or "goal": the last one that was looked at
    why: str = ""


def stands_in(quote: str, source: str) -> Verdict:
    """Whether a source says this, word for word."""
    # your turn (1): white space is folded, case is kept; and where does a quote of nothing stand?
    return Verdict.PASS


def evidence_problems(said: Statement, evidence: Mapping[str, str]) -> list[str]:
    """What does not hold of one statement, a sentence for each; none when it is borne out."""
    problems = [f"there is no evidence {name}" for name in said.cites if name not in evidence]
    # your turn (2): look for said.quotes too, and for both in each of the sources that this statement cites
    for number in numbers(said.text):
        if number not in " ".join(evidence.values()):
            problems.append(f"the number {number} does not occur in {' or '.join(said.cites)}")
    return problems


def goal(items: Sequence[Item]) -> Verdict:
    """What the words of a judge come to, one for each criterion."""
    # your turn (3): as it stands, whatever is not a clear no is a yes
    return Verdict.FAIL if any(item.status == "violated" for item in items) else Verdict.PASS


def verify(text: str, evidence: Mapping[str, str], judge: Judge) -> Found:
    """Three layers. Nothing is looked at beyond the first that does not pass."""
    # your turn (4): the cheapest first
    items = judge.judge(TASK, CRITERIA, text)
    if (verdict := goal(items)) is not Verdict.PASS:
        return Found(verdict, "goal", "; ".join(f"{item.criterion}: {item.status}" for item in items))
    if wrong := [problem for said in statements(text) for problem in evidence_problems(said, evidence)]:
        return Found(Verdict.FAIL, "evidence", "; ".join(wrong))
    if wrong := structure_problems(text):
        return Found(Verdict.FAIL, "structure", "; ".join(wrong))
    return Found(Verdict.PASS, "goal")


if __name__ == "__main__":
    for name, report in REPORTS.items():
        found = verify(report, EVIDENCE, RuleJudge())
        print(f"{name:17} -> {found.verdict:7} {found.layer:9} {found.why}")
