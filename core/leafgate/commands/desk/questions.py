"""The questions that the files leave open, and what an answer changes in the policy.

`words.yaml` has their words. Every question takes doubt for an answer, which never loosens what the policy asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafgate.commands.desk.cases import ColumnFacts, Facts
from leafgate.commands.desk.policy_text import REMOVED, PolicyText
from leafgate.commands.desk.words import words
from leafgate.kernel.paths import DocumentPath
from leafgate.session.proposals import CONFIDENCE, limits_on_secret

DOUBT = "doubt"
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


def choices(question: str, of: str = "choices", **named: object) -> tuple[Choice, ...]:
    """The answers to a question as `words.yaml` has them, with these names in place of those in braces."""
    found = list[Choice]()
    for choice in words()["questions"][question][of]:
        for name, value in named.items():
            choice = {key: text.replace(f"{{{name}}}", str(value)) for key, text in choice.items()}
        found.append(Choice(**choice))
    return tuple(found)


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

    def in_words(self, given: Fields) -> str:
        """The answer in words; empty where none of the answers was given."""
        value = given.get(self.name, "")
        return next((choice.words for choice in self.choices if choice.value == value), "" if self.choices else value)

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


@dataclass(frozen=True)
class CaseInQuestion:
    """What the files of a case are, and its policy, of which the questions ask."""

    facts: Facts
    policy: PolicyText

    @property
    def columns(self) -> Mapping[str, ColumnFacts]:
        """What is known of each column of the table."""
        return self.facts.columns

    @property
    def level(self) -> str:
        """What the file contains about the people on its leaves."""
        return self.facts.model.level if self.facts.model else "counts"

    @property
    def is_release(self) -> bool:
        return self.facts.model is not None and self.facts.model.kind == "release"

    def spec(self, name: str) -> dict[str, Any]:
        """What the policy states of a column, its roles as a list."""
        spec = self.policy.get(*column_path(name))
        spec = spec if isinstance(spec, dict) else {"role": spec}
        role = spec.get("role", [])
        return {**spec, "role": [role] if isinstance(role, str) else role if isinstance(role, list) else []}

    def with_role(self, role: str) -> list[str]:
        """The columns that have a role."""
        return [name for name in self.policy.get("data", "columns") or {} if role in self.spec(name)["role"]]

    @property
    def target(self) -> str:
        """The class; empty where the policy has none."""
        return next(iter(self.with_role("class")), "")

    @property
    def judged(self) -> list[str]:
        """The secrets and the class, as far as the table has them."""
        names = dict.fromkeys([*self.with_role("sensitive"), self.target])
        return [name for name in names if name in self.columns]

    def limits(self) -> Iterator[tuple[DocumentPath, dict[str, Any]]]:
        """The limits of the policy with their paths, and those that its builder keeps by construction."""
        for section in (("metrics",), ("build", "require")):
            for number, limit in enumerate(self.policy.get(*section) or []):
                if isinstance(limit, dict):
                    yield (*section, number), limit


def column_path(name: str) -> DocumentPath:
    return ("data", "columns", name)


def limits_of_secrets(asked: CaseInQuestion) -> Changes:
    """What gives each secret its limits: the class those with values, and the others their own, as `init` has them.

    A limit on all secrets that is looser than the proposed one covers the class alone. Limits on what is no secret go.
    """
    secrets, target, changes = asked.with_role("sensitive"), asked.target, dict[DocumentPath, Any]()
    others, limits = [name for name in secrets if name != target], list(asked.limits())
    for path, limit in limits:
        is_on_class = limit.get("secret", target) == target
        if limit.get("use") not in {"exposure", "confidence"}:
            continue
        if not is_on_class and limit["secret"] not in secrets:
            changes[path] = REMOVED
        elif is_on_class and ("values" in limit or target not in secrets):
            kept = {key: value for key, value in limit.items() if key not in {"values", "secret"}}
            own = {"values": limit["values"]} | ({"secret": target} if others else {}) if target in secrets else {}
            changes[path] = {**kept, **own}
    added = [
        wanted
        for name in others
        for wanted in limits_on_secret(name)
        if not any(path[0] == "metrics" and _covers(limit, wanted) for path, limit in limits)
    ]
    listed = len(asked.policy.get("metrics") or [])
    return {**changes, **{("metrics", listed + place): limit for place, limit in enumerate(added)}}


def _covers(limit: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Does a limit demand as much of this secret as the proposed one, or was a limit on it alone written?"""
    if limit.get("use") != wanted["use"] or limit.get("secret", wanted["secret"]) != wanted["secret"]:
        return False
    return "secret" in limit or ("values" not in limit and limit.get("at_most", 1) <= wanted["at_most"])


