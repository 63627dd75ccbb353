// Steps on floats, computed in single precision, within TOSA's error bounds. GLSL's own exp, log, sin, ... may be
// less precise than those (Vulkan, "Precision and Operation of SPIR-V Instructions"), so they are made of additions
// and products here.

#define kInfinity uintBitsToFloat(0x7f800000u)
#define kNotANumber uintBitsToFloat(0x7fc00000u)

bool nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }

/// e^x: x = k ln 2 + r, and a polynomial of r within half of ln 2.
float exp_of(float x) {
    if (nan(x)) return x;
    if (x > 88.8) return kInfinity;
    if (x < -103.98) return 0.0;
    const float k = roundEven(x * 1.44269504);
    precise const float r = (x - k * 0.693145752) - k * 1.42860677e-6;
    precise float v = 1.0 / 5040.0;
    v = v * r + 1.0 / 720.0;
    v = v * r + 1.0 / 120.0;
    v = v * r + 1.0 / 24.0;
    v = v * r + 1.0 / 6.0;
    v = v * r + 0.5;
    v = v * r * r + r + 1.0;
    // Two factors: 2^k alone may be out of range.
    const int half_ = int(k) / 2;
    return v * uintBitsToFloat(uint(half_ + 127) << 23) * uintBitsToFloat(uint(int(k) - half_ + 127) << 23);
}

/// ln x: x = 2^k m with m within [sqrt 1/2, sqrt 2], and the series of atanh((m - 1) / (m + 1)).
float log_of(float x) {
    if (nan(x) || x < 0.0) return kNotANumber;
    if (x == 0.0) return -kInfinity;
    if (x == kInfinity) return x;
    int k = 0;
    if (x < 1.17549435e-38) {
        x *= 8388608.0;
        k = -23;
    }
    const uint bits = floatBitsToUint(x);
    k += int(bits >> 23) - 127;
    float m = uintBitsToFloat((bits & 0x7fffffu) | 0x3f800000u);
    if (m > 1.41421356) {
        m *= 0.5;
        k += 1;
    }
    precise const float f = m - 1.0, s = f / (2.0 + f), z = s * s;
    precise const float series = z * (0.666666667 + z * (0.4 + z * (0.285714286 + z * (0.222222222 + z * 0.181818182))));
    precise const float v = f - s * (f - series);
    return float(k) * 0.693145752 + (v + float(k) * 1.42860677e-6);
}

/// sin of x + quarter_turns quarter turns.
float sine(float x, int quarter_turns) {
    if (nan(x) || abs(x) == kInfinity) return kNotANumber;
    const float k = roundEven(x * 0.636619772);
    precise float r = x - k * 1.5703125;
    r = r - k * 4.83751297e-4;
    r = r - k * 7.54953362e-8;
    r = r - k * 2.56334407e-12;
    const int quadrant = int(k) + quarter_turns & 3;
    precise const float z = r * r;
    precise const float sin_ = r + r * z * (-1.66666667e-1 + z * (8.33333333e-3 + z * (-1.98412698e-4 + z * 2.75573192e-6)));
    precise const float cos_ = 1.0 - 0.5 * z + z * z * (4.16666667e-2 + z * (-1.38888889e-3 + z * (2.48015873e-5 - z * 2.75573192e-7)));
    const float v = (quadrant & 1) == 0 ? sin_ : cos_;
    return quadrant >= 2 ? -v : v;
}

float tanh_of(float x) {
    const float a = abs(x);
    if (a < 0.3) {
        const float z = x * x;
        return x + x * z * (-0.333333333 + z * (0.133333333 + z * (-0.0539682540 + z * (0.0218694885 - z * 0.00886323553))));
    }
    if (a > 10.0) return sign(x);
    return nan(x) ? x : sign(x) * (1.0 - 2.0 / (exp_of(2.0 * a) + 1.0));
}

/// Abramowitz and Stegun 7.1.26 away from zero, where its absolute error of 1.5e-7 is small beside erf; the series near it.
float erf_of(float x) {
    const float a = abs(x), z = x * x;
    if (nan(x)) return x;
    if (a < 1.0) {
        float v = 1.0 / 75600.0 - z / 685440.0;
        v = v * z - 1.0 / 9360.0;
        v = v * z + 1.0 / 1320.0;
        v = v * z - 1.0 / 216.0;
        v = v * z + 1.0 / 42.0;
        v = v * z - 0.1;
        v = v * z + 1.0 / 3.0;
        return 1.12837917 * (x - x * z * v);
    }
    const float t = 1.0 / (1.0 + 0.3275911 * a);
    const float p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return sign(x) * (1.0 - p * exp_of(-z));
}

