"""Which judge a command asks: from the words of `--judge` to a judge, and how it is named in what is printed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from graph_agent.cli.exits import UsageError
from graph_agent.cli.models import OFFLINE, REPLAY, ModelChoice, choice_of, model_of, without_query
from graph_agent.runtime.errors import nearest
from graph_agent.verify.judge import PROMPTS, Judge, ModelJudge
from graph_agent.verify.rulejudge import RuleJudge

RULES, MODEL = "rules", "model"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A judge and its name, without what could hold a key."""

    judge: Judge
    name: str


def add_judge_options(parser: argparse.ArgumentParser, *, metavar: tuple[str, str], words: str) -> None:
    parser.add_argument("--judge", nargs="+", default=[RULES], metavar=metavar, help=words)
    parser.add_argument("--model-name", metavar="NAME", help="the model to ask for at that URL (GRAPH_AGENT_LLM_MODEL)")
    parser.add_argument(
        "--wording",
        type=int,
        choices=range(1, len(PROMPTS) + 1),
        default=1,
        help="of the prompt for a model: 1 judges, 2 tries to refute (default: %(default)s)",
    )


def judge_words(said: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that name a judge, and those behind them, which an option of many words has taken along."""
    count = 2 if said[0] == MODEL else 1
    return list(said[:count]), list(said[count:])


def local_judge(words: Sequence[str], options: argparse.Namespace) -> Chosen:
    """The rules or a model. Raises `UsageError`."""
    if list(words) == [RULES]:
        if options.model_name or options.wording != 1:
            raise UsageError("--model-name and --wording are for a model: give --judge model URL too")
        return Chosen(judge=RuleJudge(), name=RULES)
    if words[0] != MODEL:
        close = nearest(words[0], (RULES, MODEL))
        raise UsageError(f"--judge {words[0]!r} is unknown{close}: give rules, or model URL")
    if len(words) < 2:
        raise UsageError(
            f"--judge {MODEL} names no model: give its URL too, as in --judge model http://localhost:11434/v1"
        )
    if words[1] == OFFLINE:
        raise UsageError("no model judges offline: give --judge rules")
    choice = choice_of(argparse.Namespace(model=words[1], model_name=options.model_name, record=None))
    return Chosen(judge=ModelJudge(model_of(choice), prompt=options.wording - 1), name=_name(choice, options.wording))


def _name(choice: ModelChoice, wording: int) -> str:
    if choice.model.startswith(REPLAY):
        return f"{choice.model}, wording {wording}"
    return f"{choice.name} at {without_query(choice.model)}, wording {wording}"
