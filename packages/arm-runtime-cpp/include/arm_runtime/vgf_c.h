/* Runs VGF programs, for C and ctypes; arm_runtime/vgf.hpp is the same for C++.

   Every structure begins with its size, which the caller sets to sizeof: a library that is newer or
   older than the header fills in, or reads, no more than both know.

   Threads: several threads may open and run several sessions at once. Runs of one session wait for
   each other. No call may be under way when a session is closed.

   Devices: sessions with equal options share a VkDevice and its queue. It is the library's own, and
   lives as long as the process; an application's cannot be used in its place. */
#ifndef ARM_RUNTIME_VGF_C_H_
#define ARM_RUNTIME_VGF_C_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_VGF_EXPORT __attribute__((visibility("default")))

/* Changes when a call or a structure's member changes its meaning; new ones may come without. */
#define ARM_VGF_API_VERSION 2 /* NOLINT(modernize-macro-to-enum): for #if */

#ifdef __cplusplus
extern "C" {
#endif

/* ARM_VGF_API_VERSION of the library. */
ARM_VGF_EXPORT uint32_t arm_vgf_api_version(void);

/* What went wrong in this thread's last call that failed; "" if none did. The text lives until this
   thread's next call that fails, or its end. A call that succeeds leaves it. */
ARM_VGF_EXPORT const char* arm_vgf_last_error(void);
/* The VkResult of that failure, such as VK_ERROR_DEVICE_LOST (-4); 0 if none of Vulkan failed. */
ARM_VGF_EXPORT int32_t arm_vgf_last_result(void);

typedef struct arm_vgf_session arm_vgf_session;

typedef struct arm_vgf_options {
    size_t size;
    const char* device; /* part of its name, or its number; NULL: as ARM_VGF_DEVICE says, else the
                           fastest */
    const char*
        engine; /* "native", "compute", "layer"; NULL: as ARM_VGF_ENGINE says, else the best */
    const char* tune;  /* when variants of kernels are timed: "on" (GPUs), "off", "always"; NULL: as
                          ARM_VGF_TUNE says, else "on" */
    const char* sizes; /* shapes of the inputs, where the file leaves sizes open (-1): "[2, 4]"; or
                          with names and their bounds, for sizes that runs choose:
                          "[n, 4] [n] n=1..8"; NULL: the file must leave none open */
    const char* statistics; /* of Arm's neural accelerators: "0" or "1", the modes of
                               VK_ARM_data_graph_neural_accelerator_statistics, where the device has
                               that; NULL or "off": none */
} arm_vgf_options;

/* Texts live as long as the process. */
typedef struct arm_vgf_device {
    size_t size;
    const char* name;
    const char* engine;        /* "native", "compute" or "layer" */
    const char* engine_reason; /* a sentence */
} arm_vgf_device;

/* What would run programs with these options, which may be NULL. 0, or -1: nothing would. */
ARM_VGF_EXPORT int arm_vgf_find_device(const arm_vgf_options* options, arm_vgf_device* device);

/* Loads a VGF of `bytes` bytes, which may go away afterwards. `options` may be NULL. Compiled
 * pipelines are kept in the folder that ARM_VGF_CACHE names, else in the user's cache folder.
 * NULL: it failed. */
ARM_VGF_EXPORT arm_vgf_session* arm_vgf_open(const void* vgf, size_t bytes,
                                             const arm_vgf_options* options);
/* Unloads it; nothing happens for NULL. The device stays open for later sessions. */
ARM_VGF_EXPORT void arm_vgf_close(arm_vgf_session* session);

/* Texts and shapes of a session, its plan, and the names of its events live as long as it does. */
typedef struct arm_vgf_info {
    size_t size;
    const char* device;
    const char* engine;        /* "native", "compute" or "layer" */
    const char* engine_reason; /* a sentence */
    size_t inputs;
    size_t outputs;
    uint64_t input_bytes; /* device memory; 0: inputs lie in the work memory */
    uint64_t output_bytes;
    uint64_t work_bytes;
    uint64_t saved_bytes; /* by sharing within the work memory */
    uint64_t constant_bytes;
    size_t push_constants; /* see arm_vgf_get_push_constants */
    size_t symbols;        /* sizes that a run chooses, such as that of a batch */
} arm_vgf_info;

/* 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_info(const arm_vgf_session* session, arm_vgf_info* info);

typedef struct arm_vgf_tensor {
    size_t size;
    const char* name;
    const char* type;     /* "bool", "int8", "float32", ... */
    const int64_t* shape; /* `rank` sizes, the largest; a scalar has one, of 1 */
    size_t rank;
    size_t bytes;
    const char* const* sizes; /* `rank` texts: a size, or an expression of symbols, "8*length" */
} arm_vgf_tensor;

