// Functions of one operand and at most three numbers. Included once per instruction set; see dispatch.hpp.
#include "functions.inl"
#include "parametric_functions.inl"

template <Shaped kind>
static WORKBENCH_INLINE void map(const float* x, const float* numbers, std::int64_t count, float* out, bool streamed) {
    const floats p = all(numbers[0]), q = all(numbers[1]), r = all(numbers[2]);
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, shaped<kind>(load_some(x + i, rest), p, q, r), rest);
    };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, shaped<kind>(load_floats(x + i), p, q, r)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, shaped<kind>(load_floats(x + i), p, q, r)); }, some);
    }
}

static void shaped_run(Shaped kind, const float* x, const float* numbers, std::int64_t count, float* out, bool streamed) {
#define WORKBENCH_SHAPED(name) \
    case Shaped::name: map<Shaped::name>(x, numbers, count, out, streamed); break;
    switch (kind) {
        WORKBENCH_SHAPED(clamp)
        WORKBENCH_SHAPED(leaky_relu)
        WORKBENCH_SHAPED(elu)
        WORKBENCH_SHAPED(softplus)
        WORKBENCH_SHAPED(logsigmoid)
        WORKBENCH_SHAPED(hardsigmoid)
        WORKBENCH_SHAPED(hardswish)
        WORKBENCH_SHAPED(mish)
        WORKBENCH_SHAPED(softshrink)
        WORKBENCH_SHAPED(hardshrink)
        WORKBENCH_SHAPED(threshold)
        WORKBENCH_SHAPED(rsqrt)
        WORKBENCH_SHAPED(cube)
        WORKBENCH_SHAPED(reciprocal)
        WORKBENCH_SHAPED(inverse_square)
    }
#undef WORKBENCH_SHAPED
}

template <Passed kind>
static WORKBENCH_INLINE void map_passed(const float* g, const float* x, const float* numbers, std::int64_t count, float* out,
                                        bool streamed) {
    const floats p = all(numbers[0]), q = all(numbers[1]), r = all(numbers[2]);
    const auto some = [&](std::int64_t i, std::int64_t rest) {
        store_some(out + i, passed<kind>(load_some(g + i, rest), load_some(x + i, rest), p, q, r), rest);
    };
    const auto whole = [&](std::int64_t i) { return passed<kind>(load_floats(g + i), load_floats(x + i), p, q, r); };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, whole(i)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, whole(i)); }, some);
    }
}

static void passed_run(Passed kind, const float* g, const float* x, const float* numbers, std::int64_t count, float* out,
                       bool streamed) {
#define WORKBENCH_PASSED(name) \
    case Passed::name: map_passed<Passed::name>(g, x, numbers, count, out, streamed); break;
    switch (kind) {
        WORKBENCH_PASSED(between)
        WORKBENCH_PASSED(within)
        WORKBENCH_PASSED(beyond)
        WORKBENCH_PASSED(above)
        WORKBENCH_PASSED(leaky_relu)
        WORKBENCH_PASSED(elu)
        WORKBENCH_PASSED(softplus)
        WORKBENCH_PASSED(logsigmoid)
        WORKBENCH_PASSED(hardswish)
        WORKBENCH_PASSED(mish)
    }
#undef WORKBENCH_PASSED
}

// out = condition ? a : b; a step of 0 repeats one value. Without a branch: conditions are seldom foreseeable.
template <int a_step, int b_step>
static WORKBENCH_INLINE void choose(const unsigned char* condition, const float* a, const float* b, std::int64_t count, float* out) {
    const float one_a = a[0], one_b = b[0];
    for (std::int64_t i = 0; i < count; ++i) {
        const float x = a_step ? a[i] : one_a, y = b_step ? b[i] : one_b;
        out[i] = condition[i] ? x : y;
    }
}

static void where_run(const unsigned char* condition, const float* a, bool a_along, const float* b, bool b_along, std::int64_t count,
                      float* out) {
    if (count == 0) return;
    if (a_along && b_along)
        choose<1, 1>(condition, a, b, count, out);
    else if (a_along)
        choose<1, 0>(condition, a, b, count, out);
    else if (b_along)
        choose<0, 1>(condition, a, b, count, out);
    else
        choose<0, 0>(condition, a, b, count, out);
}
