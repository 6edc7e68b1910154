"""The questions that the files leave open: one table of what is asked, and of what an answer changes in the policy.

Every question takes doubt for an answer, which never loosens what the policy asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafgate.commands.desk.policy_text import REMOVED, PolicyText
from leafgate.kernel.paths import DocumentPath
from leafgate.session.proposals import CONFIDENCE, limits_on_secret

DOUBT = "doubt"
Facts = Mapping[str, Any]
Fields = Mapping[str, str]
"""The answers in the fields of a form by their names."""
Changes = dict[DocumentPath, Any]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One answer: its value in the form, its words, what follows from it, and what it writes into the policy."""

    value: str
    words: str
    follows: str = ""
    writes: str = ""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One thing that is asked.

    Attributes:
        name: of the field in the form.
        legend: what is asked.
        choices: the answers; none where a number is asked for.
        chosen: the answer that stands there before somebody answers; empty for none.
        found: what the table says of it.
        least: the smallest number, where one is asked for.
        most: the largest.
    """

    name: str
    legend: str
    choices: tuple[Choice, ...] = ()
    chosen: str = ""
    found: str = ""
    least: float = 0
    most: float = 0

    def problem(self, given: Fields) -> str:
        """What is wrong with the answer; empty where nothing is."""
        value = given.get(self.name, "")
        if self.choices:
            return "" if value in {choice.value for choice in self.choices} else "Choose an answer."
        try:
            number = float(value)
        except ValueError:
            return "Write a number."
        return "" if self.least <= number <= self.most else f"Write a number from {self.least:g} to {self.most:g}."


def never(facts: Facts, policy: PolicyText) -> list[str]:
    """Nothing to say."""
    return []


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to the person who decides.

    Attributes:
        name: its name in addresses and records.
        group: the part of the task list it stands in.
        task: its name there.
        asks: its heading.
        why: why it is asked.
        fields: what is asked; none where the question does not arise.
        changes: what the answers change in the policy.
        found: what the files say of it.
        paths: the keys of the policy that it is about.
        for_requester: what the requester is asked where somebody is in doubt.
        is_matrix: do all fields have the same answers, which are the columns of one table?
    """

    name: str
    group: str
    task: str
    asks: Callable[[Facts, PolicyText], str]
    why: str
    fields: Callable[[Facts, PolicyText], list[Field]]
    changes: Callable[[Facts, PolicyText, Fields], Changes]
    found: Callable[[Facts, PolicyText], list[str]] = field(default=never)
    paths: Callable[[Facts, PolicyText], list[DocumentPath]]
    for_requester: str
    is_matrix: bool = False

    def is_asked(self, facts: Facts, policy: PolicyText) -> bool:
        """Does the question arise?"""
        return bool(self.fields(facts, policy))

    def answered(self, facts: Facts, policy: PolicyText, given: Fields) -> PolicyText:
        """The policy with the lines that the answers write."""
        return policy.changed(self.changes(facts, policy, given))

    def doubts(self, facts: Facts, policy: PolicyText, given: Fields) -> list[str]:
        """What was answered with doubt, in words."""
        return [one.legend for one in self.fields(facts, policy) if given.get(one.name) == DOUBT]


def doubt(follows: str) -> Choice:
    return Choice(value=DOUBT, words="I do not know", follows=follows)


def columns(facts: Facts) -> Mapping[str, Any]:
    found: Mapping[str, Any] = facts["columns"]
    return found


def column_path(name: str) -> DocumentPath:
    return ("data", "columns", name)


def spec_of(policy: PolicyText, name: str) -> dict[str, Any]:
    """What the policy says of a column, its roles as a list."""
    spec = policy.get(*column_path(name))
    spec = {"role": spec} if isinstance(spec, str | list) else dict(spec or {})
    role = spec.get("role", [])
    return {**spec, "role": [role] if isinstance(role, str) else list(role)}


def with_role(spec: Mapping[str, Any], *roles: str) -> dict[str, Any]:
    return {**spec, "role": roles[0] if len(roles) == 1 else list(roles)}


def persons(policy: PolicyText) -> list[str]:
    """The columns that number the people."""
    return [name for name in policy.get("data", "columns") or {} if "person" in spec_of(policy, name)["role"]]


