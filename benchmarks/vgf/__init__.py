"""Networks as VGF on the engines of our runtime, beside ncnn and IREE on the same Vulkan device, in turn.

    python -m benchmarks.vgf                                  # all networks and number types of CASES
    python -m benchmarks.vgf resnet18 mobilenet_v2:int8       # some of them
    python -m benchmarks.vgf --prepare DIR                    # on a machine with PyTorch and the compilers
    python -m benchmarks.vgf --measure DIR --results FILE     # on another, with a GPU

Preparing needs the packages, and of the peers (pip install ncnn pnnx iree-base-compiler iree-base-runtime) the programs
``pnnx`` and ``iree-compile`` on the PATH; a peer that is missing, or refuses a network, is a row with ``error``.
Measuring needs DIR, this folder, numpy, the Python part of ``arm_runtime``, and the modules ``ncnn`` and
``iree.runtime``.

Every side is a process of its own. In each round every side runs in turn: 0.3 s that warm up, then ``--repeat`` runs.
Weights repeat with a period, so that DIR packs well; batch norms are calibrated for them. Times do not depend on their
values.
"""
