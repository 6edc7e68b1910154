"""A desk in a process of its own, and a person in a browser who goes through its pages by their words."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from leafgate.cli import run
from leafgate.commands.demo.audits import policy_text
from leafgate.commands.demo.people import people_csv
from leafgate.commands.desk.cases import Case
from leafgate.commands.desk.jobs import Job, ask_job
from leafgate.commands.desk.reading import read_files

CHROMIUM = os.environ.get("LEAFGATE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
demo_people, demo_policy = people_csv, policy_text
"""The people of the demonstration, by their number and a seed, and its policies by their names."""
SECONDS = 240_000
"""How long a browser waits for an audit, in milliseconds."""


@dataclass
class RunningDesk:
    """The command `leafgate desk`, started for a folder."""

    folder: Path
    port: int = 0
    options: Sequence[str] = ()
    address: str = field(init=False, default="")
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        words = [sys.executable, "-m", "leafgate", "desk", str(self.folder), "--no-browser", "--port", str(self.port)]
        words += self.options
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        self.address = first.rpartition(" ")[2].strip()
        self.port = int(re.findall(r":(\d+)/", self.address)[0])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def root(self) -> str:
        """The address below which all pages are."""
        return self.address.partition("/open/")[0]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the desk, whose audits go on."""
        self.process.send_signal(number)
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass
class Person:
    """Somebody who reads pages and presses buttons."""

    page: Any

    def opens(self, desk: RunningDesk) -> None:
        """Use the address that the desk printed."""
        self.page.goto(desk.address)
        self.page.wait_for_selector("h1:has-text('Cases')")

    def begins(self, desk: RunningDesk, case: str, **files: str) -> None:
        """Begin a case with files of the desk's folder, and see what they are."""
        self.page.goto(f"{desk.root}/new")
        self.page.get_by_label("Name of the case").fill(case)
        for role, name in files.items():
            self.page.select_option(f"#{role}", name)
        self.page.get_by_role("button", name="Save and continue").click()
        self.page.wait_for_selector(
            "h1:has-text('What the files are'), h1:has-text('could not be read')", timeout=SECONDS
        )

    def answers(self, desk: RunningDesk, case: str, answers: Mapping[str, str]) -> list[str]:
        """Answer every question, by the words of answers to legends, and with doubt where nothing stands there.

        Returns:
            The headings of the questions.
        """
        headings = []
        self.page.goto(f"{desk.root}/cases/{case}")
        while (link := self.page.locator("dd:has(.tag:text-is('To answer')) a[href*='/questions/']").first).count():
            link.click()
            headings.append(self.page.locator("h1").inner_text())
            for name in self.field_names():
                self.answer(name, answers)
            self.page.get_by_role("button", name="Save and continue").click()
            assert not self.page.locator(".trouble").count(), self.page.locator("main").inner_text()
            self.page.goto(f"{desk.root}/cases/{case}")
        return headings

    def field_names(self) -> list[str]:
        fields = self.page.locator("main input[type=radio]").evaluate_all("all => all.map(one => one.name)")
        return list(dict.fromkeys(fields))

    def answer(self, name: str, answers: Mapping[str, str]) -> None:
        """Choose in one field what was decided, else leave what stands there, else say that it is not known."""
        radios = self.page.locator(f"input[name='{name}']")
        group = radios.first.locator("xpath=ancestor::fieldset | ancestor::tr").last
        legend = group.locator("legend, th").first.inner_text().split("\n")[0]
        wanted = next((words for key, words in answers.items() if legend.startswith(key)), None)
        if wanted is None and self.page.locator(f"input[name='{name}']:checked").count():
            return
        wanted = wanted or "I do not know"
        for radio in radios.all():
            label = radio.get_attribute("aria-label") or radio.locator("xpath=following-sibling::label").inner_text()
            if label.removeprefix(f"{legend}: ").startswith(wanted):
                radio.check()
                return
        raise AssertionError(f"{legend}: no answer {wanted}")

    def runs(self, desk: RunningDesk, case: str) -> str:
        """Run the audit, and read the verdict."""
        self.page.goto(f"{desk.root}/cases/{case}/check")
        self.page.get_by_role("button", name="Run the audit").click()
        return self.reads()

    def reads(self) -> str:
        """Wait for a result and read its heading."""
        self.page.wait_for_selector(".verdict h1, h1:has-text('No result'), h1:has-text('Stopped')", timeout=SECONDS)
        return str(self.page.locator("h1").inner_text()).strip()


def violations(page: Any) -> list[tuple[str, str, str]]:
    """What hinders people who cannot see a page, or use no mouse."""
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page, options={"iframes": False}).response["violations"]
    return [(page.url, each["id"], each["nodes"][0]["html"][:200]) for each in found]


def small_case(folder: Path) -> Case:
    """A new case of 120 people without a model, whose files are read."""
    folder.mkdir()
    rows = [f"{20 + number % 40},{'AB'[number % 2]},{('yes', 'no')[number % 3 > 0]}" for number in range(120)]
    (folder / "people.csv").write_text("\n".join(["age,ward,ill", *rows]) + "\n")
    Case(folder).save(files={"table": "people.csv"})
    read_files(folder)
    return Case(folder)


def audited(case: Case, job: Job | None = None) -> Job:
    """An audit of a case as the desk runs it, but in this process."""
    job = job or ask_job(case, "audit")
    with contextlib.chdir(case.folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        assert run([*job.steps[0].words[1:]]) in {0, 1, 3}
    (job.folder / "public.json").write_text(printed.getvalue())
    return job.save(started=datetime.now(UTC), ended=datetime.now(UTC))
