/* Files and text through a debugger or QEMU: Arm's semihosting (Arm, "Semihosting for AArch32 and AArch64", 2.0). */
#include "board.h"

#include <stdint.h>
#include <string.h>

enum { SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT_EXTENDED = 0x20 };
enum { MODE_READ_BINARY = 1, MODE_WRITE_BINARY = 5 };
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

void board_exit(int status);

static int32_t call(uint32_t operation, const void *arguments) {
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = arguments;

    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static int32_t open_file(const char *file, uint32_t mode) {
    const uintptr_t arguments[] = {(uintptr_t)file, mode, strlen(file)};

    return call(SYS_OPEN, arguments);
}

/* Reads or writes; both return the number of bytes that were not. */
static int transfer(uint32_t operation, int32_t handle, const void *data, size_t size) {
    const uintptr_t arguments[] = {(uintptr_t)handle, (uintptr_t)data, size};
    const uintptr_t closed[] = {(uintptr_t)handle};
    int32_t left;

    if (handle < 0) {
        return 1;
    }
    left = call(operation, arguments);
    return call(SYS_CLOSE, closed) != 0 || left != 0;
}

int board_read(const char *file, void *data, size_t size) {
    return transfer(SYS_READ, open_file(file, MODE_READ_BINARY), data, size);
}

int board_write(const char *file, const void *data, size_t size) {
    return transfer(SYS_WRITE, open_file(file, MODE_WRITE_BINARY), data, size);
}

void board_print(const char *line) {
    (void)call(SYS_WRITE0, line);
    (void)call(SYS_WRITE0, "\n");
}

void board_exit(int status) {
    const uintptr_t arguments[] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)status};

    (void)call(SYS_EXIT_EXTENDED, arguments);
}
