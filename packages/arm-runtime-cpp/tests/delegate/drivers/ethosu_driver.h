/* What the delegate uses of the core driver's header of this name: for the fake. */
#ifndef ETHOSU_DRIVER_H
#define ETHOSU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ethosu_driver {
    int is_reserved;
};

struct ethosu_driver* ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver* driver);
int ethosu_invoke_v3(struct ethosu_driver* driver, const void* commands, const int commands_size,
                     uint64_t* const addresses, const size_t* sizes, const int count, void* user);

#ifdef __cplusplus
}
#endif

#endif
