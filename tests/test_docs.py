"""The Markdown files tell the truth: links lead somewhere, commands exist, code compiles, and the pages' code runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from arm_tosa_core import extend
from arm_tosa_core.frontends.tflite import ROWS
from documents import ROOT, blocks, commands, play
from tflite_files import image_network, tflite

FILES = sorted(
    file
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "packages/*/*.md",
        "tests/plugins/*/*.md",
        "benchmarks/*.md",
        "examples/*.md",
    )
    for file in ROOT.glob(pattern)
)
#: Pages whose Python and ``arm-tosa`` commands run from top to bottom. Every page of docs/ with Python is one.
PLAYED = sorted(f for f in FILES if ROOT / "docs" in f.parents and any(b.language == "python" for b in blocks(f)))
#: A page about a file that the reader has.
TFLITE = ROOT / "docs" / "how-to" / "i-have-a-tflite.md"
#: What declares the sessions of nox.
SESSIONS = [ROOT / "noxfile.py", *(ROOT / "nox_sessions").glob("*.py")]
#: Not history, which may name what is gone.
CURRENT = [file for file in FILES if "notes" not in file.parts and file.name != "CHANGELOG.md"]

every_file = pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(ROOT)) for file in FILES])


def _anchors(file: Path) -> set[str]:
    """The anchors that GitHub makes of a file's headings."""
    headings = re.findall(r"^#+ +(.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def _prose(file: Path) -> str:
    """The text without code."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)


@every_file
def test_relative_links_lead_somewhere(file: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(file)):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{file.relative_to(ROOT)}: {link} leads nowhere"
        assert ROOT in (target, *target.parents), f"{file.relative_to(ROOT)}: {link} leads out of the repository"
        in_site = ROOT / "docs" in target.parents or target == ROOT / "SECURITY.md"  # which docs/site_hooks.py adds
        assert in_site or ROOT / "docs" not in file.parents, f"{file.relative_to(ROOT)}: {link} is not in the site"
        if anchor:
            assert anchor in _anchors(target), f"{file.relative_to(ROOT)}: {link}: no such heading"


@pytest.mark.parametrize("file", CURRENT, ids=[str(file.relative_to(ROOT)) for file in CURRENT])
def test_paths_of_the_repository_that_are_named_exist(file: Path) -> None:
    text = file.read_text()
    for path in re.findall(r"`((?:packages|tests|docs|benchmarks|examples)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), f"{file.relative_to(ROOT)}: there is no {path}"
    for module in re.findall(r"`(arm_(?:tosa_core|cortex_m|ethosu|vgf)/[\w./]*)`", text):
        homes = list(ROOT.glob(f"packages/*/src/{module}"))
        assert homes, f"{file.relative_to(ROOT)}: there is no {module}"


def _blank(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n")


@every_file
def test_rows_of_a_table_have_the_cells_of_its_head(file: Path) -> None:
    cells = 0
    for number, line in enumerate(re.sub(r"^```.*?^```", _blank, file.read_text(), flags=re.M | re.S).split("\n"), 1):
        found = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not (cells and found) or found == cells, f"line {number}"
        cells = found


def test_every_decision_is_in_the_navigation() -> None:
    named = set(re.findall(r"adr/(\S+\.md)", (ROOT / "mkdocs.yml").read_text()))
    assert named == {file.name for file in (ROOT / "docs" / "adr").glob("*.md")}


@every_file
def test_every_code_block_says_its_language(file: Path) -> None:
    assert [block.line for block in blocks(file) if not block.language] == []


@every_file
def test_python_blocks_compile(file: Path) -> None:
    for block in blocks(file):
        if block.language == "python":
            compile("\n" * (block.line - 1) + block.text, str(file), "exec")


@pytest.mark.parametrize(
    "file", [f for f in FILES if any(b.language == "c" for b in blocks(f))], ids=lambda f: str(f.stem)
)
def test_c_blocks_compile(file: Path) -> None:
    folders = ("arm-runtime-cpp/include", "arm-cortex-m/src/arm_cortex_m/kernels/files")
    include = [f"-I{ROOT / 'packages' / folder}" for folder in folders]
    for block in blocks(file):
        if block.language == "c":
            command = ["cc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *include, "-xc", "-"]
            text = block.text.replace('"processor/', '"')  # the folder of firmware
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            assert done.returncode == 0, f"line {block.line}: {done.stderr}"


@every_file
def test_code_that_is_quoted_is_that_of_the_sources(file: Path) -> None:
    """A block in the language ``py`` shows a piece of the sources, to read and not to run."""
    for block in blocks(file):
        if block.language == "py":
            sources = (source.read_text() for source in ROOT.glob("packages/*/src/**/*.py"))
            assert any(block.text in source for source in sources), f"line {block.line}: no such code"


@every_file
def test_commands_exist(file: Path) -> None:
    for line, text in commands(file):
        for part in text.split(" && "):
            try:
                _check(shlex.split(part), {block.title for block in blocks(file)})
            except AssertionError as error:
                pytest.fail(f"{file.relative_to(ROOT)}:{line}: {part}\n{error}")


def _check(words: list[str], made: set[str]) -> None:
    """Judges one command without running it: what it names exists in the repository or among the files ``made``."""
    match words:
        case ["arm-tosa", *arguments]:
            _check_arm_tosa(arguments)
        case ["python", "-m", "pip", "install", "--editable", "."]:
            assert "pyproject.toml" in made
        case ["python", "-m", "pip", "install", "--no-deps", "-r", requirements]:
            assert (ROOT / requirements).is_file(), requirements
        case ["python", "-m", "pip", "install", *names]:
            for name in names:
                folder = ROOT / name.partition("[")[0]
                assert name.startswith("-") or (folder / "pyproject.toml").is_file() or _is_required(name), name
        case ["nox", "-s", session, *_]:
            declared = rf'^def {re.escape(session)}\(|name="{session}"'
            assert any(re.search(declared, file.read_text(), re.MULTILINE) for file in SESSIONS), session
        case ["pytest", "--arm-target=acme", "--pyargs", "arm_tosa_core.testing"]:
            # What the session "plugin" runs.
            words = '"--arm-target=acme", "--pyargs", "arm_tosa_core.testing"'
            assert any(words in file.read_text() for file in SESSIONS)
        case ["pytest", option, "--pyargs", "arm_tosa_core.testing", *_]:
            assert option.startswith("--arm-target=") and "pyproject.toml" in made
        case ["python", "-m", module, *_]:
            assert list(ROOT.glob(f"{module.replace('.', '/')}*")), module
        case ["python", script, *_]:
            assert script in made or (ROOT / script).is_file(), script
        case ["arm_runner", *options]:
            source = (ROOT / "packages/arm-runtime-cpp/src/runner/arm_runner.cpp").read_text()
            for option in options:
                assert not option.startswith("--") or f'"{option}"' in source, option
        case ["cmake", "--preset", "board", "-S", "firmware"] | ["cmake", "--build", "firmware/build"]:
            pass  # of a folder that `arm-tosa deploy` made; tests/test_firmware_bits.py builds one
        case ["cmake" | "ctest", *options]:
            presets = json.loads((ROOT / "packages/arm-runtime-cpp/CMakePresets.json").read_text())
            known = {preset["name"] for preset in presets["configurePresets"]}
            assert options[options.index("--preset") + 1] in known
        case ["python3", "-m", "venv", _] | [".", _] | ["cd", _] | ["apt-get", "install", *_] | ["export", _]:
            pass
        case ["pre-commit", "install"]:
            assert (ROOT / ".pre-commit-config.yaml").is_file()
        case _:
            raise AssertionError("nothing here knows how to try this command")


def _check_arm_tosa(arguments: list[str]) -> None:
    import typer

    from arm_tosa_core.cli.main import app

    group: Any = typer.main.get_command(app)
    name, *rest = arguments
    assert name in group.commands, f"arm-tosa has no command {name}"
    group.commands[name].make_context(name, rest)  # raises, and so fails, at an unknown or a missing option


def _is_required(name: str) -> bool:
    """Whether a distribution is one that a package or a session asks for, so that somebody knows it."""
    sources = [*ROOT.glob("packages/*/pyproject.toml"), *SESSIONS, ROOT / "constraints.txt"]
    name = name.partition("[")[0]
    return name == "nox" or any(re.search(rf"\b{re.escape(name)}\b", source.read_text()) for source in sources)


@pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own
@pytest.mark.usefixtures("qat_patterns")
@pytest.mark.parametrize("file", PLAYED, ids=[str(file.relative_to(ROOT)) for file in PLAYED])
def test_the_code_of_a_page_runs(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="pages run what they compile: nox builds arm-runtime-cpp")
    play(file, tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_the_commands_of_the_page_about_tflite_run(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="verify runs the program: nox builds arm-runtime-cpp")
    (tmp_path / "model.tflite").write_bytes(tflite(image_network()))
    play(TFLITE, tmp_path)


def test_the_page_about_tflite_has_every_operator() -> None:
    """Those that the reader resolves itself have no row."""
    kinds = {kind for kind in ROWS if kind.isupper()}
    kinds |= {"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "STABLEHLO_COMPOSITE", "VAR_HANDLE"}
    listed = TFLITE.read_text().split("<!-- operators: begin -->")[1].split("<!-- operators: end -->")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == kinds


@pytest.mark.parametrize("package", ["arm_tosa_core", "arm_ethosu", "arm_vgf"])
def test_every_public_name_is_in_the_reference(package: str) -> None:
    page = (ROOT / "docs" / "reference" / f"{package}.md").read_text()
    shown = re.findall(rf"^::: {package}\.(?:\w+\.)*(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(__import__(package).__all__)


@pytest.mark.parametrize("folder", ["how-to", "tutorial"])
def test_pages_import_only_names_with_a_promise(folder: str) -> None:
    """``docs/reference/stability.md`` has them."""
    for page in (ROOT / "docs" / folder).glob("*.md"):
        imported = re.findall(
            r"^(?:from|import) (arm_(?:tosa_core|ethosu|vgf|cortex_m)\.\S+)", page.read_text(), re.MULTILINE
        )
        assert set(imported) <= {"arm_tosa_core.extend"}, page


def test_every_name_for_plugins_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "extend.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(extend.__all__)


@pytest.mark.parametrize("file", [f for f in FILES if "\n::: " in f.read_text()], ids=lambda file: str(file.stem))
def test_what_the_site_fills_in_is_named_in_a_table_too(file: Path) -> None:
    """In a clone, nothing stands where the site has signatures and docstrings."""
    text = file.read_text()
    shown = re.findall(r"^::: [\w.]*\.(\w+)$", text, re.MULTILINE)
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == shown


def test_parts_of_pages_come_from_the_program() -> None:
    """The hook of the site writes a section for each command, with each of its options, a row for each operator and a
    section for each chip, with each source."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    assert spec and spec.loader
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    names = ("chips.md", "command-line.md", "operators.md")
    made = {name: hooks.on_page_markdown((ROOT / "docs" / "reference" / name).read_text()) for name in names}
    assert all(mark not in text for mark in hooks.MARKS for text in made.values())
    assert "## compile" in made["command-line.md"] and "`--calibration FILE`" in made["command-line.md"]
    files = list(ROOT.glob("packages/*/src/*/chips/*.toml"))
    assert sorted(file.stem for file in files) == sorted(re.findall("^## (.*)$", made["chips.md"], re.MULTILINE))
    for file in files:
        data = tomllib.loads(file.read_text())
        section = made["chips.md"].split(f"\n## {file.stem}\n")[1].split("\n## ")[0]
        assert section.count("\n| ") - 1 == len(data["facts"])
        assert all(f"<{source}>" in section for source in data["sources"].values())
    rows = {row.split(" | ")[0].strip("|` "): row.split(" | ")[1:7] for row in made["operators.md"].splitlines()}
    assert rows["conv2d"][:3] == ["yes", "yes", "yes"]
    assert rows["logical_and"][2] != "yes" and rows["logical_and"][4] == "yes"  # Ethos-U55 has no booleans
