"""What `fixtures/documents` says, as questions with their answers, and questions that it doesn't answer.

Tests of research ask these. The rule: an answer stands word for word in its source, once white space is folded, and is
free of markup, so that the raw file and the text that is read out of it both contain it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parents[2] / "fixtures" / "documents"


@dataclass(frozen=True)
class Fact:
    """One question; `answer` stands in `source`.

    `others` are the further (source, text) pairs that belong to it: for "two" the document without which the question
    doesn't lead to the answer, for "contradiction" the document that says otherwise, for "superseded" the old value.
    """

    question: str
    answer: str
    source: str
    kind: Literal["one", "two", "contradiction", "superseded"] = "one"
    others: tuple[tuple[str, str], ...] = ()


FACTS: tuple[Fact, ...] = (
    # Markdown
    Fact("How high above the sea is Skarnhorn Station?", "2,846 metres above sea level", "overview.md"),
    Fact("Since when have weather records been kept without a break?", "1 November 1948", "overview.md"),
    Fact("Why did the hut of the surveyors burn down?", "A stove pipe had been pushed through", "overview.md"),
    Fact("Who is the head of the station?", "The station is led by Maren Oftedal", "overview.md"),
    Fact("Who owns the telescope in the dome?", "belongs to the University of Tarn", "overview.md"),
    Fact("How many days does a tour on the mountain take?", "14 days", "shifts-and-safety.md"),
    Fact("How long must a handover take at the least?", "at least 40 minutes", "shifts-and-safety.md"),
    Fact(
        "At what blood oxygen reading does a new arrival have to go down?", "below 82 percent", "shifts-and-safety.md"
    ),
    Fact("How far apart are the knots in the rope line?", "knots at every five metres", "shifts-and-safety.md"),
    Fact("What weight may the carriage of the hoist bear?", "a load of 450 kilograms", "goods-hoist.md"),
    Fact("In which months may fuel be carried up?", "between 1 June and 20 September", "goods-hoist.md"),
    Fact("How often is the haul rope renewed?", "every seven years", "goods-hoist.md"),
    Fact("Who inspects the track rope?", "Tobias Quell", "goods-hoist.md"),
    Fact("How much water does the melting tank hold?", "3,200 litres", "stores-and-water.md"),
    Fact("How much water may one person use in a day?", "45 litres of water a day", "stores-and-water.md"),
    Fact("What is the longest time that the station was cut off?", "58 days", "stores-and-water.md"),
    Fact("Where is the emergency cache of food?", "under the floor of the dome", "stores-and-water.md"),
    Fact("How large may a group of visitors be?", "at most 12 people", "visitors.md"),
    Fact("What does a guided tour cost?", "80 crowns for a grown person", "visitors.md"),
    Fact("Why are no dogs allowed?", "There are ptarmigan nesting on the moraine", "visitors.md"),
    Fact(
        "Within what distance of the station are drones forbidden?", "within 500 metres of the station", "visitors.md"
    ),
    # plain text
    Fact("How often is the platinum sensor compared with the standard?", "every 90 days", "instruments.txt"),
    Fact("How high above the ground are the thermometer bulbs?", "2.2 metres above the ground", "instruments.txt"),
    Fact("For how long are pictures of the all-sky camera kept?", "kept for five years", "instruments.txt"),
    Fact(
        "How many characters may a line of the wire report have?", "at most 96 characters", "weather-report-format.txt"
    ),
    Fact(
        "How late may a full report leave the station?",
        "no later than 6 minutes after the hour",
        "weather-report-format.txt",
    ),
    Fact("What is the call sign of the station?", "SKH4", "weather-report-format.txt"),
    Fact("How is a missing value sent in a report?", "as a slash for each digit", "weather-report-format.txt"),
    Fact("At what time is Undervik called in the evening?", "every evening at 19:30", "radio-procedure.txt"),
    Fact("How long does the battery of the radio relay last without sun?", "9 days", "radio-procedure.txt"),
    Fact("Which channel belongs to mountain rescue?", "channel 16", "radio-procedure.txt"),
    # reStructuredText
    Fact("What is the capacity of the battery bank?", "180 kilowatt hours", "power.rst"),
    Fact("At what charge does the generator start by itself?", "At 35 percent", "power.rst"),
    Fact("How much diesel fits in the tank under the engine shed?", "14,000 litres of diesel", "power.rst"),
    Fact("When is the lightning alarm lifted?", "30 minutes after the last stroke", "lightning.rst"),
    Fact("Who was struck by lightning in 1994?", "the cook, Anselm Roe", "lightning.rst"),
    Fact(
        "Which place in the house is the safest in a thunderstorm?",
        "the inner corridor of the main house",
        "lightning.rst",
    ),
    # HTML
    Fact(
        "After how much new snow is the avalanche office rung?",
        "more than 35 centimetres of new snow",
        "snow-record.html",
    ),
    Fact("When was the deepest snow on record measured?", "19 April 1975", "snow-record.html"),
    Fact("How much does fresh snow weigh?", "about 90 kilograms per cubic metre", "snow-record.html"),
    Fact("On what is new snow measured?", "a white board of wood", "snow-record-2015.html"),
    # Chinese
    Fact("冬季巡检每天几次？", "冬季巡检每天两次", "winter-rounds.zh.md"),
    Fact("巡检路线有多长？", "巡检路线全长1.4公里", "winter-rounds.zh.md"),
    Fact("屋顶积雪多厚就要铲除？", "超过80厘米", "winter-rounds.zh.md"),
    Fact("巡检簿要保存多少年？", "保存二十年", "winter-rounds.zh.md"),
    # more than one document
    Fact(
        "On which radio channel can the station's electrician be reached?",
        "listens on channel 23",
        "radio-procedure.txt",
        "two",
        (("overview.md", "The station's electrician is Ilse Brandvold"),),
    ),
    Fact(
        "From what electric field on is the roof hatch locked?",
        "4.5 kilovolts per metre",
        "instruments.txt",
        "two",
        (("lightning.rst", "The roof hatch is locked from alarm stage 2"),),
    ),
    Fact(
        "At what mean wind speed is the goods hoist stopped?",
        "exceeds 14 metres per second",
        "goods-hoist.md",
        "contradiction",
        (("shifts-and-safety.md", "exceeds 18 metres per second"),),
    ),
    Fact(
        "How often is the snow stake read?",
        "read every 3 hours",
        "snow-record.html",
        "superseded",
        (("snow-record-2015.html", "read every 6 hours"),),
    ),
)

UNANSWERED: tuple[str, ...] = (
    "What salary is an observer paid?",
    "How fast is the satellite link of the station?",
    "Who insures the station against avalanches?",
    "How many earthquakes were recorded at the station?",
    "Which ozone values are measured at Skarnhorn?",
    "How wide is the landing pad of the helicopter?",
    "What is the password of the computer in the radio room?",
    "How is the pension of the crew reckoned?",
    "What did the telescope of the dome cost?",
    "Which firm made the diesel generator?",
    "How old must a visitor be to take part in a tour?",
    "How deep is the tarn into which the copper strip runs?",
    "What colour is the carriage of the goods hoist?",
    "How much does the track rope weigh?",
    "How many inhabitants has Undervik?",
    "What was the lowest temperature ever measured at the station?",
    "Who took the deepest snow reading in 1975?",
    "How many pictures does the museum in Undervik show?",
    "Which vaccinations does the crew need before a tour?",
    "How much did the solar panels on the south wall cost?",
    "站上有几台电脑？",
    "值班员的工资是多少？",
)

# Subjects that a reader might look for, in words of which no document has one.
NEVER_MENTIONED: tuple[str, ...] = (
    "salary",
    "satellite",
    "insur",
    "earthquake",
    "ozone",
    "landing pad",
    "password",
    "pension",
    "museum",
    "vaccin",
    "inhabitant",
    "internet",
    "电脑",
    "工资",
)
