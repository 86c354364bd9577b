"""What exercise 13 asks: tables for the evidence and for a judge's words, then which layer speaks, and who is asked."""

from collections.abc import Sequence
from types import ModuleType

from exercises.course import NotYet
from graph_agent import FakeLLM
from graph_agent.verify.judge import Item, ModelJudge
from graph_agent.verify.report import Verdict
from graph_agent.verify.rulejudge import RuleJudge
from graph_agent.verify.statements import statements

BUILDS_ON = ("04_route_after_verify", "09_a_plan_is_data")

EVIDENCE = {
    "E1": "A discount is a percentage of\n    the total, and at most 50.\n",
    "E2": "Receipts are kept for 100 days, then burnt.\n",
}
DISCOUNT = 'A discount "is a percentage of the total, and at most 50" [E1].'
RECEIPTS = '"Receipts are kept for 100 days" [E2].'
HONEST = f"{DISCOUNT} {RECEIPTS}"
INVENTED = f'{RECEIPTS} A discount "is a number of cents" [E1].'


class Says:
    """A judge that says one word to each criterion, and notes what it was given."""

    def __init__(self, status: str) -> None:
        self.status, self.asked = status, []

    def judge(self, task: str, criteria: Sequence[str], output: str, /) -> tuple[Item, ...]:
        self.asked.append((task, tuple(criteria), output))
        return tuple(Item(criterion=one, status=self.status) for one in criteria)


def check(learner: ModuleType) -> None:
    _invented(learner)
    _quotes(learner)
    _borne_out(learner)
    _not_borne_out(learner)
    _words(learner)
    _layers(learner)
    _judged(learner)


def _invented(learner: ModuleType) -> None:
    found = learner.verify(INVENTED, EVIDENCE, Says("satisfied"))
    if found.verdict is Verdict.PASS:
        raise NotYet(
            f'this report passes:\n    {INVENTED}\nIts second sentence has a real id and an invented quote: E1 says "a '
            'percentage of the total", and of cents not a word. So far only ids are looked at; look for the quotes '
            'in what is cited (README, "The task", 1 and 2).'
        )


def _quotes(learner: ModuleType) -> None:
    for quote, source, expected, why in (
        ("at most 50", EVIDENCE["E1"], Verdict.PASS, "it stands there as it is"),
        ("a percentage of the total", EVIDENCE["E1"], Verdict.PASS, "the source breaks the line there: fold it"),
        ("a percentage\tof  the total", EVIDENCE["E1"], Verdict.PASS, "white space is folded on both sides"),
        ("now here", "nowhere in the shop", Verdict.FAIL, "white space is folded, not taken out"),
        ("a Percentage of the total", EVIDENCE["E1"], Verdict.FAIL, "case is kept: TOTAL and total may be two things"),
        ("a percentage of every total", EVIDENCE["E1"], Verdict.FAIL, "nearly is not word for word"),
        ("", EVIDENCE["E1"], Verdict.UNKNOWN, "a quote of nothing stands everywhere, and says nothing"),
        (" \n ", EVIDENCE["E1"], Verdict.UNKNOWN, "a quote of white space is a quote of nothing"),
    ):
        said = learner.stands_in(quote, source)
        if said is not expected:
            raise NotYet(
                f"stands_in({quote!r}, {source!r}) returned {said!r}, expected {expected!r}: {why} "
                '(README, "The task", 1).'
            )


def _borne_out(learner: ModuleType) -> None:
    for text, why in (
        (DISCOUNT, "the quote stands in E1, where the line is broken"),
        (RECEIPTS, "quote and number stand in E2"),
        ("A discount is a percentage [E1].", "it quotes nothing and has no number: there is nothing to find"),
        ('It "is a percentage", receipts are "then burnt" [E1][E2].', "each quote stands in one of the two"),
        ("At most 50, for 100 days [E1][E2].", "each number is in one of the two"),
    ):
        if problems := _problems(learner, text):
            raise NotYet(f"this is borne out, since {why}, and evidence_problems finds:\n    {text}\n    {problems}")


def _not_borne_out(learner: ModuleType) -> None:
    for text, name, why in (
        ("A discount is a percentage [E7].", "E7", "there is no E7"),
        ('A discount "is a number of cents" [E1].', "is a number of cents", "E1 does not say so"),
        ('Receipts "are kept" [E1].', "are kept", "that is what E2 says, and the sentence cites E1"),
        ('"at most 50. Receipts are kept" [E1][E2].', "Receipts are kept", "it is in neither: half of it is in each"),
        ('A discount is "  " [E1].', "", "its quote has nothing in it: unknown is no pass"),
        ("Receipts are kept for 10 days [E2].", "10", "10 is a part of 100, and no number of E2"),
        ("Receipts are kept for 100 days [E1].", "100", "100 is a number of E2, and the sentence cites E1"),
        ('A discount is "at most 5" [E1].', "5", 'the words stand in "at most 50", and 5 is no number of E1'),
        ('It is "at most 50", or "a gift", [E1].', "a gift", "the second quote is invented"),
        ("It is at most 50, or 60 [E1].", "60", "the second number is invented"),
    ):
        problems = _problems(learner, text)
        if not problems:
            raise NotYet(
                f"evidence_problems finds nothing wrong with this:\n    {text}\nBut {why} "
                '(README, "The task", 2, and the traps above it).'
            )
        if name not in " ".join(problems):
            raise NotYet(
                f"evidence_problems says of this:\n    {text}\n    {problems}\nIt should name {name!r}: whoever has to "
                "mend the report reads nothing else."
            )


