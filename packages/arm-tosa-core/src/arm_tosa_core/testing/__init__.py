"""The conformance kit: operator cases as rows of data, run for any installed target.

``pytest --arm-target=acme --pyargs arm_tosa_core.testing`` runs every case in every scheme that the target's
specification admits. The target must take them all, but those in the file of ``--arm-refusals``: rows that its own
checks refuse, each with a part of the reason. ``--arm-sample=0.1`` runs a tenth, ``--arm-seed`` says which.
``--arm-cases=FILE`` runs rows of one's own instead.
"""
