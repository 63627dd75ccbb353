#include "weight_decoder.hpp"

namespace arm_runtime::ethosu {
namespace {

// Values of the field that opens a slice: how runs of zeros are coded.
constexpr uint32_t kZerosAreWeights = 6, kEndOfStream = 7, kLargestZeroDivisor = 3;
// Values of the field for weights.
constexpr uint32_t kLargestWeightDivisor = 5, kRaw = 7;
constexpr uint32_t kLargestIndex = 511;
constexpr int kSymbolsPerChunk = 12;
constexpr int kShortChunk =
    8;  // symbols in a chunk of wide raw indices, and bits in one of long zero runs
constexpr int kLeadOfWeights = 8;  // so many weights more than zero runs, and the weights wait

class Bits {
  public:
    Bits(const uint8_t* data, size_t size) : data_(data), size_(uint64_t{size} * 8) {}

    uint32_t take(uint32_t count) {
        if (count == 0) return 0;
        if (count > size_ - at_) {
            at_ = size_;
            short_ = true;
            return 0;
        }
        const auto byte = static_cast<size_t>(at_ / 8), last = static_cast<size_t>(size_ / 8);
        uint32_t word = 0;
        for (size_t i = 0; i < 4 && byte + i < last; ++i)
            word |= uint32_t{data_[byte + i]} << (8 * i);
        word = word >> (at_ % 8) & ((1U << count) - 1);  // count is 15 at most, so 4 bytes hold it
        at_ += count;
        return word;
    }
    void align() { at_ = (at_ + 7) / 8 * 8; }
    bool at_end() const { return at_ >= size_; }
    bool ran_out() const { return short_; }

  private:
    const uint8_t* data_;
    uint64_t size_, at_ = 0;
    bool short_ = false;
};

/// Values that were decoded and wait for their counterparts. Flow control keeps them few.
class Queue {
  public:
    void push(uint32_t value) { data_[tail_++ % kSize] = value; }
    uint32_t pop() { return data_[head_++ % kSize]; }
    bool empty() const { return head_ == tail_; }

  private:
    static constexpr uint32_t kSize = 64;
    uint32_t data_[kSize];
    uint32_t head_ = 0, tail_ = 0;
};

/// Quotients of one chunk, whose remainders follow after the next chunk's quotients.
struct Chunk {
    int count = 0;
    uint32_t quotient[kSymbolsPerChunk];
};

class Decoder {
  public:
    Decoder(const uint8_t* stream, size_t size, int16_t* out, size_t capacity)
        : bits_(stream, size), out_(out), capacity_(capacity) {}

    DecodedWeights run() {
        bool first = true;
        while (problem_ == nullptr) {
            const uint32_t zero_divisor = bits_.take(3);
            if (bits_.ran_out()) break;  // an end marker needs no more than the bits that are left
            if (zero_divisor == kEndOfStream) {
                bits_.align();
                first = true;
                if (bits_.at_end()) break;
                continue;
            }
            slice(zero_divisor, first);
            first = false;
        }
        return {count_, problem_};
    }

  private:
    void slice(uint32_t zero_divisor, bool first) {
        if (zero_divisor > kLargestZeroDivisor && zero_divisor != kZerosAreWeights)
            return wrong("an unknown code for zeros");
        const bool runs = zero_divisor != kZerosAreWeights;
        const uint32_t weights = bits_.take(15) + 1;
        uint32_t divisor = bits_.take(3);
        const bool truncated = bits_.take(1) != 0;
        const bool new_palette = bits_.take(1) != 0;
        if (new_palette) {
            read_palette();
            runs_ = runs;
        } else if (first || runs != runs_) {
            return wrong("a slice without the palette that it needs");
        }
        const bool raw = divisor == kRaw;
        if (raw) {
            divisor = palette_bits_;
            if (palette_size_ > 0) {
                for (divisor = 0; (1U << divisor) < palette_size_;) ++divisor;
            }
        } else if (divisor > kLargestWeightDivisor) {
            return wrong("an unknown code for weights");
        }
        values(weights, raw, divisor, truncated, runs, new_palette, zero_divisor);
    }

    void read_palette() {
        direct_offset_ = bits_.take(5);
        palette_size_ = bits_.take(5);
        if (palette_size_ > 0) ++palette_size_;
        palette_bits_ = bits_.take(3) + 2;
        for (uint32_t i = 0; i < palette_size_; ++i) palette_[i] = bits_.take(palette_bits_);
    }

