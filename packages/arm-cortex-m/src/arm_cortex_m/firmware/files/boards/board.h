/* What the program in app/ asks of a board. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

/* Reads exactly `size` bytes from the beginning of a file, or writes a file of `size` bytes. Returns 0, or 1 on failure.
   A board without files may read a sensor and write to a serial line instead. */
int board_read(const char *file, void *data, size_t size);
int board_write(const char *file, const void *data, size_t size);

/* Prints a line for people. */
void board_print(const char *line);

#endif
