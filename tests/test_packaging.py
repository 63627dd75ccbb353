"""What users install: built wheels and sdists hold what they should, and the metadata tells the truth."""

from __future__ import annotations

import ast
import email.message
import email.parser
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "arm-tosa-core": "arm_tosa_core",
    "arm-cortex-m": "arm_cortex_m",
    "arm-ethosu": "arm_ethosu",
    "arm-vgf": "arm_vgf",
}

EVERYTHING = "arm-tosa"  # has no module
RUNTIME = "arm-runtime-cpp"  # built by CMake; its own tests look at what is installed

every_package = pytest.mark.parametrize("package", PACKAGES)
with_the_runtime = pytest.mark.parametrize("package", [*PACKAGES, EVERYTHING, RUNTIME])


def _project(package: str) -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"])


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _declared(package: str) -> set[str]:
    """Names of the distributions that the package's metadata asks for, through our own packages too."""
    found = {_name(requirement) for requirement in _project(package)["dependencies"]}
    for ours in found & PACKAGES.keys():
        found |= _declared(ours)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of every package."""
    folder = tmp_path_factory.mktemp("built")
    for package in (*PACKAGES, EVERYTHING):
        # In this environment's hatchling: a fresh build environment would be downloaded otherwise.
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT / "packages" / package, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheels(built: Path) -> dict[str, zipfile.ZipFile]:
    return {name: zipfile.ZipFile(_only(built, f"{module}-*-py3-none-any.whl")) for name, module in PACKAGES.items()}


def _only(folder: Path, pattern: str) -> Path:
    """The one file of this pattern: versions are those of git."""
    (found,) = folder.glob(pattern)
    return found


def _metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def test_the_extra_all_is_every_package() -> None:
    extra = _project("arm-tosa-core")["optional-dependencies"]["all"]
    assert {_name(line) for line in extra} == {*PACKAGES, RUNTIME}
    assert "arm-tosa-core[llm,onnx,sweep]" in extra


def test_one_package_brings_everything_and_holds_nothing(built: Path) -> None:
    with zipfile.ZipFile(_only(built, "arm_tosa-0*.whl")) as wheel:
        names = {name.partition(".dist-info/")[2] for name in wheel.namelist()}
        assert names == {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE"}
        (needs,) = _metadata(wheel).get_all("Requires-Dist", [])
    core = _metadata(zipfile.ZipFile(_only(built, "arm_tosa_core-*.whl")))
    own = _metadata(zipfile.ZipFile(_only(built, "arm_tosa-0*.whl")))
    assert needs.startswith("arm-tosa-core[all]") and own["Requires-Python"] == core["Requires-Python"]
    with tarfile.open(_only(built, "arm_tosa-0*.tar.gz")) as sdist:
        assert {name.partition("/")[2] for name in sdist.getnames()} >= {"pyproject.toml", "README.md", "LICENSE"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder that has no more of the packages than builds of their sdists ask for; not a repository of git yet."""
    for package in (*PACKAGES, EVERYTHING, RUNTIME):
        folder = tmp_path / "packages" / package
        folder.mkdir(parents=True)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / "packages" / package / name, folder)
    return tmp_path


def _git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def _sdist(folder: Path, package: str) -> Path:
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(folder / "dist"), "."]
    subprocess.run(command, cwd=folder / "packages" / package, check=True, capture_output=True)
    return _only(folder / "dist", f"{package.replace('-', '_')}-*.tar.gz")


@pytest.mark.parametrize("package", ["arm-vgf", EVERYTHING, RUNTIME])
def test_versions_are_those_of_tags_and_there_is_one_without_tags_or_git(package: str, repository: Path) -> None:
    module = package.replace("-", "_")
    assert _sdist(repository, package).name == f"{module}-0.1.dev0.tar.gz"
    shutil.rmtree(repository / "dist")
    _git(repository, "init")
    _git(repository, "add", "packages")
    _git(repository, "commit", "-m", "packages")
    assert re.fullmatch(module + r"-0\.1\.dev1\+g[0-9a-f]+\.tar\.gz", _sdist(repository, package).name)
    _git(repository, "tag", "v0.1.7")
    shutil.rmtree(repository / "dist")
    sdist = _sdist(repository, package)
    assert sdist.name == f"{module}-0.1.7.tar.gz"
    with tarfile.open(sdist) as files:  # where no git tells it
        files.extractall(repository / "away", filter="data")
    (unpacked,) = (repository / "away").iterdir()
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", "again", "."]
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True)
    assert _only(unpacked / "again", "*").name == sdist.name


@every_package
def test_the_wheel_holds_every_source_file_and_the_license(package: str, wheels: dict[str, zipfile.ZipFile]) -> None:
    source = ROOT / "packages" / package / "src"
    files = (file for file in (source / PACKAGES[package]).rglob("*") if file.is_file())
    wanted = {str(file.relative_to(source)) for file in files if "__pycache__" not in file.parts}
    assert f"{PACKAGES[package]}/py.typed" in wanted
    names = set(wheels[package].namelist())
    assert wanted == {name for name in names if ".dist-info/" not in name}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_names_the_licenses_of_the_scripts_in_it(wheels: dict[str, zipfile.ZipFile]) -> None:
    """And dagre's, which is inside of cytoscape-dagre."""
    wheel = wheels["arm-tosa-core"]
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    assert "License-Expression: Apache-2.0 AND MIT" in lines
    named = {line.removeprefix("License-File: ") for line in lines if line.startswith("License-File: ")}
    scripts = ("cytoscape", "cytoscape-dagre", "dagre", "plotly.js-basic-dist-min", "tabulator-tables")
    assert named == {"LICENSE", *(f"licenses/LICENSE.{script}" for script in scripts)}


