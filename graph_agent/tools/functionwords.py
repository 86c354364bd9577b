"""The words that carry no subject: articles, pronouns, auxiliaries, question words.

English in full, the commonest of German, French, Spanish and Chinese. The rule: what could be the name of something in
a technical text ("no", "not", "first", "use") is not here, so that a question never loses its subject.
"""

import re

_WORDS = """
a an the this that these those it its itself he him his she her hers they them their theirs we us our ours you your
yours i me my mine one ones someone anyone something anything
am is are was were be been being do does did doing done have has had having will would shall should can could may
might must ought
don doesn didn isn aren wasn weren won wouldn shouldn couldn can't cannot hasn haven hadn ll re ve d s t m
and or but nor so yet if then else than as of at by for from in into on onto to with within without about above
after against along among around before behind below beneath beside besides between beyond during except near off
out over since through throughout till toward towards under until up upon via per
what which who whom whose when where why how whether
there here also too very just only even still ever already again both either neither each every all any some such
same other others another more most much many less least few several long often
please tell show give explain describe say says said let get gets got happen happens happened exactly actually
mean means kind anyhow thing things way ways e.g i.e etc
der die das den dem des ein eine einen einem einer eines und oder aber auch nicht ist sind war waren wird werden
wurde wurden hat haben hatte kann können muss müssen soll sollen darf dürfen von vom zu zum zur mit im ins auf aus
bei nach vor für über unter durch wie wer wen wem wann wo warum wieso welche welcher welches welchen es sie er ich wir
ihr sich viel viele lange oft
le la les l un une du et ou mais est sont était être avoir ont au aux ce cet cette ces qui que quoi quand
pourquoi combien quel quelle quels quelles dans pour par sur avec sans sous il elle ils elles on nous vous se son sa
ses leur leurs d'une d'un qu de en
el los las una unos unas del al y o pero es son fue ser estar está ha han que quién qué cuál cuáles cuándo cómo
dónde cuánto cuántos cuántas cuánta por para con sin sobre se su sus lo le les
"""

_CHINESE = """
什么时候 多长时间 是什么 为什么 怎么样 有哪些 有多少 是多少 是否 是不是 能不能 可不可以
什么 多少 多久 哪些 哪里 哪个 哪一 如何 怎么 怎样 何时 请问 几个 几次 几天 谁
以及 或者 并且 但是 可以 能够 应该 必须 需要 一个 这个 那个 这些 那些 我们 他们 你们
的 了 吗 呢 是 和 与 或 被 把 在 会 要
"""

_JAPANESE = """
どのくらい どれくらい どのような でしょうか ましたか ませんか ますか ですか ました ください です ます
いくつ いくら どこ だれ なぜ どう どの どれ どんな いつ 誰 何(?=[\u30a0-\u30ff]) 何[年人個回本日月歳度枚]
の は が を に
"""

FUNCTION_WORDS = frozenset(_WORDS.split())
UNSPACED = re.compile("|".join((_CHINESE + _JAPANESE).split()))
"""Longer ones first, as a pattern that cuts a run of characters."""

_IRREGULAR = """
begin began begun | break broke broken | bring brought | build built | buy bought | choose chose chosen | come came
draw drew drawn | drive drove driven | find found | forget forgot forgotten | freeze froze frozen | give gave given
go went gone | grow grew grown | hide hid hidden | hold held | keep kept | know knew known | lead led | leave left
lose lost | make made | meet met | overwrite overwrote overwritten | pay paid | rise rose risen | run ran | seek sought
see saw seen | sell sold | send sent | show shown | speak spoke spoken | spend spent | stand stood | steal stole stolen
take took taken | teach taught | tell told | think thought | throw threw thrown | understand understood | win won
write wrote written | child children | person people | datum data | index indices | vertex vertices | matrix matrices
"""
IRREGULAR = {
    form: first
    for group in _IRREGULAR.replace("\n", " | ").split("|")
    if group.strip()
    for first, *others in [group.split()]
    for form in others
}
"""English forms that no ending gives away, with the word they are forms of."""
