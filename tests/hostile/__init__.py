"""Damaged and hostile files of every format, opened in processes of their own."""
