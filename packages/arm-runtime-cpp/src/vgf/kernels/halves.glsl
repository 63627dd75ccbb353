// Floats of 16 bits.
/// Half precision rounds to nearest even; what a driver's packHalf2x16 does may be another mode.
uint half_of(float value) {
    const uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;
    // A subnormal: 2^-24 is its unit. Adding 0.5 (whose last place is 2^-24) rounds to it.
    const uint subnormal = floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - 0x3f000000u;
    const uint normal = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u) >> 13;
    const uint most = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN; infinity
    return bits >> 16 & 0x8000u | (magnitude < 0x38800000u ? subnormal : min(normal, most));
}

uint bfloat_of(float value) {
    const uint bits = floatBitsToUint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