def secrets(policy: PolicyText) -> list[str]:
    return [name for name in policy.get("data", "columns") or {} if "sensitive" in spec_of(policy, name)["role"]]


def target_of(policy: PolicyText) -> str | None:
    names = policy.get("data", "columns") or {}
    return next((name for name in names if "class" in spec_of(policy, name)["role"]), None)


# Is each row one person?


def _people_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    proposed, target = facts["person"], target_of(policy)
    names = sorted((name for name in columns(facts) if name != target), key=lambda name: name != proposed)
    looks = "Recorded with your name: the table looks otherwise." if proposed else ""
    choices = [
        Choice(value=f"column:{name}", words=f"No. {name} numbers the people", writes=f"{name}: {{role: person}}")
        for name in names
        if name == proposed or columns(facts)[name]["distinct"] < facts["rows"]
    ]
    return [
        Field(
            name="who",
            legend="Is each row one person?",
            choices=(
                *choices[: 1 if proposed else 0],
                Choice(value="yes", words="Yes. Each row is a different person", follows=looks, writes="rows: people"),
                *choices[1 if proposed else 0 :],
                doubt("Nothing is loosened, and the requester is asked."),
            ),
        )
    ]


def _people_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    who = given["who"]
    person = facts["person"] if who == DOUBT else who.removeprefix("column:") if who != "yes" else None
    changes: Changes = {("data", "rows"): "people" if who == "yes" else REMOVED}
    for name in persons(policy):
        if name != person:
            changes[column_path(name)] = columns(facts)[name]["proposed"]
    if person is not None:
        changes[column_path(person)] = {"role": "person"}
    return changes


def _people_found(facts: Facts, policy: PolicyText) -> list[str]:
    if facts["person"] is None:
        return [f"{facts['rows']:,} rows. No column seems to number people who have several."]
    different = columns(facts)[facts["person"]]["distinct"]
    return [
        f"{facts['rows']:,} rows, {different:,} different values in {facts['person']}. "
        "A group of 30 rows can be 3 people."
    ]


def _people_paths(facts: Facts, policy: PolicyText) -> list[DocumentPath]:
    return [("data", "rows"), *map(column_path, persons(policy))]


# Can a person's secret differ between rows?


def _varies_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    if not persons(policy) or not facts["varies"]:
        return []
    choices = (
        Choice(value="yes", words="Yes, it can", writes="varies: true"),
        Choice(value="no", words="No, it is one value for life", follows="Both readings are judged."),
        doubt("Both readings are judged."),
    )
    return [
        Field(name=name, legend=f"Can one person's {name} differ between rows?", choices=choices)
        for name in secrets(policy)
    ]


def _varies_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    return {
        (*column_path(name), "varies"): True if given.get(name) == "yes" else REMOVED
        for name in secrets(policy)
        if name in given
    }


# What is predicted, and is it secret?


def _target_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    target = target_of(policy)
    names = [target] if _is_release(facts) else list(columns(facts))
    return [
        Field(
            name="target",
            legend="What does the model predict?",
            choices=(
                *(Choice(value=f"column:{name}", words=str(name)) for name in names),
                doubt(f"It stays {target}, as the files say or the last column is."),
            ),
            chosen=f"column:{target}" if facts["chosen"] or _is_release(facts) else "",
        ),
        Field(
            name="hidden",
            legend="Must nobody learn it of a person?",
            choices=(
                Choice(value="yes", words="Nobody may learn it", writes="role: [class, sensitive]"),
                Choice(value="no", words="No, anybody may know it", writes="role: [class, quasi_identifier]"),
                doubt("It is taken for a secret."),
            ),
        ),
    ]


def _target_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    target = target_of(policy)
    if target is None:
        return {}
    kept = "quasi_identifier" if given["hidden"] == "no" else "sensitive"
    return {column_path(target): with_role(spec_of(policy, target), "class", kept)}


def _is_release(facts: Facts) -> bool:
    return bool(facts["model"]) and facts["model"]["kind"] == "release"


# What do outsiders know?

