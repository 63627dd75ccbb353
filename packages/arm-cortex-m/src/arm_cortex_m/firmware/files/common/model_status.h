/* What the functions of every model return. */
#ifndef MODEL_STATUS_H
#define MODEL_STATUS_H

typedef enum model_status {
    MODEL_OK = 0,
    MODEL_NULL_POINTER,     /* an argument, or a pointer in it, is NULL */
    MODEL_NOT_INITIALIZED,  /* the model was not given to NAME_init, or NAME_init failed */
    MODEL_ARENA_TOO_SMALL,  /* fewer bytes than NAME_ARENA_BYTES */
    MODEL_ARENA_MISALIGNED, /* not at a multiple of NAME_ARENA_ALIGNMENT bytes */
    MODEL_NPU_FAILED,       /* the NPU or its driver stopped: see npu_run */
    MODEL_INDEX_OUT_OF_RANGE /* a number that chooses a row of a table, such as a token, has no row */
} model_status;

#endif
