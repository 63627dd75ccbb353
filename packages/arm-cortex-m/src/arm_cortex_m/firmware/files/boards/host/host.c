/* This machine, for debuggers and sanitizers. */
#include "board.h"

#include <stdio.h>

int board_read(const char *file, void *data, size_t size) {
    FILE *stream = fopen(file, "rb");
    int failed = 1;

    if (stream != NULL) {
        failed = fread(data, 1, size, stream) != size;
        (void)fclose(stream);
    }
    return failed;
}

int board_write(const char *file, const void *data, size_t size) {
    FILE *stream = fopen(file, "wb");
    int failed = 1;

    if (stream != NULL) {
        failed = fwrite(data, 1, size, stream) != size;
        failed = fclose(stream) != 0 || failed;
    }
    return failed;
}

void board_print(const char *line) { (void)puts(line); }