OUTSIDERS = {
    "known": ("Outsiders know it", "quasi_identifier"),
    "secret": ("Secret", "sensitive"),
    "neither": ("Neither", "private"),
    "unused": ("Not used", "ignored"),
    DOUBT: ("I do not know", "quasi_identifier"),
}
"""What a column may be to outsiders, in words, and the role that says so."""


def _outsiders_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    declared = [name for name in policy.get("data", "columns") or {} if name in columns(facts)]
    names = [name for name in declared if name not in {target_of(policy), *persons(policy)}]
    choices = tuple(Choice(value=value, words=words) for value, (words, _) in OUTSIDERS.items())
    fields = []
    for name in names:
        column, roles = columns(facts)[name], spec_of(policy, name)["role"]
        needs_eye = column["left_out"] or "domain" in str(column["check"]) or not column["examples"]
        chosen = next((key for key, (_, role) in OUTSIDERS.items() if role in roles), "unused")
        examples = ", ".join(list(column["examples"])[:3])
        found = examples if examples and not needs_eye else "different in nearly every row; no example shown"
        fields.append(Field(name=name, legend=name, choices=choices, chosen="" if needs_eye else chosen, found=found))
    return sorted(fields, key=lambda one: one.chosen != "")


def _outsiders_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    changes: Changes = {}
    for one in _outsiders_fields(facts, policy):
        spec, column = spec_of(policy, one.name), columns(facts)[one.name]
        answer = given.get(one.name, DOUBT)
        role = OUTSIDERS[answer][1]
        kept = {key: value for key, value in spec.items() if key != "role"}
        needs_bins = role == "sensitive" and column["numeric"]
        domain = column["secret_domain"] if role == "sensitive" else column["domain"]
        domain = kept if kept.keys() & {"values", "bounds"} and not needs_bins else domain
        if answer == "unused" or not domain:  # what is dropped as the table is read needs no domain
            role = "identifier" if column["left_out"] or answer != "unused" else "ignored"
            domain = {}
        if [role] != spec["role"]:
            changes[column_path(one.name)] = {"role": role, **domain}
    return changes


def _outsiders_paths(facts: Facts, policy: PolicyText) -> list[DocumentPath]:
    return [column_path(one.name) for one in _outsiders_fields(facts, policy)]


# Spellings


def _spelled_alike(facts: Facts, policy: PolicyText) -> Iterator[tuple[str, str, list[str], bool]]:
    """For each secret: a field's name, the column, the spellings, and whether they surely mean one value."""
    for name in dict.fromkeys([*secrets(policy), *filter(None, [target_of(policy)])]):
        for kind in ("same", "similar") if name in columns(facts) else ():
            for number, spellings in enumerate(columns(facts)[name][kind]):
                yield f"{name}:{kind}:{number}", name, spellings, kind == "same"


def visible(text: str) -> str:
    """A value whose blanks can be seen.

    >>> visible("yes ")
    'yes␠'
    """
    return text.replace(" ", "\u2420") if text != text.strip() or "  " in text or not text else text


def _spelling_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    fields = []
    for key, name, spellings, is_same in _spelled_alike(facts, policy):
        examples, common = columns(facts)[name]["examples"], columns(facts)[name]["common"]
        words = [
            f"{visible(text)} ({examples[text]:,})" if text in examples else "a spelling that few people have"
            for text in spellings
        ]
        commonest = max(spellings, key=lambda text: examples.get(text, text in common))
        choices = [
            Choice(value=f"keep:{number}", words=f"The same; keep {visible(text)}", writes="aliases")
            for number, text in enumerate(spellings)
            if text in common
        ] or [Choice(value="keep:0", words="The same", writes="aliases")]
        if not is_same:
            choices.append(Choice(value="different", words="Different things", writes="distinct"))
        fields.append(
            Field(
                name=key,
                legend=f"{name}: do these mean the same? {' · '.join(words)}",
                choices=(*choices, doubt("The audit cannot pass.")),
                chosen=f"keep:{spellings.index(commonest)}" if is_same and commonest in common else "",
            )
        )
    return fields