/* An input (output: `outputs` is 1) of a program. 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_tensor(const arm_vgf_session* session, int outputs, size_t index,
                                      arm_vgf_tensor* tensor);

/* What a compute shader of a program takes besides its inputs. A program has no values for it. */
typedef struct arm_vgf_push_constants {
    size_t size;
    const char* segment; /* the shader's name in the program */
    size_t offset;       /* of the first byte, as the shader counts */
    size_t bytes;
} arm_vgf_push_constants;

/* 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_push_constants(const arm_vgf_session* session, size_t index,
                                              arm_vgf_push_constants* push_constants);
/* Gives the push constants of a number; they hold until they are given again. All must be there
 * before the first run. 0, or -1: it failed, and nothing has changed. */
ARM_VGF_EXPORT int arm_vgf_set_push_constants(arm_vgf_session* session, size_t index,
                                              const void* data, size_t bytes);
typedef struct arm_vgf_symbol {
    size_t size;
    const char* name;
    int64_t least;
    int64_t most;
} arm_vgf_symbol;

/* A size that a run chooses, by the shapes of its inputs. The engines "native" and "layer" run the
 * largest sizes only. 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_symbol(const arm_vgf_session* session, size_t index,
                                      arm_vgf_symbol* symbol);

typedef struct arm_vgf_argument {
    size_t size;          /* sizeof(arm_vgf_argument), not the size of the data */
    void* data;           /* all elements, in row-major order, without gaps; inputs are only read */
    const char* type;     /* as in arm_vgf_tensor, or "int64" for an int32 tensor */
    const int64_t* shape; /* as in arm_vgf_tensor, or smaller where a symbol says so; a scalar may
                             have rank 0 */
    size_t rank;
} arm_vgf_argument;

/* The shape of an output of a run with inputs of these types and shapes. It lives as long as the
 * session. 0, or -1: it failed, such as for inputs that disagree on a symbol. */
ARM_VGF_EXPORT int arm_vgf_get_output_shape(const arm_vgf_session* session,
                                            const arm_vgf_argument* inputs, size_t input_count,
                                            size_t output, const int64_t** shape, size_t* rank);

/* Runs it once, and returns when the outputs are there. All arguments have the `size` of the first.
 * 0, or -1: it failed. After an argument that does not fit, the session is as good as before. After
 * the device was lost (arm_vgf_last_result), close the sessions and open programs anew, which opens
 * the device anew. After it did not finish in 10 minutes, end the process. */
ARM_VGF_EXPORT int arm_vgf_run(arm_vgf_session* session, const arm_vgf_argument* inputs,
                               size_t input_count, const arm_vgf_argument* outputs,
                               size_t output_count);

typedef struct arm_vgf_event {
    size_t size;
    const char* name;
    int32_t on_device;
    uint64_t begin; /* ns of CLOCK_MONOTONIC */
    uint64_t end;
} arm_vgf_event;

/* How many events the last run had. Runs note them from the first call on, which returns 0. They
 * are the copies and the whole run on the host, then what the device did: each dispatch with the
 * engine "compute", each segment with the others; nothing if the device has no time stamps. The
 * next run replaces them. 0, too: it failed. */
ARM_VGF_EXPORT size_t arm_vgf_profile(arm_vgf_session* session);
/* An event of the last run. 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_event(arm_vgf_session* session, size_t index, arm_vgf_event* event);

/* What a neural accelerator tells of a graph, in a format of its own, which Arm's tools read. */
typedef struct arm_vgf_statistic {
    size_t size;
    const char* segment;
    const char* kind; /* "debug database", "statistics info"; "statistics": of the last run */
    const void* data; /* until the next call of arm_vgf_statistics, or the session's end */
    size_t bytes;
} arm_vgf_statistic;

/* Reads what there is now, and returns how many. 0: the options asked for none, or it failed. */
ARM_VGF_EXPORT size_t arm_vgf_statistics(arm_vgf_session* session);
/* 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_get_statistic(arm_vgf_session* session, size_t index,
                                         arm_vgf_statistic* statistic);

/* The compute engine's plan, as JSON: a list of dispatches with kernel, operators, shape, bytes and
   multiplications. Of another engine: "[]". It lives as long as the session. NULL: it failed. */
ARM_VGF_EXPORT const char* arm_vgf_plan(const arm_vgf_session* session);

#ifdef __cplusplus
}
#endif

#endif
