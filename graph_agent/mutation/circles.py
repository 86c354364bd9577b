"""Functions and methods that are taken for one another.

Each circle is a line of words. The rule: what stands in one circle takes the same arguments, so that the mutant runs.
"""

from __future__ import annotations

from functools import cache

UNWRAPPED = frozenset(
    {"abs", "int", "float", "str", "list", "set", "sorted", "tuple", "reversed", "round", "len", "sum"}
    | {"min", "max", "any", "all", "bool", "dict", "enumerate"}
)

_FUNCTIONS = """
min max
any all
sum len max min
sorted reversed list set
list tuple set
int round float
str repr
chr ord
bin hex oct
filter map
floor ceil
range enumerate len
isinstance issubclass
permutations combinations product
heappush heappop
bisect_left bisect_right
"""
_METHODS = """
lower upper title capitalize swapcase
islower isupper isalpha isalnum isdigit isspace istitle
append extend add
append appendleft
pop popleft
pop remove
startswith endswith
find rfind index
index rindex count
lstrip rstrip strip
split rsplit splitlines
partition rpartition
removeprefix removesuffix
ljust rjust center
keys values items
get pop setdefault
union intersection difference symmetric_difference
issubset issuperset
add discard remove
add update
most_common elements items
match search fullmatch findall
group groups
heappush heappop
bisect_left bisect_right
permutations combinations product
min max
floor ceil
sin cos
days seconds total_seconds
month day year
date time
"""


@cache
def same_sort(name: str, *, method: bool) -> tuple[str, ...]:
    """The others of the name's circles, in the order in which they stand there."""
    circles = [line.split() for line in (_METHODS if method else _FUNCTIONS).split("\n")]
    return tuple(dict.fromkeys(other for circle in circles if name in circle for other in circle if other != name))
