"""The reference page of one kind of components, from the descriptions that `leafgate explain` prints."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import takewhile

from component_families import Family, Page
from leafgate.api.registry import Plugins, use_of
from leafgate.console.describe import Description, Option, OptionGroup, describe, options_of
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.metrics import Metric
from reference_markdown import anchor, bullet, linked, prose, short, wrapped, wrapped_paragraphs

OWN = "leafgate"
"""The pages are about what this distribution offers."""
SENTENCES = r"(?<=\.) (?=[A-Z])"
"""Where one sentence ends and another begins."""
SCALE = ("Scale", "Scores mean")
"""The facts of a metric that say what its scores mean."""


def component_page(page: Page, plugins: Plugins) -> Iterator[str]:
    """The page of one kind of components: what they share, and then each family with its members."""
    components = {use_of(component): component for component in plugins.kind(page.base)}
    described = {name: describe(component, OWN) for name, component in components.items()}
    families = page.sections(described)
    pages = {use_of(each): "attacks.md" for each in plugins.kind(AttackModel)}
    pages |= {use_of(each): "metrics.md" for each in plugins.kind(Metric)}
    own = {name: _own_options(page, components[name], described[name]) for name in described}
    holders = _holders(own)
    yield page.intro
    for family in page.families:
        links = ", ".join(f"[`{name}`](#{name})" for name in family.members)
        yield wrapped(f"- [{family.title}](#{anchor(family.title)}): {links}", "  ")
    yield ""
    for title, owner in page.common.items():
        yield f"## {title}\n"
        yield from map(bullet, _shared(owner))
        yield ""
    everywhere = [option for option, names in holders.items() if _family_of(families, names) is None]
    if everywhere:
        yield "## Options of several\n"
        yield from map(bullet, everywhere)
        yield ""
    for family in families:
        shared = [option for option, names in holders.items() if _family_of(families, names) is family]
        members = [described[name] for name in family.members]
        of_all = [option for option in shared if len(holders[option]) == len(members)]
        yield from _family(page, family, members, of_all, [option for option in shared if option not in of_all])
        for member in members:
            yield f"##{'#' if family.title else ''} {member.name}\n"
            yield from _component(page, member, _usual(page, members))
            for option in own[member.name]:
                if option not in holders:
                    yield bullet(option)
                    yield from _parts([group for group in member.groups if group.under == option.name], pages)
            listed = [option for option in own[member.name] if option in holders and option not in of_all]
            others = ", ".join(f"`{option.name}`" for option in listed)
            if others:
                yield f"- Also {others}."
            yield ""


def _own_options(page: Page, component: type[Component], described: Description) -> list[Option]:
    """The options of a component but those that all below its base class have, and those of the introduction."""
    common = {option for owner in page.common.values() if issubclass(component, owner) for option in _shared(owner)}
    options = next((group.options for group in described.groups if not group.under), ())
    return [
        option
        for option in options
        if option not in common and option.name not in page.stated_above and option.type != option.default.strip('"')
    ]


def _shared(owner: type[Component]) -> list[Option]:
    """The options that all components below a base class have with the same default."""
    return [option for option in options_of(owner) if option.name != "scored"]


def _holders(own: dict[str, list[Option]]) -> dict[Option, list[str]]:
    """The options that two components or more have with the same default and meaning, with their names."""
    result: dict[Option, list[str]] = {}
    for name, options in own.items():
        for option in options:
            result.setdefault(option, []).append(name)
    return {option: names for option, names in result.items() if len(names) > 1}


def _family_of(families: tuple[Family, ...], names: list[str]) -> Family | None:
    """The family that all these components are in."""
    return next((family for family in families if set(names) <= set(family.members)), None)


def _repeated(members: list[Description]) -> list[OptionGroup]:
    """The mappings below options that several members have."""
    groups = [group for member in members for group in member.groups if group.under]
    return [group for group in dict.fromkeys(groups) if groups.count(group) > 1]


def _family(
    page: Page, family: Family, members: list[Description], of_all: list[Option], of_several: list[Option]
) -> Iterator[str]:
    """The head of a family: what is so of most members, and the options that all or several of them have."""
    if family.title:
        yield f"## {family.title}\n"
    if family.about:
        yield f"{wrapped(family.about)}\n"
    usual = {key: text for key, text in _usual(page, members).items() if (key, text) not in page.usual}
    if usual and len(members) > 1:
        yield "Unless stated otherwise:\n"
        yield from (wrapped(f"- {_statement(key, text)}", "  ") for key, text in usual.items())
        yield ""
    for title, options in {"Options of all": of_all, "Options of several": of_several}.items():
        if options:
            yield f"{title}:\n"
        for option in options:
            yield bullet(option)
            inner = (each for group in _repeated(members) if group.under == option.name for each in group.options)
            yield from (textwrap.indent(bullet(each), "  ") for each in inner)
        yield ""


def _statements(page: Page, described: Description) -> dict[str, str]:
    """What a component assumes, reads and judges, by the words before the colon."""
    notes = (note.partition(": ")[::2] for note in described.notes)
    facts = dict(described.facts)
    texts = {"Threat model": facts.get("Threat model", ""), **dict(notes), "Source": short(facts.get("Source", ""))}
    return {
        key: text
        for key, text in texts.items()
        if (text or key not in facts) and not key.startswith(page.left_out) and not text.startswith(page.left_out)
    }


def _beginning(members: list[Description]) -> str:
    """The sentences with which the threat models of all members begin."""
    sentences = [re.split(SENTENCES, dict(member.facts).get("Threat model", "")) for member in members]
    same = takewhile(lambda each: len(set(each)) == 1, zip(*sentences, strict=False))
    return " ".join(first for first, *_ in same) if len(members) > 1 else ""


def _usual(page: Page, members: list[Description]) -> dict[str, str]:
    """The texts that most members of a family have, of keys that all have; or how all threat models begin."""
    statements = [_statements(page, member) for member in members]
    result = {}
    for key in statements[0]:
        texts = [each.get(key) for each in statements]
        commonest = max(texts, key=texts.count)
        if commonest is not None and None not in texts and 2 * texts.count(commonest) > max(len(texts), 2):
            result[key] = commonest
        elif key == "Threat model" and _beginning(members):
            result[key] = _beginning(members)
    return result


def _statement(key: str, text: str) -> str:
    if key.startswith("Uses"):
        text = ", ".join(", ".join(re.findall(r"`[^`]+`", part)) or part for part in text.rstrip(".").split("; ")) + "."
    return f"{key}: {linked(prose(text))}" if text else prose(key)


def _component(page: Page, described: Description, usual: dict[str, str]) -> Iterator[str]:
    """What a component does, assumes and comes from, and an example of its use in a policy."""
    facts = dict(described.facts)
    yield f"{wrapped_paragraphs(prose(described.text.partition('Departure:')[0].rstrip()))}\n"
    if facts.get("Formula") and "Formula" not in page.left_out and described.name not in page.without_formula:
        yield f"```text\n{wrapped(facts['Formula'])}\n```\n"
    for key, text in _statements(page, described).items():
        if usual.get(key, dict(page.usual).get(key)) != text:
            rest = text.removeprefix(usual.get(key, "")).strip()
            yield wrapped(f"- {_statement(key, rest)}", "  ")
    scale = "; ".join(text.rstrip(".") for text in map(facts.get, SCALE) if text)
    if scale:
        yield wrapped(f"- Scale: {prose(scale)}.", "  ")
    used = described.policy_example.splitlines()[-1:]
    if used and "," in used[0]:
        yield f"- `{used[0].strip().removeprefix('build: ').removeprefix('- ').removeprefix('source: ')}`"


def _parts(groups: list[OptionGroup], pages: dict[str, str]) -> Iterator[str]:
    """The mappings below an option, each with its own options; of attacks and metrics, links to these."""
    links = [
        f"[`{group.picked}`]({pages[group.picked]}#{group.picked})"
        + (f" ({', '.join(f'`{option.name}`' for option in group.options)})" if group.options else "")
        for group in groups
        if group.picked in pages
    ]
    if links:
        yield wrapped(f"  - With `use`: {', '.join(links)}.", "    ")
    for group in groups:
        if group.picked not in pages:
            yield from (textwrap.indent(bullet(option), "  ") for option in group.options)
