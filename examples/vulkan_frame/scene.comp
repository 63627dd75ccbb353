#version 450
// A floor that comes nearer, and three discs before it. network.py draws the same.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba16f) writeonly uniform image2D color;  // depth in alpha
layout(binding = 1, rg16f) writeonly uniform image2D motion;   // since the last frame, in parts of the picture
layout(push_constant) uniform Push {
    vec2 jitter;  // of the samples, in parts of the picture
    float time;
    float step;  // the time since the last frame
} push;

vec2 middle(int disc, float time) {
    const vec2 turn = time * vec2(0.9 - 0.25 * disc, 0.6 + 0.2 * disc) + 2.1 * disc;
    return vec2(0.5 + 0.33 * cos(turn.x), 0.45 + 0.25 * sin(turn.y));
}

void main() {
    const ivec2 pixel = ivec2(gl_GlobalInvocationID.xy), size = imageSize(color);
    if (any(greaterThanEqual(pixel, size))) return;
    const vec2 at = (vec2(pixel) + 0.5) / vec2(size) + push.jitter;
    const float aspect = float(size.x) / float(size.y);
    vec4 found = vec4(0.45 + 0.4 * at.y, 0.6 + 0.3 * at.y, 0.9, 1);  // the sky
    vec2 moved = vec2(0);
    if (at.y > 0.3) {
        const float away = 0.35 / (at.y - 0.29), before = away + 0.6 * push.step;
        const vec2 place = vec2((at.x - 0.5) * aspect * away, away + 0.6 * push.time);
        const float odd = mod(floor(6 * place.x) + floor(6 * place.y), 2);
        const vec3 paint = mix(vec3(0.15, 0.2, 0.3), vec3(0.9, 0.85, 0.7), odd);
        found = vec4(mix(found.rgb, paint, exp(-0.35 * away)), away / (away + 1));
        moved = at - vec2(0.5 + (at.x - 0.5) * away / before, 0.29 + 0.35 / before);
    }
    for (int i = 0; i < 3; ++i) {
        const vec2 from = (at - middle(i, push.time)) * vec2(aspect, 1);
        const float far = length(from);
        if (far > 0.2) continue;
        const float ray = sin(18 * atan(from.y, from.x)) * sin(70 * far) > 0 ? 1 : 0.25;
        found = vec4((0.55 + 0.45 * cos(vec3(0, 2, 4) + 1.5 * i)) * ray, 0.2 - 0.06 * i);
        moved = middle(i, push.time) - middle(i, push.time - push.step);
    }
    imageStore(color, pixel, found);
    imageStore(motion, pixel, vec4(moved, 0, 0));
}
