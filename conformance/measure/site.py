"""`tox run -e site`: the site, built from docs/ and judged. `tox run -e site -- serve` shows it on loopback.

Zensical knows only what is below one folder, so the pages are laid out in a folder of their own: docs/README.md, and
all that can be reached from there by links. A file that is no page is shown as code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from busproof.contract.catalogue import catalogue
from busproof.pages.report.scoreboard import FIELD, of_bus

ROOT, EXAMPLES = Path(__file__).parents[2], FIELD.parent
BUILT = ROOT / "build" / "site"
PAGES, SITE = BUILT / "pages", BUILT / "site"
CODE = r"(?P<fence>`{3,}).*?(?P=fence)|`[^`]*`"
LINK = r"(?P<words>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<link>[^)#\s:]+)(?P<anchor>#[^)]*)?\)"
LANGUAGES = {".mjs": "javascript", ".py": "python", ".rb": "ruby", ".pl": "perl"}  # others are called as their files
OF_FOLDER = ("README.md", "adapter.py", "adapter.mjs", "bus.toml")  # what a link to a folder shows
WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
VERDICTS = {
    "valid": "every promise held",
    "invalid": "a promise broke",
    "unknown": "no row of `check` failed, and not all have been decided yet",
}
KINDS = ("", "tour", "scoreboard", "buses/acta")


def main() -> int:
    """Build, and judge the pages; or serve them."""
    shutil.rmtree(BUILT, ignore_errors=True)
    lay_out()
    zensical = [sys.executable, "-m", "zensical"]
    if sys.argv[1:] == ["serve"]:
        return subprocess.run([*zensical, "serve", "--dev-addr", "127.0.0.1:8000"], cwd=BUILT, check=False).returncode
    if code := subprocess.run([*zensical, "build", "--strict"], cwd=BUILT, check=False).returncode:
        return code
    for fault in (faults := judge()):
        print(f"✗ {fault}")
    print(f"{len(built())} pages in {SITE}; `tox run -e site -- serve` shows them")
    return int(bool(faults))


def lay_out() -> None:
    """The pages, their pictures and the configuration."""
    waiting, laid = [ROOT / "docs/README.md"], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in laid:
            continue
        laid.add(path)
        page = PAGES / place(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            shutil.copy(path, page)
            continue
        text, links = _with_links_of_the_site(_text(path), path)
        page.write_text(text, encoding="utf-8")
        waiting += links
    config = (ROOT / "docs/zensical.toml").read_text(encoding="utf-8")
    for folder in ("buses", "examples"):
        pages = sorted(page.relative_to(PAGES) for page in (PAGES / folder).glob("[!R]*.md"))
        config = config.replace(f'"@{folder}"', ", ".join(f'"{page}"' for page in pages))
    (BUILT / "zensical.toml").write_text(config, encoding="utf-8")
    shutil.copy(ROOT / "docs/site.css", PAGES)
    if lost := [page for page in re.findall(r'"(\S+\.md)"', config) if not (PAGES / page).exists()]:
        sys.exit(f"docs/zensical.toml has pages to which no page leads: {', '.join(lost)}")


def place(path: Path) -> Path:
    """Where the site has a file of the tree."""
    inside = path.relative_to(ROOT)
    if inside.parts[0] == "docs":
        return inside.relative_to("docs")
    if path == ROOT / "README.md":
        return Path("start.md")
    if path.parent == ROOT:
        return Path(inside.name.lower())
    if path.is_relative_to(FIELD) and path.name in ("README.md", "bus.toml"):
        return Path("buses", "README.md" if path.parent == FIELD else f"{path.parent.name}.md")
    if path.name == "README.md":
        return Path("examples", "README.md" if path.parent == EXAMPLES else f"{path.parent.name}.md")
    return Path("files", f"{inside}.md")


def _text(path: Path) -> str:
    """The page of a file."""
    if path.parent.parent == FIELD:
        return _bus(path.parent)
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else f"# `{path.relative_to(ROOT)}`\n\n{_code(path)}"


def _code(path: Path) -> str:
    language = LANGUAGES.get(path.suffix, path.suffix[1:])
    return f"````{language}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"


def _bus(folder: Path) -> str:
    """A judged public bus: the verdict, the sentences that break, what its README says of them, and its file."""
    title, door, expected = of_bus(folder)
    readme, form = folder / "README.md", folder / "bus.toml"
    rows = catalogue("mailbox")
    verdict, package, language = (expected[key] for key in ("verdict", "package", "language"))
    about = f"Package: `{package}`, written in {language}, judged through its {door}."
    lines = [f"# {title}", "", f"**{verdict.upper()}** as a `mailbox`: {VERDICTS[verdict]}. {about}", ""]
    for act, program in (("failed", "check"), ("chaos", "chaos")):
        for row, why in expected.get(act, {}).items():
            lines += [f"- `{row}` (found by `{program}`): {rows[row].text} *{why}.*"]
    if readme.exists():
        lines += ["", "## In detail", "", readme.read_text(encoding="utf-8").partition("\n")[2]]
    if form.exists():
        lines += ["", "## Its bus.toml", "", _code(form)]
    return "\n".join(lines)


def _with_links_of_the_site(text: str, path: Path) -> tuple[str, list[Path]]:
    """The text, and the files to which it links. A folder, or the evidence, has no page: the words of the link stay."""
    links = []

    def here(match: re.Match[str]) -> str:
        if match["link"] is None:
            return match.group()  # code
        target = (path.parent / match["link"]).resolve()
        if not target.exists():
            sys.exit(f"{path.relative_to(ROOT)} leads to {match['link']}, which is not there")
        target = next((target / name for name in OF_FOLDER if (target / name).exists()), target)
        if target.is_dir() or target.parent.name == "evidence":
            return match["words"][1:-1]
        narrow = target.with_stem(f"{target.stem}-narrow")  # its twin for a telephone: site.css shows one of the two
        shown = {target: " .wide", narrow: " .narrow"} if narrow.exists() else {target: ""}
        links.extend(shown)
        return "".join(
            f"{match['words']}({os.path.relpath(place(file), place(path).parent)}{match['anchor'] or ''})"
            + (f"{{{kind} }}" if kind else "")
            for file, kind in shown.items()
        )

    return re.sub(f"{CODE}|{LINK}", here, text, flags=re.DOTALL), links


class Outline(HTMLParser):
    """What a page lacks for a reader who hears it: one h1, headings without a gap, words for each picture."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.levels, self.faults = list[int](), list[str]()
        self.feed(page.read_text(encoding="utf-8"))
        if self.levels.count(1) != 1 or self.levels[0] != 1:
            self.faults.append("the page does not begin with its only h1")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A heading or a picture."""
        if re.fullmatch("h[1-6]", tag):
            level = int(tag[1])
            if self.levels and level > self.levels[-1] + 1:
                self.faults.append(f"an h{self.levels[-1]} is followed by an h{level}")
            self.levels.append(level)
        elif tag == "img" and not dict(attrs).get("alt"):
            self.faults.append("a picture has no alt")


def judge() -> list[str]:
    """The outline of each page; and what axe, in Chromium, has against one page of each kind, contrast included."""
    faults = [f"{page.parent.relative_to(SITE)}: {fault}" for page in built() for fault in Outline(page).faults]
    if (chromium := shutil.which("chromium")) is None:
        print("there is no Chromium: contrast was not judged", file=sys.stderr)
        return faults
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme, width in (("light", 1280), ("dark", 390)):
            tab = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
            tab.set_default_timeout(300_000)  # ms: on a busy machine, a page takes its time
            for name in KINDS:
                tab.goto((SITE / name / "index.html").as_uri())
                violations = Axe().run(tab, options={"runOnly": WCAG}).response["violations"]
                faults += [f"{name}, {scheme}: {fault['help']}: {fault['nodes'][0]['html']}" for fault in violations]
    return faults


def built() -> list[Path]:
    """All pages."""
    return sorted(SITE.rglob("index.html"))


if __name__ == "__main__":
    sys.exit(main())