def spec_words(spec: Mapping[str, Any], *, empty: Sequence[str] = ()) -> dict[str, Any]:
    """What a policy states of a column, one role as a word, without these keys where they are empty."""
    roles = spec["role"]
    kept = {key: value for key, value in spec.items() if value or key not in empty}
    return {**kept, "role": roles[0] if len(roles) == 1 else list(roles)}


def visible(text: str) -> str:
    """A value whose blanks can be seen.

    >>> visible("yes ")
    'yes␠'
    """
    return text.replace(" ", "\u2420") if text != text.strip() or "  " in text or not text else text


class Question:
    """A question to the person who decides; those below say what is asked, found and changed."""

    name: str

    @property
    def texts(self) -> Mapping[str, Any]:
        """Its words: `group`, `task`, `why`, what the `requester` is asked, and of a `matrix` what its rows are."""
        found: Mapping[str, Any] = words()["questions"][self.name]
        return found

    def heading(self, asked: CaseInQuestion) -> str:
        return str(self.texts["asks"]).format(table=asked.policy.get("data", "path"), target=asked.target)

    def found(self, asked: CaseInQuestion) -> list[str]:
        """What the files say of it."""
        return []

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        """What is asked; none where the question does not arise."""
        raise NotImplementedError

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        """What the answers change in the policy."""
        raise NotImplementedError

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        """The keys of the policy that it is about."""
        return [column_path(name) for name in asked.judged]

    def to_check(self, asked: CaseInQuestion) -> list[DocumentPath]:
        """The lines of the policy that say CHECK, and that it is the last question to be about."""
        later = {path for other in QUESTIONS[QUESTIONS.index(self) + 1 :] for path in other.paths(asked)}
        return [path for path in self.paths(asked) if path not in later and asked.policy.remark(path)]

    def problems(self, asked: CaseInQuestion, given: Fields) -> dict[str, str]:
        """What is wrong with the answers by the names of their fields."""
        return {one.name: problem for one in self.fields(asked) if (problem := one.problem(given))}

    def answered(self, asked: CaseInQuestion, given: Fields) -> PolicyText:
        """The policy with the lines that the answers write, and with limits on every secret."""
        if not self.fields(asked):
            return asked.policy
        new = CaseInQuestion(asked.facts, asked.policy.changed(self.changes(asked, given)))
        return new.policy.changed(limits_of_secrets(new))

    def doubts(self, asked: CaseInQuestion, given: Fields) -> list[str]:
        """What was answered with doubt, in words."""
        return [one.legend for one in self.fields(asked) if given.get(one.name) == DOUBT]


