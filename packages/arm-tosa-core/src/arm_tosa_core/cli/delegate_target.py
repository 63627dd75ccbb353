"""Which installed target a delegate of a ``.pte`` was compiled for."""

from __future__ import annotations

from ..exir.pte import Delegate
from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..support.errors import UsageError


def target_of(delegate: Delegate) -> Target:
    """The installed target that a delegate was compiled for.

    Raises:
        UsageError: the compile specs do not say which, or it is not installed.
    """
    known = {
        name: target for name, target in plugins.targets().items() if target.compiler.backend_id == delegate.backend_id
    }
    names = [str(delegate.options.get(key)) for key in ("target", "name")]
    # Where executorch.backends.arm writes it.
    names.append(dict(delegate.compile_specs).get("target", b"").decode(errors="replace"))
    chosen = [known[name] for name in names if name in known] or list(known.values())
    if len(chosen) != 1:
        raise UsageError(
            f"delegate {delegate.index} is for {delegate.backend_id}, and its compile specs do not say which target "
            f"of {', '.join(known) or 'none installed'} that is"
        )
    return chosen[0]
