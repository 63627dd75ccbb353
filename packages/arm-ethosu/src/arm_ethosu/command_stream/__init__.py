"""The command streams of Ethos-U: the one reader under timing, schedules, sharing, waits and the check of Vela.

From the words up: ``container`` (Vela's file), ``words``, ``registers``, ``operations``, ``feature_maps``,
``footprints`` (bytes of memory), ``tables`` (on the chip), ``hardware``, ``flight`` (what runs beside what).
``changed_registers`` writes. Nothing here imports a client.
"""
