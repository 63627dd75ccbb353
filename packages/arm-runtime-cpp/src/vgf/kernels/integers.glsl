// Steps on integers, exact as in TOSA 1.0.

/// apply_scale_32 of TOSA: value * multiplier rounded and shifted right by 2 to 62 bits, in two words.
int scaled(int value, int multiplier, int shift, bool double_round) {
    int high, low_;
    imulExtended(value, multiplier, high, low_);
    uint low = uint(low_), carry;
    // What is added before the shift: 1 << (shift - 1).
    if (shift > 32) {
        high += 1 << (shift - 33);
    } else {
        low = uaddCarry(low, 1u << (shift - 1), carry);
        high += int(carry);
    }
    if (double_round && shift > 31) {
        // 1 << 30 more, or less, by the value's sign.
        if (value >= 0) {
            low = uaddCarry(low, 1u << 30, carry);
            high += int(carry);
        } else {
            uint borrow;
            low = usubBorrow(low, 1u << 30, borrow);
            high -= int(borrow);
        }
    }
    if (shift >= 32) return high >> (shift - 32);
    return int(low >> shift | uint(high) << (32 - shift));
}

/// The same by more than 32, for which the low word counts in double rounding only.
int scaled_far(int value, int multiplier, int shift, bool double_round) {
    int high, low;
    imulExtended(value, multiplier, high, low);
    high += 1 << (shift - 33);
    if (double_round) {
        if (value >= 0 && uint(low) >= 0xc0000000u) ++high;
        if (value < 0 && uint(low) < 0x40000000u) --high;
    }
    return high >> (shift - 32);
}

/// The same by less than 32, for which double rounding is rounding.
int scaled_near(int value, int multiplier, int shift) {
    int high, low;
    uint carry;
    imulExtended(value, multiplier, high, low);
    const uint sum = uaddCarry(uint(low), 1u << (shift - 1), carry);
    return int(sum >> shift | uint(high + int(carry)) << (32 - shift));
}

/// apply_scale_16: a 48-bit value by a 15-bit multiplier. The product has 63 bits.
int scaled48(int low_, int high_, int multiplier, int shift) {
    const uint m = uint(multiplier);
    uint carry, high, low;
    umulExtended(uint(low_), m, carry, low);
    high = uint(high_) * m + carry;
    if (shift > 32) {
        high += 1u << (shift - 33);
    } else {
        uint c;
        low = uaddCarry(low, 1u << (shift - 1), c);
        high += c;
    }
    if (shift >= 32) return int(high) >> (shift - 32);
    return int(low >> shift | high << (32 - shift));
}

/// v + zero within the output's type.
int narrowed(uint mode, int v, int zero) {
    const uint to = mode >> RESCALE_OUTPUT_SHIFT & 7u;
    if (to == RESCALE_TO_INT8) return clamp(v, -128 - zero, 127 - zero) + zero;
    if (to == RESCALE_TO_UINT8) return clamp(v, -zero, 255 - zero) + zero;
    if (to == RESCALE_TO_INT16) return clamp(v, -32768 - zero, 32767 - zero) + zero;
    if (to == RESCALE_TO_UINT16) return clamp(v, -zero, 65535 - zero) + zero;
    return v;  // of int32, zero is 0
}

ivec4 rescaled(uint mode, ivec4 n, ivec4 low, ivec4 high, bool wide, int f) {
    const bool double_round = (mode & RESCALE_DOUBLE_ROUND) != 0u, per_channel = (mode & RESCALE_PER_CHANNEL) != 0u;
    ivec4 multiplier = ivec4(n.x), shift = ivec4(n.y);
    const int input_zero = n.z, output_zero = n.w;
    if (per_channel) {
        // A table at n.x: multipliers, then shifts, of n.y channels, each padded to fours.
        const int channels = n.y, padded = (channels + 3) >> 2, c = f % channels;
        if ((channels & 3) == 0) {
            multiplier = ivec4(constants4[n.x + (c >> 2)]);
            shift = ivec4(constants4[n.x + padded + (c >> 2)]);
        } else {
            [[unroll]] for (int i = 0; i < 4; ++i) {
                const int at = 4 * n.x + (f + i) % channels;
                multiplier[i] = int(constants[at]);
                shift[i] = int(constants[at + 4 * padded]);
            }
        }
    }
    ivec4 v;
    [[unroll]] for (int i = 0; i < 4; ++i) {
        int s;
        if (wide) {
            s = scaled48(low[i], high[i], multiplier[i], shift[i]);
        } else if ((mode & RESCALE_FAR) != 0u) {
            s = scaled_far(low[i] - input_zero, multiplier[i], shift[i], double_round);
        } else if ((mode & RESCALE_NEAR) != 0u) {
            s = scaled_near(low[i] - input_zero, multiplier[i], shift[i]);
        } else {
            s = scaled(low[i] - input_zero, multiplier[i], shift[i], double_round);
        }
        v[i] = narrowed(mode, s, output_zero);
    }
    return v;
}

