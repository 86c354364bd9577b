"""The loop is run with models that are wrong, rude or cut off. Then two runs are compared that only look the same."""

from exercises.course import NotYet

BUILDS_ON = ("01_first_run",)

RIGHT = "sum(prices) * (100 - discount) / 100"
WRONG = "sum(prices) * discount"
ODD = "sum(prices) - price"  # another first try, which fails in another way

CODE, PASSED, FIRST, WHO, MAY, CRASH = (
    "What does the code say now?",
    "Did the last run of the test pass?",
    "What was wrong with the first try?",
    "Who wrote what stands in the memory: the loop or the model?",
    "What may the model change, and what not?",
    "After a crash in the middle: which tries need not be made again?",
)


class Model:
    """Says what a script has, the last of it again and again, and loses patience after 50 calls."""

    def __init__(self, *script):
        self.script, self.calls = script, 0

    def __call__(self, memory):
        self.calls += 1
        if self.calls == 50:
            raise NotYet("")
        said = self.script[min(self.calls, len(self.script)) - 1]
        if isinstance(said, Exception):
            raise said
        return dict(said)


def check(learner):
    check_it_stops(learner.mend)
    check_answers(learner.mend, dict(learner.ANSWERED_BY))


def check_it_stops(mend):
    wrong = Model({"code": WRONG})
    try:
        mend(wrong)
    except NotYet:
        raise NotYet(
            "A model that is always wrong was asked 50 times, and the loop would have gone on. "
            "`while not memory['ok']` hopes. It needs a second way out: three tries are enough."
        ) from None
    if wrong.calls != 3:
        raise NotYet(f"A model that is always wrong was asked {wrong.calls} times. It gets three tries.")
    for tries in (1, 2, 3):
        model = Model(*[{"code": WRONG}] * (tries - 1), {"code": RIGHT})
        memory = mend(model)
        if memory["ok"] is not True or model.calls != tries:
            raise NotYet(
                f"A model that is right at try {tries} was asked {model.calls} times, and `ok` is {memory['ok']!r}. "
                "The loop should stop at the first pass, and no sooner."
            )
    rude = Model({"code": WRONG, "tries": 0})
    try:
        mend(rude)
    except NotYet:
        raise NotYet(
            "This model answers {'code': ..., 'tries': 0}. It was asked 50 times: your loop counts in the memory, and "
            "the model writes there too. Count where the model can't reach, in a variable of the loop's own."
        ) from None


def check_answers(mend, answers):
    for question in (CODE, PASSED, FIRST, WHO, MAY, CRASH):
        if question not in answers:
            raise NotYet(f"ANSWERED_BY has no line {question!r} any more. `start.py` has it.")
    for question, key in ((CODE, "code"), (PASSED, "ok")):
        if answers[question] != key:
            raise NotYet(f"{question!r} has an answer in the memory: run the file and look which key it is.")
    known = mend(Model({"code": RIGHT}))
    for question, key in answers.items():
        if key is not None and key not in known:
            raise NotYet(f"{question!r}: {key!r} is no key of the memory, which has {', '.join(known)}.")
    demonstrate(answers[FIRST], FIRST, *first_tries(mend))
    demonstrate(answers[WHO], WHO, *writers(mend))
    if answers[MAY] is not None:
        fixed = mend(Model({"expected": 190}))
        raise NotYet(
            f"You say that {answers[MAY]!r} answers {MAY!r}\nA model answered {{'expected': 190}}: that is the number "
            f"which the test wants. Now `ok` is {fixed['ok']}, and the code is {fixed['code']!r} as before. "
            "Nothing in the memory says what a model may change: write None."
        )
    if answers[CRASH] is not None:
        try:
            mend(Model({"code": WRONG}, ConnectionError("the line is dead")))
        except ConnectionError:
            raise NotYet(
                f"You say that {answers[CRASH]!r} answers {CRASH!r}\nThe second call of a model raised "
                "ConnectionError, mend() ended with it, and the memory was gone: there is no "
                f"{answers[CRASH]!r} to look at. Write None."
            ) from None


def first_tries(mend):
    one = mend(Model({"code": WRONG}, {"code": RIGHT}))
    other = mend(Model({"code": ODD}, {"code": RIGHT}))
    return "in one the first try came to 2000, in the other it was no Python that works", one, other


def writers(mend):
    one = mend(Model({"code": RIGHT}))
    other = mend(Model({"code": RIGHT, "expected": 180, "test": "", "said": ""}))
    return "in one the model wrote the code, in the other also `expected`, `test` and `said`", one, other


def demonstrate(key, question, difference, one, other):
    """A key answers a question only if it differs where the answer differs."""
    if key is not None and one[key] == other[key]:
        raise NotYet(
            f"You say that {key!r} answers {question!r}\nHere are two runs: {difference}.\n"
            f"When they had ended, memory[{key!r}] was {one[key]!r} in both. Who reads it can't tell them apart: "
            "write None."
        )