def _spelling_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    specs = {name: spec_of(policy, name) for _, name, _, _ in _spelled_alike(facts, policy)}
    for key, name, spellings, _ in _spelled_alike(facts, policy):
        spec, answer = specs[name], given.get(key, DOUBT)
        aliases = {text: value for text, value in spec.get("aliases", {}).items() if text not in spellings}
        values = [*spec.get("values", [])]
        values += [text for text in spellings if text not in values and text not in spec.get("no_answer", [])]
        distinct = [each for each in spec.get("distinct", []) if set(each) != set(spellings)]
        if answer.startswith("keep:"):
            kept = spellings[int(answer.removeprefix("keep:"))]
            aliases |= {text: kept for text in spellings if text != kept}
        elif answer == "different":
            distinct.append(list(spellings))
        order = [*spec.get("values", []), *values]
        spec["values"] = [value for value in dict.fromkeys(order) if value not in aliases]
        spec |= {"aliases": aliases, "distinct": distinct}
        specs[name] = {key: value for key, value in spec.items() if value or key not in {"aliases", "distinct"}}
    return {column_path(name): with_role(spec, *spec["role"]) for name, spec in specs.items()}


def _secret_paths(facts: Facts, policy: PolicyText) -> list[DocumentPath]:
    return [column_path(name) for name in dict.fromkeys([*secrets(policy), *filter(None, [target_of(policy)])])]


# Gaps


def _gaps(facts: Facts, policy: PolicyText) -> Iterator[tuple[str, str, str, bool]]:
    """For each secret: a field's name, the column, what may be no answer, and whether it is a mark of a gap."""
    for name in secrets(policy):
        column = columns(facts).get(name, {})
        for text in dict.fromkeys([*column.get("gaps", []), *column.get("unanswered", [])]):
            yield f"{name}:{text}", name, text, text in column["gaps"]


def _gaps_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    fields = []
    for key, name, text, is_mark in _gaps(facts, policy):
        shown = text or "an empty cell"
        choices = (
            Choice(value="refused", words="Not asked or refused", writes="no_answer"),
            Choice(value="answer", words="It is an answer like the others", writes="values"),
            Choice(value="unknown", words="Unknown", writes="no_answer" + (", missing" if is_mark else "")),
            doubt("It is taken for no answer."),
        )
        fields.append(Field(name=key, legend=f"What does {shown} in {name} mean?", choices=choices))
    if fields:
        harm = (
            Choice(value="yes", words="Yes", writes="missing_is_value: true"),
            Choice(value="no", words="No"),
            doubt("It is taken for a secret."),
        )
        legend = "Would it harm somebody if others knew that she gave no answer?"
        fields.append(Field(name="harm", legend=legend, choices=harm))
    return fields


def _gaps_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    specs = {name: spec_of(policy, name) for _, name, _, _ in _gaps(facts, policy)}
    missing = list(policy.get("data", "missing") or [])
    for key, name, text, is_mark in _gaps(facts, policy):
        spec, is_answer = specs[name], given.get(key) == "answer"
        no_answer = [each for each in spec.get("no_answer", []) if each != text]
        values = list(spec.get("values", []))
        if is_answer:
            values += [text] if text not in values else []
        else:
            no_answer.append(text)
        if given.get(key) == "unknown" and is_mark and text not in missing:
            missing.append(text)
        harms = given.get("harm") != "no" or (is_answer and is_mark)
        spec = {**spec, **({"values": values} if values else {}), "no_answer": no_answer, "missing_is_value": harms}
        specs[name] = {
            key: value for key, value in spec.items() if value or key not in ("no_answer", "missing_is_value")
        }
    changes: Changes = {column_path(name): with_role(spec, *spec["role"]) for name, spec in specs.items()}
    return {**changes, **({("data", "missing"): missing} if missing else {})}


# Harmless values


def _harmless_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    target = target_of(policy)
    if target is None or target not in secrets(policy) or target not in columns(facts):
        return []
    values = spec_of(policy, target).get("values", [])
    common = columns(facts)[target]["common"]
    choices = (
        Choice(value="secret", words="Must stay secret"),
        Choice(value="harmless", words="Anybody may know it"),
        doubt("It stays secret."),
    )
    offered = [value for value in values if value in common]
    return [
        Field(name=value, legend=visible(value), choices=choices, chosen="secret")
        for value in offered
        if len(values) > 1
    ]


