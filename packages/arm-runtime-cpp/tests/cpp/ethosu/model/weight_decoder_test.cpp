#include "ethosu/model/weight_decoder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace arm_runtime::ethosu {
namespace {

using Weights = std::vector<int16_t>;

/// Puts together a stream of bits, lowest first.
class Bits {
  public:
    Bits& put(uint32_t value, uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            if (size_ % 8 == 0) bytes_.push_back(0);
            bytes_.back() = static_cast<uint8_t>(bytes_.back() | ((value >> i & 1) << (size_ % 8)));
            ++size_;
        }
        return *this;
    }
    std::vector<uint8_t> bytes() const { return bytes_; }

  private:
    std::vector<uint8_t> bytes_;
    size_t size_ = 0;
};

// The fields that open a slice, as SWD numbers them.
constexpr uint32_t kZerosAreWeights = 6, kEnd = 7, kRaw = 7;

Bits& slice(Bits& bits, uint32_t zeros, uint32_t weights, uint32_t divisor, bool truncated,
            bool palette) {
    return bits.put(zeros, 3)
        .put(weights - 1, 15)
        .put(divisor, 3)
        .put(truncated ? 1 : 0, 1)
        .put(palette ? 1 : 0, 1);
}

/// No palette entries: an index is a weight's code, its magnitude above its sign.
Bits& direct(Bits& bits, uint32_t width) { return bits.put(0, 5).put(0, 5).put(width - 2, 3); }

std::vector<uint8_t> raw(const Weights& weights) {
    Bits bits;
    direct(slice(bits, kZerosAreWeights, static_cast<uint32_t>(weights.size()), kRaw, false, true),
           9);
    for (const int16_t weight : weights)
        bits.put(static_cast<uint32_t>(std::abs(weight) * 2 + (weight < 0 ? 1 : 0)), 9);
    return bits.put(kEnd, 3).bytes();
}

Weights decoded(const std::vector<uint8_t>& stream, size_t capacity = 64) {
    Weights out(capacity);
    const DecodedWeights result =
        decode_weights(stream.data(), stream.size(), out.data(), capacity);
    EXPECT_STREQ(result.problem, nullptr);
    out.resize(result.count < capacity ? result.count : capacity);
    return out;
}

TEST(WeightDecoder, RawWeightsOfNineBits) {
    const Weights weights = {-255, 255, 0, 1, -1, 17, -128, 127, 3, -3, 100, -100, 7, 8, 9, 10, 11};
    EXPECT_EQ(decoded(raw(weights)), weights);
}

TEST(WeightDecoder, QuotientsOfTwoGoOn) {
    Bits bits;
    direct(slice(bits, kZerosAreWeights, 4, 0, false, true), 9);
    // Symbols 0; 1; 2 and 0; 2, 2 and 1: the indices 0, 1, 2 and 5.
    bits.put(0b1110110, 12).put(0b01110, 5).put(kEnd, 3);
    EXPECT_EQ(decoded(bits.bytes()), (Weights{0, 0, 1, -2})) << "codes 0, 1 (minus 0), 2 and 5";
}

TEST(WeightDecoder, TruncatedQuotientsEndAtTwoAndRemaindersFollow) {
    Bits bits;
    direct(slice(bits, kZerosAreWeights, 3, 1, true, true), 9);
    // Symbols 2, 2 and 0, each with one bit of remainder: the indices 5, 4 and 1.
    bits.put(0b011, 12).put(0b11, 2).put(0b001, 3).put(kEnd, 3);
    EXPECT_EQ(decoded(bits.bytes()), (Weights{-2, 2, 0}));
}

TEST(WeightDecoder, APaletteComesBeforeDirectIndices) {
    Bits bits;
    slice(bits, kZerosAreWeights, 3, kRaw, false, true);
    // Entries +50 and -60, and after them codes from 8 on; raw indices take the bits of an entry's
    // number.
    bits.put(8, 5).put(1, 5).put(9 - 2, 3).put(100, 9).put(121, 9);
    bits.put(1, 1).put(0, 1).put(1, 1).put(kEnd, 3);
    EXPECT_EQ(decoded(bits.bytes()), (Weights{-60, 50, -60}));

    Bits beyond;
    slice(beyond, kZerosAreWeights, 2, 0, true, true);
    beyond.put(8, 5).put(1, 5).put(9 - 2, 3).put(100, 9).put(121, 9);
    // Index 2 is the first after the palette: code 8, a weight of 4.
    beyond.put(0b01, 12).put(0b1, 1).put(kEnd, 3);
    EXPECT_EQ(decoded(beyond.bytes()), (Weights{4, 50}));
}

