"""Models of one firmware at the same time, each instance with an arena of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from build_tools import require
from firmware_words import deployed_words, invoke, net_pte

pytest.importorskip("arm_runtime.ethosu")

#: Two instances of each of two models in four threads; each has to repeat what its model gave when it was alone.
MAIN = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "model_memory.h"
#include "models/net.h"
#include "models/words.h"

enum { TIMES = 30 };
static int8_t x[NET_INPUT0_BYTES], y[NET_INPUT1_BYTES];
static int32_t tokens[WORDS_INPUT0_BYTES / 4];
static int8_t wanted_net[NET_OUTPUT0_BYTES];
static int16_t wanted_words[WORDS_OUTPUT0_BYTES / 2];

static int run_net(uint8_t *arena, int8_t *first) {
    int8_t second[NET_OUTPUT1_BYTES];
    const net_inputs inputs = {x, y};
    const net_outputs outputs = {first, second};
    net_model model;

    return net_init(&model, arena, NET_ARENA_BYTES) != MODEL_OK || net_run(&model, &inputs, &outputs) != MODEL_OK;
}

static int run_words(uint8_t *arena, int16_t *result) {
    const words_inputs inputs = {tokens};
    const words_outputs outputs = {result};
    words_model model;

    return words_init(&model, arena, WORDS_ARENA_BYTES) != MODEL_OK || words_run(&model, &inputs, &outputs) != MODEL_OK;
}

static void *repeat_net(void *arena) {
    for (int i = 0; i < TIMES; i++) {
        int8_t made[NET_OUTPUT0_BYTES] = {0};

        if (run_net(arena, made) != 0 || memcmp(made, wanted_net, sizeof(made)) != 0) return arena;
    }
    return NULL;
}

static void *repeat_words(void *arena) {
    for (int i = 0; i < TIMES; i++) {
        int16_t made[WORDS_OUTPUT0_BYTES / 2] = {0};

        if (run_words(arena, made) != 0 || memcmp(made, wanted_words, sizeof(made)) != 0) return arena;
    }
    return NULL;
}

int main(void) {
    MODEL_SRAM static uint8_t nets[2][NET_ARENA_BYTES], words[2][WORDS_ARENA_BYTES];
    pthread_t threads[4];
    int wrong = 0;

    for (size_t i = 0; i < sizeof(x); i++) x[i] = (int8_t)(i * 7);
    for (size_t i = 0; i < sizeof(y); i++) y[i] = (int8_t)(i * 5);
    for (size_t i = 0; i < sizeof(tokens) / 4; i++) tokens[i] = (int32_t)(i * 6);
    if (run_net(nets[0], wanted_net) != 0 || run_words(words[0], wanted_words) != 0) return 9;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, repeat_net, nets[i]) != 0) return 8;
        if (pthread_create(&threads[2 + i], NULL, repeat_words, words[i]) != 0) return 8;
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;

        if (pthread_join(threads[i], &failed) != 0) return 7;
        wrong += failed != NULL;
    }
    printf("%d wrong\\n", wrong);
    return wrong;
}
"""


def test_instances_of_models_run_at_the_same_time(tmp_path: Path) -> None:
    """Under the sanitizer of threads, on the functional model, which they share as they would an NPU."""
    require("cmake", "c++")
    (tmp_path / "net.pte").write_bytes(net_pte("ethos-u55-128", "int8"))
    firmware = deployed_words(tmp_path, "host")
    invoke("deploy", tmp_path / "net.pte", tmp_path / "words.pt2", "--board", "host", "-o", firmware)
    (firmware / "app" / "main.c").write_text(MAIN)
    flags = [f"-DCMAKE_{kind}_FLAGS=-fsanitize=thread" for kind in ("C", "CXX", "EXE_LINKER")]
    for command in (["cmake", "--preset", "board", *flags], ["cmake", "--build", "build", "--parallel", "2"]):
        done = subprocess.run(command, cwd=firmware, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    done = subprocess.run([firmware / "build" / "firmware"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING: ThreadSanitizer" not in done.stderr, done.stdout + done.stderr[:3000]
    assert done.stdout == "0 wrong\n"
