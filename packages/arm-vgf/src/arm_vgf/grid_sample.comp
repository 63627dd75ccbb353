// What is in an image at given positions, between its texels by the device's sampler. grid_sample.spv is made of it:
// glslangValidator --target-env vulkan1.1 -o grid_sample.spv grid_sample.comp
#version 450

layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) readonly buffer Grid { vec2 grid[]; };  // -1 and 1: the edges of the image
layout(set = 0, binding = 2) writeonly uniform image2D result;

void main() {
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = imageSize(result);
    if (any(greaterThanEqual(pixel, size))) return;
    vec2 place = grid[pixel.y * size.x + pixel.x] * 0.5 + 0.5;
    imageStore(result, pixel, textureLod(image, place, 0));
}