TEST(WeightDecoder, RunsOfZerosGoBetweenWeights) {
    Bits bits;
    direct(slice(bits, 0, 2, 0, true, true), 9);
    // Weights of index 2, then 1; runs of 2, 0 and 1 zeros: a run's ones come before its zero.
    bits.put(0b11, 12).put(0b010011, 12).put(0b01, 2).put(kEnd, 3);
    EXPECT_EQ(decoded(bits.bytes()), (Weights{0, 0, 1, 0, 0}));
}

TEST(WeightDecoder, AStreamHoldsSlicesAndStreams) {
    Bits bits;
    direct(slice(bits, kZerosAreWeights, 1, kRaw, false, true), 9).put(2, 9);
    slice(bits, kZerosAreWeights, 1, kRaw, false, false).put(4, 9).put(kEnd, 3);
    std::vector<uint8_t> stream = bits.bytes();
    const std::vector<uint8_t> second = raw({3});
    stream.insert(stream.end(), second.begin(), second.end());
    EXPECT_EQ(decoded(stream), (Weights{1, 2, 3})) << "the second slice has the palette before it";
}

TEST(WeightDecoder, CountsButNeverWritesWhatIsBeyondTheCapacity) {
    const std::vector<uint8_t> stream = raw({1, 2, 3, 4, 5});
    Weights out = {9, 9, 9};
    const DecodedWeights result = decode_weights(stream.data(), stream.size(), out.data(), 2);
    EXPECT_EQ(result.count, 5);
    EXPECT_EQ(out, (Weights{1, 2, 9}));
}

TEST(WeightDecoder, SaysWhatIsWrong) {
    Bits zeros, weights, no_palette, changed_runs, long_index, offset;
    direct(slice(zeros, 4, 1, 0, false, true), 9);
    direct(slice(weights, kZerosAreWeights, 1, 6, false, true), 9);
    slice(no_palette, kZerosAreWeights, 1, kRaw, false, false);
    direct(slice(changed_runs, kZerosAreWeights, 1, kRaw, false, true), 9).put(2, 9);
    slice(changed_runs, 0, 1, kRaw, false, false);
    // A quotient of 72, before five bits of remainder.
    direct(slice(long_index, kZerosAreWeights, 1, 5, false, true), 9);
    for (int i = 0; i < 3; ++i) long_index.put(0xFFF, 12).put(0xFFF, 12);
    long_index.put(0, 12).put(31, 5).put(0, 32).put(0, 32);
    // Index 511 with direct codes from 31 on.
    slice(offset, kZerosAreWeights, 1, kRaw, false, true).put(31, 5).put(0, 5).put(7, 3);
    offset.put(511, 9).put(0, 16);
    struct Row {
        const char* problem;
        std::vector<uint8_t> stream;
    };
    const Row rows[] = {
        {"an unknown code for zeros", zeros.bytes()},
        {"an unknown code for weights", weights.bytes()},
        {"a slice without the palette that it needs", no_palette.bytes()},
        {"a slice without the palette that it needs", changed_runs.bytes()},
        {"a weight of more than 9 bits", long_index.bytes()},
        {"a weight of more than 9 bits", offset.bytes()},
    };
    for (const Row& row : rows) {
        Weights out(8);
        EXPECT_STREQ(decode_weights(row.stream.data(), row.stream.size(), out.data(), 8).problem,
                     row.problem);
    }
}

TEST(WeightDecoder, AStreamThatIsCutAnywhereIsAnError) {
    const std::vector<uint8_t> whole = raw({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
    for (size_t size = 0; size < whole.size(); ++size) {
        const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        Weights out(16);
        const DecodedWeights result = decode_weights(cut.data(), cut.size(), out.data(), 16);
        EXPECT_EQ(result.problem != nullptr, size > 0) << size << " bytes";
    }
}

}  // namespace
}  // namespace arm_runtime::ethosu