@every_package
def test_the_sdist_holds_what_a_build_and_the_tests_need(package: str, built: Path) -> None:
    with tarfile.open(_only(built, f"{PACKAGES[package]}-*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", f"src/{PACKAGES[package]}/py.typed"} <= names
    assert any(name.startswith("tests/test_") for name in names)


def test_the_sdist_of_the_runtime_holds_the_kernels(tmp_path: Path) -> None:
    """Files that no compiler of C++ asks for; the wheel is built from the sdist."""
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), "."]
    subprocess.run(command, cwd=ROOT / "packages" / RUNTIME, check=True, capture_output=True)
    (file,) = tmp_path.iterdir()
    with tarfile.open(file) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    folder = ROOT / "packages" / RUNTIME / "src" / "vgf" / "kernels"
    wanted = {f"src/vgf/kernels/{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()}
    assert "src/vgf/kernels/steps.h" in wanted and wanted <= names


@every_package
def test_entry_points_lead_to_something(package: str, wheels: dict[str, zipfile.ZipFile]) -> None:
    project = _project(package)
    points = {**project.get("scripts", {}), **_entry_points(project)}
    assert points
    (file,) = (name for name in wheels[package].namelist() if name.endswith(".dist-info/entry_points.txt"))
    text = wheels[package].read(file).decode()
    for name, value in points.items():
        assert f"{name} = {value}" in text
    code = "import importlib, operator, sys\nfor v in sys.argv[1:]:\n m, _, a = v.partition(':')\n"
    code += " m = importlib.import_module(m)\n if a: operator.attrgetter(a)(m)"
    # A process of its own: the pytest plugin among them must not be imported twice into this one.
    done = subprocess.run([sys.executable, "-c", code, *points.values()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _entry_points(project: dict[str, Any]) -> dict[str, str]:
    return {name: value for group in project.get("entry-points", {}).values() for name, value in group.items()}


def test_the_core_needs_neither_vela_nor_the_model_converter(wheels: dict[str, zipfile.ZipFile]) -> None:
    lines = _metadata(wheels["arm-tosa-core"]).get_all("Requires-Dist", [])
    needed = {_name(line) for line in lines if "extra ==" not in line}
    assert "tosa-tools" in needed
    assert not {name for name in needed if "vela" in name or "converter" in name or "vgf" in name}


@with_the_runtime
def test_requirements_are_ranges_that_admit_the_versions_of_ci(package: str) -> None:
    from packaging.requirements import Requirement

    pins = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    project = _project(package)
    optional = [line for lines in project.get("optional-dependencies", {}).values() for line in lines]
    for line in [*project["dependencies"], *optional]:
        requirement = Requirement(line)
        assert "==" not in str(requirement.specifier), f"{line}: a package that pins cannot be installed beside others"
        if requirement.name not in {*PACKAGES, RUNTIME}:
            assert requirement.specifier.contains(pins[requirement.name]), line


def _imports(package: str) -> Iterator[tuple[str, Path]]:
    for file in (ROOT / "packages" / package / ("python" if package == RUNTIME else "src")).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from ((alias.name, file) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module, file


@every_package
def test_what_is_imported_is_declared(package: str) -> None:
    # Ours are editable in CI, and what an editable package provides is not recorded.
    providers = {**packages_distributions(), **{module: [name] for name, module in PACKAGES.items()}}
    declared = _declared(package) | {package}
    # A room that not everyone uses has an extra of its own. The conformance kit is imported by pytest alone.
    extras = _project(package).get("optional-dependencies", {})
    extras = {"testing": extras.get("test", []), **extras}
    for module, file in _imports(package):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            continue
        allowed = declared.union(*({_name(line) for line in extras.get(room, [])} for room in file.parts))
        # A module in several distributions (namespace packages) is declared if one of them is.
        found = {_name(name) for name in providers.get(top, [])}
        assert found & allowed, f"{file.relative_to(ROOT)} imports {module}, of {found or 'no distribution'}"


def test_executorch_reads_its_operators_by_the_parser_in_c() -> None:
    """A second of every command: nothing imports the parser by its name, and ExecuTorch asks for none in particular."""
    assert YAML(typ="safe").Parser.__module__ != "ruamel.yaml.parser"


@with_the_runtime
def test_nothing_imports_the_rival(package: str) -> None:
    assert not [(m, f) for m, f in _imports(package) if m.startswith("executorch.backends.arm")]


@with_the_runtime
def test_every_package_carries_the_license_of_the_repository(package: str) -> None:
    assert (ROOT / "packages" / package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_next_changes_are_what_the_fragments_say(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    (tmp_path / "changelog.d" / "+mended.bugfix.md").write_text("What was wrong.\n")
    build = ["build", "--draft", "--version", "9.9.9", "--date", "2030-01-01"]
    command = [sys.executable, "-m", "towncrier", *build, "--config", ROOT / "pyproject.toml", "--dir", tmp_path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    drafted = " ".join(done.stdout.split())
    assert "## 9.9.9 (2030-01-01)" in drafted and "### Mended - What was wrong." in drafted
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        if fragment.name != "README.md":
            assert " ".join(fragment.read_text().split()) in drafted, fragment.name
