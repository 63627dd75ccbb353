"""The conformance kit: operator cases as rows of data, run for any installed target.

``pytest --arm-target=acme --pyargs arm_tosa_core.testing`` runs every case that the target's specification admits.
"""
