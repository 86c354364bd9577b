"""16. A graph of your own, from an empty file: a support ticket is classified, answered, checked, escalated.

On paper first: five circles, an arrow for each way from one to another, a name on each arrow. Then ask of the paper:
is a field missing from the state? does an arrow leave to a model what a rule can tell? has a node more than it needs?

What the check calls by name, and nothing else:

    Stage    CLASSIFY, ANSWER, CHECK, PERSON, SENT, CLOSED; a StrEnum whose first is where a ticket begins
    Ticket   text: str               what the customer wrote
             kind: str               "billing", "account", "legal" or "other"; CLASSIFY owns it
             drafts: tuple[str, ...] answers so far, appended; ANSWER owns it
             complaint: str          what is wrong with the last draft, "" for nothing; CHECK owns it
             max_drafts: int = 3     no node owns it; a person may raise it
             reply: str = ""         a person's own answer
             close: bool = False     a person's wish to end it unanswered
    GRAPH    the table

README.md has the rules. The finished file has about 100 lines.
"""

# your turn: everything
