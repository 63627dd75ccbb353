"""Models of NNSmith (Liu et al., 2023), a generator that nobody of this project wrote, as ``.pt2`` files.

``python nnsmith_models.py FOLDER COUNT SEED`` runs in an environment with ``nnsmith`` and this project's PyTorch alone:
NNSmith wants other versions of much. ``python -m programs --models FOLDER`` runs what comes out.
"""

import sys
from pathlib import Path

import torch
from nnsmith.graph_gen import model_gen
from nnsmith.materialize import Model
from nnsmith.narrow_spec import auto_opset

DTYPES = ["f32", "i32", "i64", "bool"]


class Positional(torch.nn.Module):
    """A model of NNSmith that takes its inputs in order."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return list(self.model(**dict(zip(self.names, inputs, strict=True))))


def main(folder: Path, count: int, seed: int) -> None:
    """Writes the models that PyTorch exports; others are passed over."""
    kind = Model.init("torch", backend_target="cpu")
    operators = auto_opset(kind)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        try:
            made = model_gen(
                opset=operators,
                method="symbolic-cinit",
                seed=number,
                max_elem_per_tensor=2048,
                max_nodes=3 + number % 6,
                timeout_ms=10_000,
                rank_choices=None,
                dtype_choices=DTYPES,
            )
            model = kind.from_gir(made.make_concrete()).torch_model.eval()
            model.debug_numeric = lambda *_: None  # it reads numbers, which cannot be exported
            inputs = model.get_random_inps()
            exported = torch.export.export(Positional(model, list(inputs)), tuple(inputs.values()))
            torch.export.save(exported, folder / f"nnsmith-{number}.pt2")
        except Exception as error:
            print(f"{number}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