    void values(uint32_t weights, bool raw, uint32_t divisor, bool truncated, bool runs,
                bool leading_run, uint32_t zero_divisor) {
        const int symbols = raw && divisor > kLargestWeightDivisor ? kShortChunk : kSymbolsPerChunk;
        const int zero_bits = zero_divisor < kLargestZeroDivisor ? kSymbolsPerChunk : kShortChunk;
        const int64_t zeros = int64_t{weights} + (leading_run ? 1 : 0);
        int64_t weights_seen = 0, zeros_seen = 0, weights_read = 0, zeros_read = 0;
        uint32_t weight_carry = 0, zero_carry = 0;
        bool weights_before = false, zeros_before = false;
        Chunk weight_chunk, zero_chunk, weight_next, zero_next;
        Queue weight_queue, zero_queue;
        bool run_is_next = leading_run;
        for (;;) {
            const int64_t lead = runs ? weights_seen - zeros_seen : 0;
            const bool weights_now = lead < kLeadOfWeights && weights_seen < weights;
            const bool zeros_now = runs && lead >= 0 && zeros_seen < zeros;
            const uint32_t more = weights_now && !raw ? bits_.take(kSymbolsPerChunk) : 0;
            if (zeros_now) {
                unary(zero_bits, zero_carry, zero_next);
                zeros_seen += zero_next.count;
            }
            if (weights_now) {
                quotients(more, symbols, truncated, weight_carry, weight_next);
                weights_seen += weight_next.count;
            }
            for (int i = 0; weights_before && i < weight_chunk.count && weights_read < weights;
                 ++i, ++weights_read) {
                weight_queue.push((weight_chunk.quotient[i] << divisor) + bits_.take(divisor));
            }
            for (int i = 0; zeros_before && i < zero_chunk.count && zeros_read < zeros;
                 ++i, ++zeros_read) {
                zero_queue.push((zero_chunk.quotient[i] << zero_divisor) +
                                bits_.take(zero_divisor));
            }
            drain(weight_queue, zero_queue, runs, run_is_next);
            if (bits_.ran_out()) return wrong("it ends inside a slice");
            if (problem_ != nullptr || (!weights_now && !zeros_now)) return;
            weights_before = weights_now;
            zeros_before = zeros_now;
            weight_chunk = weight_next;
            zero_chunk = zero_next;
        }
    }

    /// Zero runs: a quotient is the number of ones before a zero.
    void unary(int count, uint32_t& carry, Chunk& chunk) {
        const uint32_t ones = bits_.take(static_cast<uint32_t>(count));
        chunk.count = 0;
        for (int i = 0; i < count; ++i) {
            if ((ones >> i & 1) != 0) {
                ++carry;
            } else {
                chunk.quotient[chunk.count++] = carry;
                carry = 0;
            }
        }
    }

    /// Weights: a symbol is 0, 1 or 2, by one bit in `more` and for those set one bit that follows.
    /// 2 continues with the next symbol, unless quotients are truncated at 2.
    void quotients(uint32_t more, int symbols, bool truncated, uint32_t& carry, Chunk& chunk) {
        uint32_t twos = bits_.take(static_cast<uint32_t>(__builtin_popcount(more)));
        chunk.count = 0;
        for (int i = 0; i < symbols; ++i) {
            uint32_t symbol = 0;
            if ((more >> i & 1) != 0) {
                symbol = 1 + (twos & 1);
                twos >>= 1;
            }
            carry += symbol;
            if (symbol < 2 || truncated) {
                chunk.quotient[chunk.count++] = carry;
                carry = 0;
            }
        }
    }

    /// Puts out what is complete: weights and zero runs in turn.
    void drain(Queue& weights, Queue& zeros, bool runs, bool& run_is_next) {
        while (problem_ == nullptr) {
            if (runs && run_is_next) {
                if (zeros.empty()) return;
                const uint32_t length = zeros.pop();
                for (uint32_t i = 0; i < length && count_ + i < capacity_; ++i)
                    out_[count_ + i] = 0;
                count_ += length;
            } else {
                if (weights.empty()) return;
                put(weights.pop());
            }
            run_is_next = runs && !run_is_next;
        }
    }

    void put(uint32_t index) {
        if (index > kLargestIndex) return wrong("a weight of more than 9 bits");
        const uint32_t code =
            index < palette_size_ ? palette_[index] : index - palette_size_ + direct_offset_;
        const int magnitude = static_cast<int>(code >> 1);
        if (magnitude > 255) return wrong("a weight of more than 9 bits");
        if (count_ < capacity_)
            out_[count_] = static_cast<int16_t>((code & 1) != 0 ? -magnitude : magnitude);
        ++count_;
    }

    void wrong(const char* what) { problem_ = what; }

    Bits bits_;
    int16_t* out_;
    size_t capacity_;
    size_t count_ = 0;
    const char* problem_ = nullptr;
    uint32_t palette_[32] = {};
    uint32_t palette_size_ = 0, palette_bits_ = 0, direct_offset_ = 0;
    bool runs_ = false;
};

}  // namespace

DecodedWeights decode_weights(const uint8_t* stream, size_t size, int16_t* out, size_t capacity) {
    return Decoder(stream, size, out, capacity).run();
}

}  // namespace arm_runtime::ethosu
