#version 450
// A moving scene: disks before a gradient. Color, and depth in alpha. network.py draws the same.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba16f) writeonly uniform image2D color;
layout(push_constant) uniform Push { float time; } push;

void main() {
    const ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), size = imageSize(color);
    if (any(greaterThanEqual(pixel, size))) return;
    const vec2 at = (vec2(pixel) + 0.5) / vec2(size);
    vec4 found = vec4(0.5 * at, 0.25, 1);
    for (int i = 0; i < 6; ++i) {
        const vec2 turn = push.time * vec2(0.6 + 0.2 * i, 0.5 + 0.15 * i) + vec2(1.3, 2.1) * i;
        const vec2 middle = 0.5 + 0.35 * vec2(cos(turn.x), sin(turn.y));
        const vec2 away = (at - middle) * vec2(float(size.x) / float(size.y), 1);
        if (dot(away, away) > 0.02) continue;
        const float stripe = 0.75 + 0.25 * sin(40 * (at.x + at.y));
        found = vec4((0.5 + 0.5 * cos(vec3(0, 2, 4) + i)) * stripe, (5 - i) / 6.0);
    }
    imageStore(color, pixel, found);
}
