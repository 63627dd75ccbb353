"""What the noxfile is made of."""
