"""The same task as one loop: ask a model, write what it says, run the test, go round. Everything is in one dict."""


def run_test(memory):
    """What the test of the shop says about the code in memory: "" when it passes, else what went wrong."""
    try:
        total = eval(memory["code"], {"prices": [100, 100], "discount": 10, "sum": sum})
    except (SyntaxError, NameError, TypeError) as error:  # no Python that works
        return f"{type(error).__name__}: {error}"
    return "" if total == memory["expected"] else f"{total} is not {memory['expected']}"


def mend(model):
    """Let a model mend the code. `model(memory)` returns a dict, and what is in it goes into the memory."""
    memory = {"code": "sum(prices) - discount", "expected": 180, "tries": 0, "said": "", "test": "", "ok": False}
    for number in (1, 2, 3):  # the loop counts for itself: what stands in the memory is the model's to change
        memory.update(model(memory))
        memory["tries"] = number
        memory["test"] = run_test(memory)
        memory["ok"] = memory["test"] == ""
        if memory["ok"]:
            break
    return memory


# mend() has returned, and all that is left of the run is the memory.
ANSWERED_BY = {
    "What does the code say now?": "code",
    "Did the last run of the test pass?": "ok",
    "What was wrong with the first try?": None,
    "Who wrote what stands in the memory: the loop or the model?": None,
    "What may the model change, and what not?": None,
    "After a crash in the middle: which tries need not be made again?": None,
}


def lucky_at_the_second_try(memory):
    """A model with a script, which is enough to see the loop work."""
    right = "sum(prices) * (100 - discount) / 100"
    wrong = "sum(prices) * discount"
    return {"code": wrong if memory["tries"] == 0 else right, "said": "I am sure that this is right."}


if __name__ == "__main__":
    for key, value in mend(lucky_at_the_second_try).items():
        print(f"{key:9} {value}")