class People(Question):
    """Is each row one person?"""

    name = "people"

    def found(self, asked: CaseInQuestion) -> list[str]:
        person, rows = asked.facts.person, asked.facts.rows
        if person is None:
            return [f"{rows:,} rows. No column seems to number people who have several."]
        different = asked.columns[person].distinct
        people = -(-30 // asked.facts.most_rows)
        found = f"{rows:,} rows, {different:,} different values in {person}."
        return [f"{found} A group of 30 rows can be {people} people."]

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        proposed, different = asked.facts.person, {name: column.distinct for name, column in asked.columns.items()}
        several = [name for name, number in different.items() if name != asked.target and number < asked.facts.rows]
        names = dict.fromkeys([proposed, *several] if proposed else several)
        offered = [choices(self.name, name=name, distinct=f"{different[name]:,}")[0] for name in names]
        _, yes, doubt = choices(self.name)
        if proposed:
            yes = replace(yes, follows="Recorded with your name: the table looks otherwise.")
        offered.insert(1 if proposed else 0, yes)
        return [Field(name="who", legend="Is each row one person?", choices=(*offered, doubt))]

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        who = given["who"]
        person = asked.facts.person if who == DOUBT else who.removeprefix("column:") if who != "yes" else None
        others = {column_path(name): asked.columns[name].proposed for name in asked.with_role("person")}
        numbers = {} if person is None else {column_path(person): {"role": "person"}}
        return {("data", "rows"): "people" if who == "yes" else REMOVED, **others, **numbers}

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        return [("data", "rows"), *map(column_path, asked.with_role("person"))]


class Varies(Question):
    """Can a person's secret differ between rows?"""

    name = "varies"

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        persons = asked.with_role("person")
        may_vary = bool(persons) and (asked.facts.varies or persons != [asked.facts.person])
        names = asked.with_role("sensitive") if may_vary else []
        legend = "Can one person's {} differ between rows?"
        return [Field(name=name, legend=legend.format(name), choices=choices(self.name)) for name in names]

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        varies = {name: given[name] == "yes" for name in asked.with_role("sensitive") if name in given}
        return {(*column_path(name), "varies"): True if yes else REMOVED for name, yes in varies.items()}


class Predicted(Question):
    """What is predicted, and is it a secret?"""

    name = "predicted"

    def found(self, asked: CaseInQuestion) -> list[str]:
        return [f"{asked.target}: {'the files say so' if asked.is_release else 'proposed; is it right?'}"]

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        names = [asked.target] if asked.is_release else list(asked.columns)
        offered = [choices(self.name, "target", name=name)[0] for name in names]
        chosen = f"column:{asked.target}" if asked.facts.chosen or asked.is_release else ""
        every = (*offered, choices(self.name, "target")[1])
        return [
            Field(name="target", legend="What does the model predict?", choices=every, chosen=chosen),
            Field(name="hidden", legend="Must nobody learn it of a person?", choices=choices(self.name)),
        ]

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        roles, of_secrets = ["class", "sensitive"], set[str]()
        if given["hidden"] == "no":
            roles, of_secrets = ["class", "quasi_identifier"], {"varies", "missing_is_value"}
        spec = {key: value for key, value in asked.spec(asked.target).items() if key not in of_secrets}
        return {column_path(asked.target): {**spec, "role": roles}} if asked.target else {}


class Outsiders(Question):
    """What do outsiders know?"""

    name = "outsiders"

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        passed_over = {asked.target, *asked.with_role("person")}
        fields, offered = list[Field](), choices(self.name)
        for name in asked.policy.get("data", "columns") or {}:
            if name in passed_over or name not in asked.columns:
                continue
            column, check = asked.columns[name], asked.policy.remark(column_path(name))
            found = ", ".join(list(column.common)[:3])
            found = found or f"{column.distinct:,} different values in {asked.facts.rows:,} rows; none that many have"
            found = f"{found}. To check: {check}" if check else found
            of_file = next((one.value for one in offered if one.value in asked.spec(name)["role"]), "ignored")
            chosen = of_file if asked.is_release else ""  # a release states its roles, and is read with no others
            fields.append(Field(name=name, legend=name, choices=offered, chosen=chosen, found=found))
        return fields

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        changes: Changes = {}
        for name in (one.name for one in self.fields(asked)):
            spec, column, answer = asked.spec(name), asked.columns[name], given.get(name, DOUBT)
            if answer == DOUBT and "sensitive" in spec["role"]:
                continue
            role = "quasi_identifier" if answer == DOUBT else answer
            of_secrets = {"varies", "no_answer", "missing_is_value"} if role != "sensitive" else set()
            kept = {key: value for key, value in spec.items() if key not in {"role", *of_secrets}}
            needs_bins = role == "sensitive" and column.numeric
            domain = column.secret_domain if role == "sensitive" else column.domain
            domain = kept if kept.keys() & {"values", "bounds"} and not needs_bins else domain
            if role == "ignored" or not domain:  # what is dropped as the table is read needs no domain
                role = "identifier" if column.left_out or role != "ignored" else role
                domain = {}
            if [role] != spec["role"]:
                changes[column_path(name)] = {"role": role, **domain}
        return changes

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        return [column_path(one.name) for one in self.fields(asked)]


class Spellings(Question):
    """Do these mean the same?"""

    name = "spellings"

    def _alike(self, asked: CaseInQuestion) -> Iterator[tuple[str, str, list[str], bool]]:
        """A field's name, the column, the spellings, and whether they surely mean one value."""
        known = [name for name in asked.with_role("quasi_identifier") if "values" in asked.spec(name)]
        for name in dict.fromkeys([*asked.judged, *(name for name in known if name in asked.columns)]):
            column = asked.columns[name]
            for kind, alike in (("same", column.same), ("similar", column.similar)):
                for number, spellings in enumerate(alike):
                    yield f"{name}:{kind}:{number}", name, spellings, kind == "same"

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        fields = []
        for key, name, spellings, is_same in self._alike(asked):
            common = asked.columns[name].common
            shown = [f"{visible(each)} ({common[each]:,})" for each in spellings if each in common]
            if len(shown) < len(spellings):
                shown.append(f"{len(spellings) - len(shown)} that few people have")
            kept = [number for number, text in enumerate(spellings) if text in common] or [0]
            known = [visible(text) if text in common else "one of them" for text in spellings]
            of = "choices" if name in asked.judged else "known"
            offered = [choices(self.name, of, number=number, text=known[number])[0] for number in kept]
            most = max(kept, key=lambda number: common.get(spellings[number], 0))
            fields.append(
                Field(
                    name=key,
                    legend=f"{name}: do these mean the same? {' · '.join(shown)}",
                    choices=(*offered, *choices(self.name, of)[2 if is_same else 1 :]),
                    chosen=f"keep:{most}" if is_same and name in asked.judged else "",
                )
            )
        return fields

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        specs = {name: asked.spec(name) for _, name, _, _ in self._alike(asked)}
        for key, name, spellings, _ in self._alike(asked):
            spec, answer = specs[name], given.get(key, DOUBT)
            aliases = {text: value for text, value in spec.get("aliases", {}).items() if text not in spellings}
            distinct = [each for each in spec.get("distinct", []) if set(each) != set(spellings)]
            if answer.startswith("keep:"):
                kept = spellings[int(answer.removeprefix("keep:"))]
                aliases |= {text: kept for text in spellings if text != kept}
            elif answer == "different" and name in asked.judged:  # else they are different values anyway
                distinct.append(list(spellings))
            every = [text for text in spellings if text not in spec.get("no_answer", [])]
            values = [value for value in dict.fromkeys([*spec.get("values", []), *every]) if value not in aliases]
            specs[name] = {**spec, "values": values, "aliases": aliases, "distinct": distinct}
        return {column_path(name): spec_words(spec, empty=("aliases", "distinct")) for name, spec in specs.items()}

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        alike = (name for _, name, _, _ in self._alike(asked))
        return [column_path(name) for name in dict.fromkeys([*asked.judged, *alike])]


class Gaps(Question):
    """What do empty or special values mean?"""

    name = "gaps"

    def _gaps(self, asked: CaseInQuestion) -> Iterator[tuple[str, str, str, bool]]:
        """A field's name, the secret, what may be no answer of it, and whether that is a mark of a gap."""
        for name in asked.with_role("sensitive"):
            column = asked.columns.get(name)
            for text in dict.fromkeys([*column.gaps, *column.unanswered]) if column else ():
                yield f"{name}:{text}", name, text, text in (column.gaps if column else ())

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        fields = []
        for key, name, text, is_mark in self._gaps(asked):
            shown = text or "an empty cell"
            if not is_mark and text not in asked.columns[name].common:
                shown = "a value that few people have"
            legend = f"What does {shown} in {name} mean?"
            fields.append(Field(name=key, legend=legend, choices=choices(self.name)))
        if any(_may_be_secret(asked.spec(name), text) for _, name, text, _ in self._gaps(asked)):
            legend = "Would it harm somebody if others knew that she gave no answer?"
            fields.append(Field(name="harm", legend=legend, choices=choices(self.name, "harm")))
        if asked.policy.get("data", "on_missing"):
            legend = "What becomes of people with a gap in another column?"
            fields.append(Field(name="others", legend=legend, choices=choices(self.name, "others")))
        return fields

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        specs = {name: asked.spec(name) for _, name, _, _ in self._gaps(asked)}
        missing = list(asked.policy.get("data", "missing") or [])
        for key, name, text, is_mark in self._gaps(asked):
            spec, is_answer = specs[name], given.get(key) == "answer"
            no_answer = [each for each in spec.get("no_answer", []) if each != text] + [text] * (not is_answer)
            values = list(spec.get("values", []))
            values += [text] if is_answer and text not in values else []
            missing += [text] if given.get(key) == "unknown" and is_mark and text not in missing else []
            new = {**spec, "values": values, "no_answer": no_answer}
            harms = given.get("harm") != "no" and any(_may_be_secret(new, each) for each in no_answer)
            specs[name] = {**new, "missing_is_value": harms}
        empty = ("values", "missing_is_value")  # an empty `no_answer` states that all values are answers
        changes: Changes = {column_path(name): spec_words(spec, empty=empty) for name, spec in specs.items()}
        changes |= {("data", "missing"): missing} if missing else {}
        return changes | ({("data", "on_missing"): given["others"]} if given.get("others") in {"drop", "keep"} else {})

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        of_gaps = dict.fromkeys(name for _, name, _, _ in self._gaps(asked))
        return [("data", "missing"), ("data", "on_missing"), *map(column_path, of_gaps)]


def _may_be_secret(spec: Mapping[str, Any], no_answer: str) -> bool:
    """Is there somebody in a release who gave no answer? People without a class are left out, unless it is a value."""
    return "class" not in spec["role"] or no_answer in spec.get("values", ())


class Harmless(Question):
    """Which answers may anybody know?"""

    name = "harmless"

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        if asked.target not in asked.with_role("sensitive") or asked.target not in asked.columns:
            return []
        values, common = asked.spec(asked.target).get("values", []), asked.columns[asked.target].common
        offered = [value for value in values if value in common and len(values) > 1]
        every = choices(self.name)
        return [Field(name=each, legend=visible(each), choices=every, chosen="secret") for each in offered]

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        target, changes = asked.target, dict[DocumentPath, Any]()
        values = asked.spec(target).get("values", [])
        judged = [value for value in values if given.get(value) != "harmless"]
        for path, limit in asked.limits():
            if limit.get("use") in {"exposure", "confidence"} and limit.get("secret", target) == target:
                kept = {key: value for key, value in limit.items() if key not in {"values", "secret"}}
                changes[path] = {**kept, **({"values": judged} if judged != values else {})}
        return changes

    def problems(self, asked: CaseInQuestion, given: Fields) -> dict[str, str]:
        values = asked.spec(asked.target).get("values", [])
        if values and all(given.get(value) == "harmless" for value in values):
            return {values[0]: "One must stay secret. If none is, answer that anybody may know what is predicted."}
        return super().problems(asked, given)

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        return [path for path, _ in asked.limits()]


class Published(Question):
    """What will leave?"""

    name = "publish"

    def found(self, asked: CaseInQuestion) -> list[str]:
        return asked.facts.model.discloses if asked.facts.model else []

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        return [Field(name="leaves", legend="What will leave?", choices=choices(self.name, level=asked.level))]

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        return {("publish", "leaves"): asked.level if given["leaves"] == DOUBT else given["leaves"]}

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        return [("publish",)]


class Limits(Question):
    """Are these limits right?"""

    name = "limits"

    def found(self, asked: CaseInQuestion) -> list[str]:
        if all(limit.get("at_most", CONFIDENCE) <= CONFIDENCE for limit in self._sure(asked).values()):
            return []
        why = f"only where one value of {asked.target} is so frequent that this leaves no room"
        return [f"init proposes more than {100 * CONFIDENCE:g} % {why}."]

    def _name(self, asked: CaseInQuestion, limit: Mapping[str, Any]) -> str:
        """The field that asks for a limit on confidence: one for each secret."""
        secret = limit.get("secret", asked.target)
        return "sure" if secret == asked.target else f"sure:{secret}"

    def _sure(self, asked: CaseInQuestion) -> dict[str, dict[str, Any]]:
        limits = [limit for path, limit in asked.limits() if path[0] == "metrics" and limit.get("use") == "confidence"]
        return {self._name(asked, limit): limit for limit in reversed(limits)}

    def fields(self, asked: CaseInQuestion) -> list[Field]:
        limits = {limit.get("use"): limit for path, limit in reversed(list(asked.limits())) if path[0] == "metrics"}
        fields = []
        if (group := limits.get("k_anonymity")) is not None:
            legend, number = "Nobody stands in a group of fewer people than", group.get("at_least", 10)
            fields.append(Field(name="group", legend=legend, chosen=f"{number:g}", least=2, most=1_000_000))
        for name, limit in self._sure(asked).items():
            secret = name.partition(":")[2] or "a secret"
            legend, number = f"No guess of {secret} is surer than (%)", 100 * limit.get("at_most", CONFIDENCE)
            fields.append(Field(name=name, legend=legend, chosen=f"{number:.8g}", least=1, most=99.9999))
        if (certain := limits.get("exposure")) is not None:
            legend, chosen = "Nobody's secret is certain", str(certain.get("insiders", 0))
            fields.append(Field(name="certain", legend=legend, choices=choices(self.name), chosen=chosen))
        return fields

    def changes(self, asked: CaseInQuestion, given: Fields) -> Changes:
        group, changes = round(float(given.get("group", 10))), dict[DocumentPath, Any]()
        insiders = 0 if given.get("certain") == "0" else 1
        for path, limit in asked.limits():
            sure = given.get(self._name(asked, limit))
            if limit.get("use") == "k_anonymity":
                changes[(*path, "at_least")] = group
            elif limit.get("use") == "exposure":
                changes[(*path, "insiders")] = insiders
            elif limit.get("use") == "confidence" and sure is not None:
                changes[(*path, "at_most")] = round(float(sure) / 100, 12)
        builder = asked.policy.get("build") or {}
        is_kadet = builder.get("use") == "kadet"
        return {**changes, **({("build", "k"): group} if is_kadet and builder.get("k", 0) < group else {})}

    def paths(self, asked: CaseInQuestion) -> list[DocumentPath]:
        return [*(path for path, _ in asked.limits()), ("build", "k")]


QUESTIONS: Sequence[Question] = (
    People(),
    Varies(),
    Predicted(),
    Outsiders(),
    Spellings(),
    Gaps(),
    Harmless(),
    Published(),
    Limits(),
)
"""The questions in the order of the task list."""
