"""Reading Vela's configuration file: its system configurations and memory modes, and whether a pair fits."""

from __future__ import annotations

from configparser import ConfigParser, DuplicateOptionError, DuplicateSectionError, Error, ParsingError
from functools import cached_property, lru_cache
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path

from arm_tosa_core.support import foreign
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.install_advice import from_index

DEFAULT_INI = "Arm/vela.ini"
#: The file with the system configurations of chips.
CHIPS_INI = "arm-ethosu/chips.ini"

_SYSTEM, _MEMORY = "System_Config", "Memory_Mode"


def locate(config_ini: str | PathLike[str] | None) -> Path:
    """The file that ``config_ini`` means: ``CHIPS_INI``, one inside Vela's package, as ``"Arm/vela.ini"``, or a path.

    Raises:
        UsageError: there is no such file, or its name does not end in ``.ini``, which Vela requires.
        ToolError: Vela is not installed.
    """
    name = DEFAULT_INI if config_ini is None else fspath(config_ini)
    if name == CHIPS_INI:
        return Path(__file__).with_name("chips") / "chips.ini"
    path = Path(name).expanduser()
    if path.suffix != ".ini":
        raise UsageError(f"Vela configuration file {name!r} must have a name that ends in .ini")
    folder = _config_folder()
    # Vela itself looks up every relative "folder/file.ini" in its own package; only there if that is the one meant.
    if not path.is_absolute() and (folder / path).is_file():
        return folder / path
    if not path.is_file():
        inside = ", ".join(sorted(p.relative_to(folder).as_posix() for p in folder.glob("*/*.ini")))
        raise UsageError(f"Vela configuration file {name!r} does not exist; those inside Vela's package: {inside}")
    return path.absolute()


def is_own(config_ini: object) -> bool:
    """Whether this is ``CHIPS_INI`` or a file inside Vela's package."""
    try:
        return config_ini == CHIPS_INI or foreign.inside(_config_folder(), config_ini).is_file()
    except UsageError:
        return False


def _config_folder() -> Path:
    spec = find_spec("ethosu")  # a namespace package: finding it imports nothing
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (folder := Path(place) / "config_files").is_dir():
            return folder
    raise ToolError("vela", "is not installed", fix=f"install it with: {from_index('ethos-u-vela')}")


