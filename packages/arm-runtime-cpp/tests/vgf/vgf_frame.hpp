// What the ways of vgf_frame share: files, and the ways that have a file of their own.
#pragma once

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "application.hpp"

using Bytes = std::vector<char>;
using Words = std::vector<std::string>;

inline Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw vgf::Error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// What an error of the library says, as a line of the output.
template <typename Wrong>
void say(Wrong wrong) {
    try {
        wrong();
        std::puts("no error");
    } catch (const vgf::Error& error) {
        std::puts(error.what());
    }
}

// In frame_measures.cpp.
int frame_times(const Words& words);
int many(const Words& words);

// In frame_by_c.cpp.
int by_c(const Words& words);

// In frame_mishaps.cpp.
int errors(const Words& words);
int lost(const Words& words);
int forked(const Words& words);
int threads(const Words& words);