/// x^y; of a negative x only whole y have a value.
float pow_of(float x, float y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (nan(x) || nan(y)) return kNotANumber;
    const float a = abs(x);
    const bool whole = floor(y) == y, odd = whole && abs(y) < 16777216.0 && (int(y) & 1) != 0;
    float v = a == 0.0 ? (y > 0.0 ? 0.0 : kInfinity) : exp_of(y * log_of(a));
    if (y == 0.5) v = sqrt(a);
    if (y == 2.0) v = a * a;
    if (y == 3.0) v = a * a * a;
    if (y == -1.0) v = 1.0 / a;
    if (x < 0.0) return whole ? (odd ? -v : v) : kNotANumber;
    return v;
}

float rounded(uint type, float v) {
    if (type == TYPE_FLOAT16) return unpackHalf2x16(half_of(v)).x;
    if (type == TYPE_BFLOAT16) return uintBitsToFloat(bfloat_of(v) << 16);
    return v;
}

/// To the nearest integer, ties to even; beyond the type's range, its ends.
int integer(uint type, float v) {
    const float w = roundEven(v);
    if (nan(v)) return 0;
    if (type == TYPE_INT8) return int(clamp(w, -128.0, 127.0));
    if (type == TYPE_INT16) return int(clamp(w, -32768.0, 32767.0));
    if (w >= 2147483648.0) return 0x7fffffff;
    return w <= -2147483648.0 ? 0x80000000 : int(w);
}

/// The larger of two (the smaller where `smaller`): NaN if one is, or the other where NaNs are ignored.
vec4 extreme(vec4 a, vec4 b, bool smaller, bool ignore) {
    vec4 v;
    [[unroll]] for (int i = 0; i < 4; ++i) {
        const bool first = smaller ? a[i] <= b[i] : a[i] >= b[i];
        v[i] = nan(a[i]) ? (ignore ? b[i] : a[i]) : nan(b[i]) ? (ignore ? a[i] : b[i]) : first ? a[i] : b[i];
    }
    return v;
}

#define F(v) intBitsToFloat(v)
#define BITS(v) floatBitsToInt(v)
/// A step on each lane's float by itself.
#define STEP_OF_EACH(name, expression)      \
    STEP(name) {                            \
        const vec4 x = F(a), y = F(b);      \
        vec4 v;                             \
        EACH(i) v[i] = expression;          \
        return BITS(v);                     \
    }

STEP(fadd) { return BITS(F(a) + F(b)); }
STEP(fsub) { return BITS(F(a) - F(b)); }
STEP(fmul) { return BITS(F(a) * F(b)); }
STEP(fmax) { return BITS(extreme(F(a), F(b), false, (mode & NAN_IGNORE) != 0u)); }
STEP(fmin) { return BITS(extreme(F(a), F(b), true, (mode & NAN_IGNORE) != 0u)); }
STEP(fclamp) {
    const bool ignore = (mode & NAN_IGNORE) != 0u;
    return BITS(extreme(extreme(F(a), vec4(F(n.x)), false, ignore), vec4(F(n.y)), true, ignore));
}
STEP(fabs) { return a & 0x7fffffff; }
STEP(fnegate) { return a ^ 0x80000000; }
STEP(fequal) { return ivec4(equal(F(a), F(b))); }
STEP(fgreater) { return ivec4(greaterThan(F(a), F(b))); }
STEP(fgreater_equal) { return ivec4(greaterThanEqual(F(a), F(b))); }
STEP(ceil) { return BITS(ceil(F(a))); }
STEP(floor) { return BITS(floor(F(a))); }
STEP(reciprocal) { return BITS(1.0 / F(a)); }
STEP(rsqrt) { return BITS(1.0 / sqrt(F(a))); }
STEP_OF_EACH(exp, exp_of(x[i]))
STEP_OF_EACH(log, log_of(x[i]))
STEP_OF_EACH(sin, sine(x[i], 0))
STEP_OF_EACH(cos, sine(x[i], 1))
STEP_OF_EACH(tanh, tanh_of(x[i]))
STEP_OF_EACH(sigmoid, 1.0 / (1.0 + exp_of(-x[i])))
STEP_OF_EACH(erf, erf_of(x[i]))
STEP_OF_EACH(pow, pow_of(x[i], y[i]))
STEP_OF_EACH(fround, rounded(mode, x[i]))
STEP(to_float) { return BITS(vec4(a)); }
STEP(to_int) {
    ivec4 v;
    EACH(i) v[i] = integer(mode, F(a[i]));
    return v;
}
STEP(fto_bool) { return ivec4(notEqual(F(a), vec4(0.0))); }
