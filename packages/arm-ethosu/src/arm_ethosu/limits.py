"""The largest numbers that the registers of Ethos-U hold, and that Vela therefore takes."""

from __future__ import annotations

#: Largest channel count, and largest axis of what Vela transposes. Vela splits longer heights and widths by itself.
MAX_AXIS = 1 << 16
#: Largest stride.
MAX_STRIDE = 3
#: Longest padding at top, bottom, left and right; Vela shortens what is longer without a word.
MAX_PADDING = (127, 255, 127, 255)
#: Most indices of a GATHER or SCATTER; Vela writes the lower 16 bits of what is more.
MAX_INDICES = (1 << 16) - 1
#: Most images of an operator with windows. Vela makes an operator of each, and its time goes with their square: of one
#: convolution 1 s for 1024, 22 s for 16384.
MAX_IMAGES = 1 << 14