def _problems(learner: ModuleType, text: str) -> list[str]:
    (said,) = statements(text)
    problems = learner.evidence_problems(said, EVIDENCE)
    if not isinstance(problems, (list, tuple)):
        raise NotYet(f"evidence_problems returned {problems!r}, expected a list of sentences; an empty one for none")
    return [str(problem) for problem in problems]


def _words(learner: ModuleType) -> None:
    for words, expected, why in (
        (("satisfied", "satisfied"), Verdict.PASS, "each criterion has a clear yes"),
        (("satisfied", "violated"), Verdict.FAIL, "one clear no is enough"),
        (("unknown", "violated"), Verdict.FAIL, "one clear no is enough"),
        (("satisfied", "unknown"), Verdict.UNKNOWN, "of one criterion nobody knows, and unknown is no pass"),
        (("satisfied", "insufficient_evidence"), Verdict.UNKNOWN, '"not enough to tell" is no yes'),
        (("satisfied", "mostly satisfied"), Verdict.UNKNOWN, "that is none of the words asked for: count the yeses"),
        ((), Verdict.UNKNOWN, "nobody said anything; and all() of nothing is True"),
    ):
        said = learner.goal(tuple(Item(criterion=f"criterion {n}", status=word) for n, word in enumerate(words, 1)))
        if said is not expected:
            raise NotYet(
                f"the judge said {words}: goal() returned {said!r}, expected {expected!r}: {why} "
                '(README, "The task", 3).'
            )


def _layers(learner: ModuleType) -> None:
    for text, layer, names, why in (
        ("A discount is a percentage of the total.", "structure", "citation", "its sentence cites nothing"),
        (f"{HONEST} They are burnt.", "structure", "burnt", "its last sentence cites nothing"),
        ('They are burnt. It "is a gift" [E7].', "structure", "burnt", "its first sentence cites nothing"),
        (INVENTED, "evidence", "is a number of cents", "its second quote is invented"),
        (f"{DISCOUNT} Receipts are kept [E7].", "evidence", "E7", "there is no E7"),
    ):
        for word in ("satisfied", "violated", "unknown"):
            judge = Says(word)
            found = learner.verify(text, EVIDENCE, judge)
            if judge.asked:
                raise NotYet(
                    f"the judge was asked about this report:\n    {text}\n{why[0].upper()}{why[1:]}, which code can "
                    "tell at once, and no judge should get the chance to like it. The cheapest first "
                    '(README, "The task", 4).'
                )
            if (found.verdict, found.layer) != (Verdict.FAIL, layer):
                raise NotYet(
                    f"verify() says {found.verdict} at the layer {found.layer} of this report:\n    {text}\nExpected: "
                    f'fail at {layer}, since {why}. Structure comes first (README, "The task", 4).'
                )
            if names not in found.why:
                raise NotYet(f"verify() fails this report, and why is {found.why!r}: it should name {names!r}")


def _judged(learner: ModuleType) -> None:
    for word, expected in (
        ("satisfied", Verdict.PASS),
        ("violated", Verdict.FAIL),
        ("insufficient_evidence", Verdict.UNKNOWN),
        ("unknown", Verdict.UNKNOWN),
    ):
        judge = Says(word)
        found = learner.verify(HONEST, EVIDENCE, judge)
        if judge.asked != [(learner.TASK, tuple(learner.CRITERIA), HONEST)]:
            raise NotYet(
                f"an honest report: the judge was asked {len(judge.asked)} times: {judge.asked}. Expected: once, with "
                "TASK, CRITERIA and the report, nothing else."
            )
        if (found.verdict, found.layer) != (expected, "goal"):
            raise NotYet(
                f"an honest report, of which the judge says {word}: verify() says {found.verdict} at the layer "
                f"{found.layer}, expected {expected} at goal"
            )
        if expected is not Verdict.PASS and not found.why:
            raise NotYet(f"the judge said {word}, and `why` is empty: say which criterion it was")
    found = learner.verify(HONEST, EVIDENCE, ModelJudge(FakeLLM(lambda request: "A fine report, I like it!")))
    if found.verdict is not Verdict.UNKNOWN:
        raise NotYet(
            f"a model as the judge answered with praise, where words were asked for: verify() says {found.verdict}, "
            "expected unknown. Praise is no verdict."
        )
    other = {"E1": "A discount is a gift."}
    found = learner.verify('A discount "is a gift" [E1].', other, Says("satisfied"))
    if found.verdict is not Verdict.PASS:
        raise NotYet(f"with other evidence, {other}, verify() says {found.why!r}: look into what it is handed")
    found = learner.verify(HONEST, learner.EVIDENCE, RuleJudge())
    if found.verdict is not Verdict.PASS:
        raise NotYet(f"the honest report of the exercise is {found.verdict} now: {found.why}")