/// The low bits of `v` that an integer of this type keeps.
ivec4 wrapped(uint type, ivec4 v) {
    if (type == TYPE_INT8) return bitfieldExtract(v, 0, 8);
    if (type == TYPE_INT16) return bitfieldExtract(v, 0, 16);
    return v;
}

int shifted_right(int a, int b, bool rounded) {
    const int v = a >> b;
    return rounded && b > 0 && ((a >> (b - 1)) & 1) != 0 ? v + 1 : v;
}

int table8(int base, int v) {
    const int i = base + v + 128;
    return bitfieldExtract(int(constants[i >> 2]), 8 * (i & 3), 8);
}

int table16(int base, int v) {
    const int place = clamp(v, -32768, 32767) + 32768, i = base + (place >> 7);
    const int low = bitfieldExtract(int(constants[i >> 1]), 16 * (i & 1), 16);
    const int high = bitfieldExtract(int(constants[(i + 1) >> 1]), 16 * ((i + 1) & 1), 16);
    return (low << 7) + (high - low) * (place & 127);
}

#define EACH(lane) [[unroll]] for (int lane = 0; lane < 4; ++lane)

STEP(rescale) {
    ivec4 v = a;
    if ((mode & RESCALE_INPUT_UNSIGNED) != 0u) v &= ((mode & RESCALE_16_BIT) != 0u ? 0xffff : 0xff);
    return rescaled(mode, n, v, v, false, f);
}
STEP(rescale48) { return rescaled(mode, n, a, b, true, f); }
STEP(add) { return a + b; }
STEP(sub) { return a - b; }
STEP(mul) { return a * b; }
STEP(mul_shift) {
    ivec4 v;
    EACH(i) v[i] = scaled(a[i], b[i], n.x, false);
    return v;
}
STEP(max) { return max(a, b); }
STEP(min) { return min(a, b); }
STEP(clamp) { return clamp(a, n.x, n.y); }
STEP(abs) { return abs(a); }
STEP(negate) { return clamp(n.y - (a - n.x), n.z, n.w); }
STEP(and) { return a & b; }
STEP(or) { return a | b; }
STEP(xor) { return a ^ b; }
STEP(not) { return ~a; }
STEP(shift_left) { return wrapped(mode, a << b); }
STEP(shift_right) {
    const int mask = mode == TYPE_INT8 ? 0xff : mode == TYPE_INT16 ? 0xffff : -1;
    return wrapped(mode, ivec4(uvec4(a & mask) >> uvec4(b)));
}
STEP(shift_right_arithmetic) {
    ivec4 v;
    EACH(i) v[i] = shifted_right(a[i], b[i], mode != 0u);
    return v;
}
STEP(intdiv) {
    ivec4 v;
    EACH(i) v[i] = b[i] == 0 ? 0 : (a[i] == 0x80000000 && b[i] == -1) ? a[i] : a[i] / b[i];
    return v;
}
STEP(clz) { return 31 - findMSB(uvec4(a)); }
STEP(equal) { return ivec4(equal(a, b)); }
STEP(greater) { return ivec4(greaterThan(a, b)); }
STEP(greater_equal) { return ivec4(greaterThanEqual(a, b)); }
STEP(logical_not) { return ivec4(equal(a, ivec4(0))); }
STEP(to_bool) { return ivec4(notEqual(a, ivec4(0))); }
STEP(wrap) { return wrapped(mode, a); }
STEP(table8) {
    ivec4 v;
    EACH(i) v[i] = table8(n.x, a[i]);
    return v;
}
STEP(table16) {
    ivec4 v;
    EACH(i) v[i] = table16(n.x, a[i]);
    return v;
}
