/* What app/main.c and start.c ask of a board. Fill in: until then there are no inputs. */
#include "board.h"

#include <stdint.h>

void board_exit(int status);

/* `file` says which input is wanted: read it from a sensor, a serial line or a memory. */
int board_read(const char *file, void *data, size_t size) {
    (void)file;
    (void)data;
    (void)size;
    return 1;
}

/* `file` says which output this is: send it to where it is used. */
int board_write(const char *file, const void *data, size_t size) {
    (void)file;
    (void)data;
    (void)size;
    return 1;
}

/* On a serial line, for example. */
void board_print(const char *line) { (void)line; }

/* The program has ended, or a fault has occurred (status 3): stop the chip, or start it again. */
void board_exit(int status) { (void)status; }