def _harmless_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    target = target_of(policy)
    values = spec_of(policy, str(target)).get("values", [])
    judged = [value for value in values if given.get(value) != "harmless"]
    others = [name for name in secrets(policy) if name != target]
    changes: Changes = {}
    for section in (("metrics",), ("build", "require")):
        for number, limit in enumerate(policy.get(*section) or []):
            if limit.get("use") in {"exposure", "confidence"} and limit.get("secret", target) == target:
                kept = {key: value for key, value in limit.items() if key not in {"values", "secret"}}
                is_partial = judged != values
                alone = {"values": judged, **({"secret": target} if others else {})} if is_partial else {}
                changes[(*section, number)] = {**kept, **alone}
    listed = policy.get("metrics") or []
    missing = [limit for name in others for limit in limits_on_secret(name)] if judged != values else []
    added = [limit for limit in missing if limit not in listed]
    return {**changes, **{("metrics", len(listed) + place): limit for place, limit in enumerate(added)}}


# What will leave, and the limits


def _publish_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    level = facts["model"]["level"] if facts["model"] else "counts"
    holds = {"labels": "predictions alone", "shares": "shares of people", "counts": "numbers of people"}.get(
        level, level
    )
    return [
        Field(
            name="leaves",
            legend="What will leave?",
            choices=(
                Choice(value="labels", words="Predictions alone", writes="leaves: labels"),
                Choice(value="shares", words="Rounded shares of people", writes="leaves: shares"),
                Choice(value="counts", words="Numbers of people", writes="leaves: counts"),
                doubt(f"What the file holds: {holds}."),
            ),
        )
    ]


def _publish_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    level = facts["model"]["level"] if facts["model"] else "counts"
    return {("publish", "leaves"): level if given["leaves"] == DOUBT else given["leaves"]}


def _limit(policy: PolicyText, use: str) -> tuple[int, Mapping[str, Any]] | None:
    found = ((number, limit) for number, limit in enumerate(policy.get("metrics") or []) if limit.get("use") == use)
    return next(found, None)


def _limits_fields(facts: Facts, policy: PolicyText) -> list[Field]:
    group, sure, certain = (_limit(policy, use) for use in ("k_anonymity", "confidence", "exposure"))
    fields = []
    if group is not None:
        number = f"{group[1].get('at_least', 10):g}"
        legend = "Nobody stands in a group of fewer people than"
        fields.append(Field(name="group", legend=legend, chosen=number, least=2, most=1_000_000))
    if sure is not None:
        number = f"{100 * sure[1].get('at_most', CONFIDENCE):.6g}"
        legend = "No guess of a secret is surer than (%)"
        fields.append(Field(name="sure", legend=legend, chosen=number, least=1, most=100))
    if certain is not None:
        choices = (
            Choice(value="1", words="Not even to a member of the group", writes="insiders: 1"),
            Choice(value="0", words="Not to an outsider", writes="insiders: 0"),
            doubt("Not even to a member of the group."),
        )
        chosen = str(certain[1].get("insiders", 0))
        fields.append(Field(name="certain", legend="Nobody's secret is certain", choices=choices, chosen=chosen))
    return fields


def _limits_changes(facts: Facts, policy: PolicyText, given: Fields) -> Changes:
    changes: Changes = {}
    places = {"k_anonymity": "at_least", "confidence": "at_most", "exposure": "insiders"}
    numbers = {
        "k_anonymity": round(float(given.get("group", 10))),
        "confidence": float(given.get("sure", 95)) / 100,
        "exposure": 0 if given.get("certain") == "0" else 1,
    }
    for section in (("metrics",), ("build", "require")):
        for number, limit in enumerate(policy.get(*section) or []):
            use = limit.get("use")
            if use in places and ("secret" not in limit or limit["secret"] == target_of(policy)):
                changes[(*section, number, places[use])] = numbers[use]
    if (policy.get("build", "k") or 0) < numbers["k_anonymity"] and policy.get("build", "use") == "kadet":
        changes["build", "k"] = numbers["k_anonymity"]
    return changes


def _limit_paths(facts: Facts, policy: PolicyText) -> list[DocumentPath]:
    listed = [("metrics", number) for number in range(len(policy.get("metrics") or []))]
    return [*listed, ("build", "k"), ("build", "require")]