class VelaIni:
    """A parsed Vela configuration file.

    Args:
        path: an existing file.

    Raises:
        UsageError: it cannot be read or parsed; names the line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._parser = _parsed(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise UsageError(f"cannot read Vela configuration file {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"Vela configuration file {path} is not UTF-8 text: {error.reason}") from error
        except Error as error:
            raise UsageError(f"Vela configuration file {path}, {_fault(error)}") from error

    def _names(self, kind: str) -> list[str]:
        return [s.removeprefix(kind + ".") for s in self._parser.sections() if s.startswith(kind + ".")]

    @cached_property
    def system_configs(self) -> list[str]:
        """Names of the ``[System_Config.*]`` sections, in file order."""
        return self._names(_SYSTEM)

    @cached_property
    def memory_modes(self) -> list[str]:
        """Names of the ``[Memory_Mode.*]`` sections, in file order."""
        return self._names(_MEMORY)

    def require(self, system_config: str, memory_mode: str) -> None:
        """Checks that both sections exist and that the mode's memories are where Vela needs them.

        Raises:
            UsageError: otherwise; lists the valid names.
        """
        for kind, name, sections in (
            ("system config", system_config, self.system_configs),
            ("memory mode", memory_mode, self.memory_modes),
        ):
            if name not in sections:
                advice = f"valid ones: {', '.join(sections)}" if sections else "the file has none"
                raise UsageError(f"unknown {kind} {name!r} in {self.path}; {advice}")
        self._require_memories(system_config, memory_mode)

    def has_cache(self, memory_mode: str) -> bool:
        """Whether a memory mode has tensors elsewhere than in SRAM, which is a cache of them (``Dedicated_Sram``)."""
        arena, cache = (self._value(f"{_MEMORY}.{memory_mode}", f"{key}_mem_area") for key in ("arena", "cache"))
        return arena != cache

    def _require_memories(self, system_config: str, memory_mode: str) -> None:
        ports = {port: self.memory_at(system_config, port) for port in ("Axi0", "Axi1")}
        areas = {key: self.area(memory_mode, key) for key in ("const", "arena", "cache")}
        one_memory = len(set(areas.values())) == 1
        allowed = {
            # With everything behind one port Vela treats constants in SRAM as on-chip flash.
            "const": {"Dram", "OnChipFlash", "OffChipFlash"} | ({"Sram"} if one_memory else set()),
            "arena": {"Sram", "Dram"},
            "cache": {"Sram"},
        }
        for key, port in areas.items():
            if port is None:
                continue  # Vela has defaults for missing keys
            if port not in ports:
                raise UsageError(
                    f"{self.path}: memory mode {memory_mode!r} has {key}_mem_area={port}; it must be Axi0 or Axi1"
                )
            memory = ports[port]
            if memory is not None and memory not in allowed[key]:
                raise UsageError(
                    f"memory mode {memory_mode!r} does not fit system config {system_config!r} in {self.path}: "
                    f"{key}_mem_area={port} is {memory} there and must be {' or '.join(sorted(allowed[key]))}"
                )

    def area(self, memory_mode: str, memory: str) -> str | None:
        """The port behind which ``const``, ``arena`` or ``cache`` is in a memory mode; None: the file does not say."""
        return self.memory_value(memory_mode, f"{memory}_mem_area")

    def memory_at(self, system_config: str, port: str) -> str | None:
        """The memory at a port, ``Axi0`` or ``Axi1``, of a system configuration; None: the file does not say."""
        memory = self.system_value(system_config, f"{port.lower()}_port")
        return None if memory is None else foreign.c_identifier(memory, f"{self.path}: a memory at {port}")

    def figure(self, system_config: str, memory: str, key: str) -> float | None:
        """A number of a memory, such as its ``clock_scale``; None: the file does not say.

        Raises:
            UsageError: it is no number.
        """
        value = self.system_value(system_config, f"{memory}_{key}")
        try:
            return None if value is None else float(value)
        except ValueError:
            raise UsageError(f"{self.path}: {memory}_{key}={value} of {system_config!r} is no number") from None

    def system_value(self, system_config: str, key: str) -> str | None:
        """A key of a system configuration; None: neither it nor the section it inherits from has the key."""
        return self._value(f"{_SYSTEM}.{system_config}", key)

    def memory_value(self, memory_mode: str, key: str) -> str | None:
        """A key of a memory mode; None: neither it nor the section it inherits from has the key."""
        return self._value(f"{_MEMORY}.{memory_mode}", key)

    def _value(self, section: str, key: str) -> str | None:
        """A key of a section or of those it inherits from; the section's own wins."""
        seen: list[str] = []
        while True:
            if section in seen:
                raise UsageError(f"{self.path}: section [{section}] inherits from itself: {' -> '.join(seen)}")
            if not self._parser.has_section(section):
                raise UsageError(f"{self.path}: section [{seen[-1]}] inherits from [{section}], which does not exist")
            seen.append(section)
            if (value := self._parser.get(section, key, raw=True, fallback=None)) is not None:
                return value
            parent = self._parser.get(section, "inherit", raw=True, fallback=None)
            if parent is None:
                return None
            section = parent


@lru_cache(maxsize=4)
def _parsed(text: str, source: str) -> ConfigParser:
    """The sections of a text; a sweep asks for those of one file thousands of times."""
    parser = ConfigParser()
    parser.read_string(text, source=source)
    return parser


def _fault(error: Error) -> str:
    if isinstance(error, DuplicateSectionError):
        return f"line {error.lineno}: section [{error.section}] is there twice"
    if isinstance(error, DuplicateOptionError):
        return f"line {error.lineno}: {error.option!r} is there twice in section [{error.section}]"
    if isinstance(error, ParsingError):
        # MissingSectionHeaderError is a ParsingError with a line of its own instead of a list.
        if (line := getattr(error, "lineno", None)) is not None:
            return f"line {line}: text before the first [section]"
        number, text = error.errors[0]
        return f"line {number}: neither [section] nor key=value: {text}"
    return error.message
