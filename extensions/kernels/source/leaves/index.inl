// Looking at indices before they are used. Included once per instruction set; see dispatch.hpp.

static bool all_inside(const std::int64_t* index, std::int64_t count, std::int64_t size) {
    std::int64_t signs = 0;  // negative where an index or what is left above it is
    for (std::int64_t i = 0; i < count; ++i) signs |= index[i] | (size - 1 - index[i]);
    return signs >= 0;
}
