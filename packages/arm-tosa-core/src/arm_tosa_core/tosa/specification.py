"""The TOSA specification of a target: version, profiles and extensions; the level is 8K (``level_limits``)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

from ..support.errors import UsageError
from ..support.executorch_names import SpecificationNames

_1_0, _1_1 = Version("1.0"), Version("1.1")

#: Extensions (section 1.4 "Profile extensions") by the name in a specification string: the name that tosa-opt uses, the
#: profile that each extends (empty: either), and the version that it began in. Those of 1.1 are as tosa-tools has them.
EXTENSIONS: dict[str, tuple[str, str, Version]] = {
    "int4": ("int4", "INT", _1_0),
    "int16": ("int16", "INT", _1_0),
    "int64": ("int64", "", _1_1),
    "doubleround": ("doubleround", "INT", _1_0),
    "inexactround": ("inexactround", "INT", _1_0),
    "bf16": ("bf16", "FP", _1_0),
    "fp8e4m3": ("fp8e4m3", "FP", _1_0),
    "fp8e5m2": ("fp8e5m2", "FP", _1_0),
    "mxfp": ("mxfp", "FP", _1_1),
    "mxfp_conv": ("mxfp_conv", "FP", _1_1),
    "fft": ("fft", "FP", _1_0),
    "var": ("variable", "", _1_0),
    "cf": ("controlflow", "", _1_0),
    "shape": ("shape", "", _1_1),
    "dynamic": ("dynamic", "", _1_0),
}
_ALIASES = {"variable": "var", "controlflow": "cf"}
_PROFILES = ("INT", "FP")
_BEFORE_1_0 = {"BI": "INT", "MI": "FP"}
_VERSIONS = (_1_0, _1_1)


def extensions_of(version: Version) -> frozenset[str]:
    """The extensions that a version has."""
    return frozenset(name for name, (_, _, since) in EXTENSIONS.items() if since <= version)


def _listed(version: Version) -> str:
    return ", ".join(name for name in EXTENSIONS if name in extensions_of(version))


@dataclass(frozen=True)
class TosaSpecification(SpecificationNames):
    """A version of TOSA with the profiles and extensions that a target has; compared by all of them.

    Args:
        profiles: ``"INT"``, ``"FP"`` or both.
        extensions: keys of ``EXTENSIONS``.
        version: of TOSA: 1.0, or 1.1, a draft.

    Raises:
        UsageError: no profile, an unknown name, or an extension of a profile that is absent.
    """

    profiles: frozenset[str]
    extensions: frozenset[str] = frozenset()
    version: Version = _1_0

    def __post_init__(self) -> None:
        if self.version not in _VERSIONS:
            supported = "1.0, 1.1, a draft, and 0.80, read as 1.0"
            raise UsageError(f"TOSA {self.version} is not supported; supported: {supported}")
        for name in sorted(self.profiles - set(_PROFILES)):
            raise UsageError(f"unknown TOSA profile {name!r}; valid: {', '.join(_PROFILES)}")
        if not self.profiles:
            raise UsageError("a TOSA specification needs a profile: INT, FP or both, for example TOSA-1.0+INT")
        for name in sorted(self.extensions):
            if name not in extensions_of(self.version):
                problem = f"of TOSA {EXTENSIONS[name][2]}" if name in EXTENSIONS else "unknown"
                supported = f"those of TOSA {self.version} are {_listed(self.version)}"
                raise UsageError(f"TOSA extension {name!r} is {problem}; {supported}")
            profile = EXTENSIONS[name][1]
            if profile and profile not in self.profiles:
                raise UsageError(f"TOSA extension {name!r} extends the {profile} profile, which {self} does not have")

    @classmethod
    def create_from_string(cls, text: str) -> TosaSpecification:
        """Parses ``TOSA-<version>+<profile>[+<profile>][+<extension>...]``, for example ``"TOSA-1.0+INT+int16"``.

        ``8k`` and ``u55`` are accepted besides extensions. ``TOSA-0.80+BI`` and ``+MI`` are read as INT and FP.

        Raises:
            UsageError: not of that form, or a word in it is not known; lists the valid ones.
        """
        match = re.fullmatch(r"TOSA-(\d+)\.(\d+)(?:\.\d+)?\+([^+]+(?:\+[^+]+)*)", text)
        if match is None:
            example = "TOSA-1.0+INT or TOSA-1.0+FP+bf16"
            raise UsageError(f"malformed TOSA specification {text!r}; write for example {example}")
        version = Version(f"{int(match[1])}.{int(match[2])}")
        words = match[3].split("+")
        if version == Version("0.80"):
            words = [_BEFORE_1_0.get(word, word) for word in words]
            version = _1_0
            now = "+".join(words)
            warnings.warn(f"{text} is read as TOSA-1.0+{now}; TOSA 0.80 is obsolete", DeprecationWarning, stacklevel=2)
        words = [_ALIASES.get(word, word) for word in words]
        for word in words:
            if word not in (*_PROFILES, *EXTENSIONS, "u55", "8k"):
                valid = f"{', '.join(_PROFILES)}, {_listed(version)}, u55, 8k"
                raise UsageError(f"unknown word {word!r} in TOSA specification {text!r}; valid: {valid}")
        return cls(
            profiles=frozenset(words).intersection(_PROFILES),
            extensions=frozenset(words).intersection(EXTENSIONS),
            is_U55_subset="u55" in words,
            version=version,
        )

    def support_integer(self) -> bool:
        """True if the INT profile is present."""
        return "INT" in self.profiles

    def support_float(self) -> bool:
        """True if the FP profile is present."""
        return "FP" in self.profiles

    def support_extension(self, extension: str) -> bool:
        """True if the extension is present; takes ``"variable"`` and ``"controlflow"`` for ``"var"`` and ``"cf"``."""
        return _ALIASES.get(extension, extension) in self.extensions

    @cached_property
    def words(self) -> frozenset[str]:
        """Profiles, extensions and versions up to this one: an operator's data types must need no others."""
        later = {str(version) for version in _VERSIONS[1:] if version <= self.version}
        return self.profiles | self.extensions | later

    def __str__(self) -> str:
        words = [name for name in (*_PROFILES, *EXTENSIONS) if name in self.words]
        return "+".join([f"TOSA-{self.version}", *words, *(["u55"] if self.is_U55_subset else [])])
