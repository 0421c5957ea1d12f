"""What somebody may have meant whose CSS selector found nothing: the nearest one that finds something."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from limpet import markup
from limpet_store.errors import ExtractError

MOST_ELEMENTS = 20_000  # that are looked at for names
_ALIKE = 0.55  # difflib's ratio from which two names are taken for each other
_PSEUDO = re.compile(r"::(?:text|attr\(\s*([^)]+?)\s*\))\s*$")
_SIMPLE = re.compile(
    r"""[.#](?:[\w-]|[^\x00-\x7f]|\\.)+ | \[[^\]]*\] | ::?[\w-]+(?:\((?:[^()]|\([^()]*\))*\))? | \*
    | (?:[\w-]|[^\x00-\x7f])+ (?:\|(?:[\w-]+|\*))?""",
    re.X,
)
_TAG = re.compile(r"[\w*-]*")  # nothing or a tag alone: that says nothing
_COMBINATOR = re.compile(r"\s*([>+~])\s*|\s+")

# A compound selector: what stands before it (" ", ">", "+", "~"), and its simple ones.
Compound = tuple[str, list[str]]
Mended = tuple[str, list[str | None]]


@dataclass(frozen=True, slots=True)
class Near:
    """`text` says what was found; `selector` is one to try instead, "" where there is none."""

    text: str
    selector: str = ""


def near_miss(root: Any, css: str, *, below: Any = None, xml: bool = False) -> Near | None:
    """Why `css` finds nothing in `root` (or below an element of it), as far as that can be seen; else None."""
    pseudo = _PSEUDO.search(css)
    plain = css[: pseudo.start()] if pseudo else css
    count = _counter(root if below is None else below, xml)
    if found := count(plain):
        return _empty(found, plain, pseudo, root if below is None else below, xml)
    if below is not None and (found := _counter(root, xml)(plain)):
        return Near(f"{plain} matches {found} in the whole page, none below the element of `of=`")
    mended = _mended(_parse(plain), _names(root), count)
    for candidate in _candidates(mended):
        text = _spell(candidate)
        if found := 0 if _TAG.fullmatch(text) else count(text):
            return Near(f"{text} matches {found}", text + (pseudo[0] if pseudo else ""))
    return _as_far_as(mended, count)


def _as_far_as(mended: list[Mended], count: Callable[[str], int]) -> Near | None:
    """How far from its beginning the selector finds anything."""
    known = _known(mended)
    last = len(known) - 1 if mended and any(mended[-1][1]) else len(known)
    for end in range(last, 0, -1):
        text = _spell(known[:end])
        if found := 0 if _TAG.fullmatch(text) else count(text):
            return Near(f"nothing below {text}, which matches {found}")
    return None


def _counter(root: Any, xml: bool) -> Callable[[str], int]:
    def count(css: str) -> int:
        try:
            return len(markup.select(css or "*", xml)(root))
        except (ExtractError, ValueError, SyntaxError):  # cssselect's errors are SyntaxErrors
            return 0

    return count


def _empty(found: int, plain: str, pseudo: re.Match[str] | None, root: Any, xml: bool) -> Near:
    """The element is there, and what is asked of it is not."""
    element = markup.select(plain or "*", xml)(root)[0]
    times = f"{plain or 'the element'} matches {found}"
    if pseudo is None:
        return Near(f"{times}, without any text")
    if pseudo[1]:
        there = ", ".join(element.keys()) or "none"
        return Near(f"{times}, without the attribute {pseudo[1]}; it has: {there}")
    if markup.text_of(element):
        return Near(f"{times}; the text lies in its children: leave ::text away", plain)
    return Near(f"{times}, without any text")


def _parse(css: str) -> list[Compound]:
    """The compounds of the first selector of a list."""
    compounds: list[Compound] = []
    before, simples, at = "", list[str](), 0
    css = css.strip()
    while at < len(css) and css[at] != ",":
        if found := _SIMPLE.match(css, at):
            simples.append(found[0])
        elif found := _COMBINATOR.match(css, at):
            compounds.append((before, simples))
            before, simples = found[1] or " ", []
        else:
            break
        at = found.end()
    return [*compounds, (before, simples)] if simples else compounds


def _spell(compounds: Iterable[Compound]) -> str:
    text = ""
    for before, simples in compounds:
        glue = {"": "", " ": " "}.get(before, f" {before} ") if text else ""
        text += glue + "".join(simples)
    return text


def _mended(
    compounds: list[Compound], names: dict[str, set[str]], count: Callable[[str], int]
) -> list[Mended]:
    """Names that are not in the document replaced by such as are like them; None where none is."""
    return [(before, [_mend(simple, names, count) for simple in simples]) for before, simples in compounds]


def _known(mended: list[Mended]) -> list[Compound]:
    known = [(before, [s for s in simples if s]) for before, simples in mended]
    return [(before, simples) for before, simples in known if simples]


def _candidates(mended: list[Mended]) -> Iterator[list[Compound]]:
    """Other selectors of the same element, the likelier first: with names replaced, without unknown ones, then with one
    thing left out after another."""
    if not mended or not any(mended[-1][1]):  # nothing is left of what was to be found
        return
    known = _known(mended)
    yield known
    yield [(" " if before else "", simples) for before, simples in known]
    for at, (before, simples) in enumerate(known):
        for n in range(len(simples) if len(simples) > 1 else 0):
            rest = simples[:n] + simples[n + 1 :]
            yield [*known[:at], (before, rest), *known[at + 1 :]]
    for at in range(1, len(known)):
        yield known[at:]


def _mend(simple: str, names: dict[str, set[str]], count: Callable[[str], int]) -> str | None:
    """The simple selector if anything fits it, else one with a name like it, else None."""
    if count(simple):
        return simple
    kind = simple[0] if simple[0] in ".#[:*" else ""
    if kind == "[":
        return _mend_attribute(simple, names)
    name = simple.removeprefix(kind)
    if kind and kind in ".#" and (elsewhere := _elsewhere(name, names)):
        return elsewhere
    alike = _alike(name, names[kind]) if kind in ("", ".", "#") else None
    return f"{kind}{alike}" if alike else None


def _elsewhere(name: str, names: dict[str, set[str]]) -> str | None:
    """The attribute that has the name as its value: `.next` may be `[rel="next"]`."""
    for attribute in sorted(names):
        if attribute.startswith("[") and name in names[attribute] and attribute != "[class":
            return f'{attribute}="{name}"]'
    return None


def _mend_attribute(simple: str, names: dict[str, set[str]]) -> str | None:
    found = re.fullmatch(r"""\[\s*([\w-]+)\s*(?:([~|^$*]?=)\s*(["']?)(.*?)\3\s*)?\]""", simple)
    if not found:
        return None
    name, operator, _, value = found.groups()
    if operator and (alike := _alike(value, names.get(f"[{name}", set()))):
        return f'[{name}{operator}"{alike}"]'
    alike = _alike(name, names["["])
    return f"[{alike}]" if alike else None


def _alike(name: str, there: set[str]) -> str | None:
    """The name that is most like it: the same words, one inside the other, or few letters apart."""
    low = name.lower()
    scored = [(_likeness(low, other.lower()), other) for other in there]
    best = max(scored, default=(0.0, ""), key=lambda pair: (pair[0], -len(pair[1]), pair[1]))
    return best[1] if best[0] >= _ALIKE else None


def _likeness(one: str, other: str) -> float:
    words, others = set(re.split(r"[-_]+", one)), set(re.split(r"[-_]+", other))
    shared = words & others
    if shared and max(map(len, shared)) > 2:
        return 0.8 + 0.2 * len(shared) / len(words | others)
    return difflib.SequenceMatcher(None, one, other).ratio()


def _names(root: Any) -> dict[str, set[str]]:
    """What names the document has: of tags (""), classes ("."), ids ("#"), attributes ("["), and values of an
    attribute ("[name")."""
    names: dict[str, set[str]] = {"": set(), ".": set(), "#": set(), "[": set()}
    for element in islice(root.iter("*"), MOST_ELEMENTS):
        names[""].add(element.tag)
        for name, value in element.items():
            names["["].add(name)
            if name == "class":
                names["."].update(value.split())
            elif name == "id":
                names["#"].add(value)
            if len(value) < 60 and value.isprintable() and '"' not in value:
                names.setdefault(f"[{name}", set()).add(value)
    return names