def words(text: str) -> Callable[[Facts, PolicyText], str]:
    return lambda facts, policy: text


ABOUT, LEAVES = "About the data", "What leaves"
QUESTIONS: Sequence[Question] = (
    Question(
        name="people",
        group=ABOUT,
        task="Say whether each row is one person",
        asks=lambda facts, policy: f"Is each row of {facts['files']['table']['name']} one person?",
        why="Limits count people. If a person has several rows, a group of many rows may be one person.",
        fields=_people_fields,
        changes=_people_changes,
        found=_people_found,
        paths=_people_paths,
        for_requester="Is each row of the table one person? If not, which column numbers the people?",
    ),
    Question(
        name="varies",
        group=ABOUT,
        task="Say whether a person's secret can change",
        asks=words("Can a person's secret differ between rows?"),
        why="An infection may be there at one visit and gone at the next; a birth date may not.",
        fields=_varies_fields,
        changes=_varies_changes,
        paths=_secret_paths,
        for_requester="Can one person have different values of the secret in different rows?",
    ),
    Question(
        name="predicted",
        group=ABOUT,
        task="Say what is predicted and what is secret",
        asks=words("What does the model predict, and is it a secret?"),
        why="What is predicted is what the model could disclose about people.",
        fields=_target_fields,
        changes=_target_changes,
        found=lambda facts, policy: [
            f"{target_of(policy)}: {'the files say so' if _is_release(facts) else 'proposed; is it right?'}"
        ],
        paths=_secret_paths,
        for_requester="Which column does the model predict, and must nobody learn it of a person?",
    ),
    Question(
        name="outsiders",
        group=ABOUT,
        task="Say what outsiders know",
        asks=words("What could somebody outside know of every person?"),
        why="Think of a neighbour, an employer, a register, the web. “Neither” only if you are sure.",
        fields=_outsiders_fields,
        changes=_outsiders_changes,
        paths=_outsiders_paths,
        for_requester="Which of these could somebody outside know of every person, and which is a secret?",
        is_matrix=True,
    ),
    Question(
        name="spellings",
        group=ABOUT,
        task="Compare spellings",
        asks=words("Do these mean the same?"),
        why="If half of the ill are written otherwise, a group in which everybody is ill looks mixed.",
        fields=_spelling_fields,
        changes=_spelling_changes,
        paths=_secret_paths,
        for_requester="Which of these spellings mean the same?",
    ),
    Question(
        name="gaps",
        group=ABOUT,
        task="Say what gaps mean",
        asks=words("What do empty or special values mean?"),
        why="People without an answer hide nobody who has one.",
        fields=_gaps_fields,
        changes=_gaps_changes,
        paths=lambda facts, policy: [("data", "missing"), *_secret_paths(facts, policy)],
        for_requester="What do empty or special values of the secret mean?",
    ),
    Question(
        name="harmless",
        group=ABOUT,
        task="Name harmless values",
        asks=lambda facts, policy: f"Which answers of {target_of(policy)} may anybody know?",
        why="If nearly everybody has one answer, limits on it can fail every model. Unless you say so none is.",
        fields=_harmless_fields,
        changes=_harmless_changes,
        paths=_limit_paths,
        for_requester="Of which values would it harm nobody if they were known of somebody?",
        is_matrix=True,
    ),
    Question(
        name="publish",
        group=LEAVES,
        task="Say what will be published",
        asks=words("What will leave?"),
        why="The file may hold more than that. You can take it out after the audit.",
        fields=_publish_fields,
        changes=_publish_changes,
        found=lambda facts, policy: list((facts["model"] or {"discloses": []})["discloses"]),
        paths=lambda facts, policy: [("publish",)],
        for_requester="What is to be published: predictions alone, rounded shares, or numbers of people?",
    ),
    Question(
        name="limits",
        group=LEAVES,
        task="Check the limits",
        asks=words("Are these limits right?"),
        why="These are what the audit judges by.",
        fields=_limits_fields,
        changes=_limits_changes,
        paths=_limit_paths,
        for_requester="Which limits apply?",
    ),
)
"""The questions in the order of the task list."""
