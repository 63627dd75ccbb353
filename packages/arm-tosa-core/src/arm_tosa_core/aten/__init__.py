"""Programs changed within the ATen dialect, before they are lowered."""
