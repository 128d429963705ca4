// Between floats and bfloat16. Included once per instruction set; see dispatch.hpp.

template <typename From, typename To>
static void cast_run(const From* x, std::int64_t count, To* out, bool streamed) {
    const auto some = [&](std::int64_t i, std::int64_t rest) { store_some(out + i, load_some(x + i, rest), rest); };
    if (streamed) {
        along(out, count, true, [&](std::int64_t i) { stream_floats(out + i, load_floats(x + i)); }, some);
        streams_done();
    } else {
        along(out, count, false, [&](std::int64_t i) { store_floats(out + i, load_floats(x + i)); }, some);
    }
}
