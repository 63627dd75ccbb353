/* What runs before main: the vector table, the floating point unit, and the memories' first contents. */
#include <stdint.h>
#include <string.h>

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
/* Of models/models.ld. Weak: a linker script of yours may place the models itself. */
__attribute__((weak)) extern uint8_t model_flash_start[], model_flash_end[], model_flash_load[];
int main(void);
void start(void);
void board_exit(int status);

/* Coprocessor access control register (Armv8-M Architecture Reference Manual, D1.2.22): CP10 and CP11 are floating point
   and vectors. */
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CPACR_FLOATING_POINT (0xFu << 20)

#define EXIT_FAULT 3

_Noreturn static void stop(int status) {
    for (;;) {
        board_exit(status);
    }
}

/* Brings to `to` what flash holds for it, unless it lies in flash. */
static void load(void *to, const void *end, const void *from) {
    if (to != from) {
        (void)memcpy(to, from, (size_t)((uintptr_t)end - (uintptr_t)to));
    }
}

static void fault(void) { stop(EXIT_FAULT); }

void start(void) {
    CPACR |= CPACR_FLOATING_POINT;
    __asm volatile("dsb\n\tisb" ::: "memory");
    load(data_start, data_end, data_load);
    load(model_flash_start, model_flash_end, model_flash_load);
    (void)memset(bss_start, 0, (size_t)((uintptr_t)bss_end - (uintptr_t)bss_start));
    stop(main());
}

typedef struct vector_table {
    void *stack;
    void (*handlers[15])(void);
} vector_table;

__attribute__((section(".vectors"), used)) const vector_table vectors = {
    stack_top,
    {start, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault},
};
