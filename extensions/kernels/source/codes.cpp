// Elementwise work on codes: tables of 256 results for functions of one operand, sums and products of two.
#include "codes.hpp"

#define WORKBENCH_LEAVES "leaves/codes.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

constexpr std::int64_t codes_of_a_thread = 65536;

#if WORKBENCH_X86
// Instructions that look up 64 codes in 128 bytes at once.
bool has_byte_tables() {
    static const bool has = has_avx512() && __builtin_cpu_supports("avx512vbmi");
    return has;
}

__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void look_up_bytes(const std::uint8_t* codes, const std::uint8_t* table,
                                                                           std::int64_t count, std::uint8_t* out) {
    __m512i parts[4];
    for (int part = 0; part < 4; ++part) parts[part] = _mm512_loadu_si512(table + 64 * part);
    for (std::int64_t i = 0; i < count; i += 64) {
        const __mmask64 here = count - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
        const __m512i some = _mm512_maskz_loadu_epi8(here, codes + i);
        const __m512i lower = _mm512_permutex2var_epi8(parts[0], some, parts[1]);
        const __m512i upper = _mm512_permutex2var_epi8(parts[2], some, parts[3]);
        _mm512_mask_storeu_epi8(out + i, here, _mm512_mask_blend_epi8(_mm512_movepi8_mask(some), lower, upper));
    }
}
#endif

nb::object looked_up(const Input<std::uint8_t>& codes, const Plain<std::uint8_t>& table) {
    if (shape_of(table) != Dims{256}) refuse("a table of codes has shape " + text(shape_of(table)) + "; expected [256]");
    const Dims shape = shape_of(codes), order = dense_strides_like(shape, strides_of(codes));
    Output<std::uint8_t> out(shape, order);
    {
        KernelScope scope;
        const Dense<std::uint8_t> input(codes, order);
        parallel_for(count_of(shape), codes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            look_up_codes(input.data() + begin, table.data(), end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

template <bool product>
nb::object combined_codes(const Input<std::uint8_t>& a, double a_scale, std::int64_t a_zero, const Input<std::uint8_t>& b,
                          double b_scale, std::int64_t b_zero, double scale, std::int64_t zero, std::int64_t low, std::int64_t high) {
    const Dims shape = shape_of(a), order = dense_strides_like(shape, strides_of(a));
    if (shape_of(b) != shape) refuse("codes of " + text(shape) + " and of " + text(shape_of(b)) + " are combined; expected one shape");
    if (low < 0 || high > 255 || low > high)
        refuse("codes from " + std::to_string(low) + " to " + std::to_string(high) + " do not fit; give a range within 0 to 255");
    Output<std::uint8_t> out(shape, order);
    {
        KernelScope scope;
        const Dense<std::uint8_t> left(a, order), right(b, order);
        const CodesIn of_a{static_cast<float>(a_scale), static_cast<float>(a_zero)};
        const CodesIn of_b{static_cast<float>(b_scale), static_cast<float>(b_zero)};
        const CodesOut to = codes_out(of_a, of_b, scale, zero, low, high, product);
        parallel_for(count_of(shape), codes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            combine_codes(left.data() + begin, of_a, right.data() + begin, of_b, end - begin, to, product, out.data() + begin);
        });
    }
    return out.to_python();
}

}  // namespace

namespace {

CodesSum sum_of(const CodesIn& a, const CodesIn& b, float inverse, float zero, float low, float high, bool relu, bool one_op) {
    if (one_op) {
        const bool small = 256.f * (std::abs(a.scale) + std::abs(b.scale)) * std::abs(inverse) < 1e9f;
        return {a.scale, 0.f, -(a.zero * a.scale), b.scale, 0.f, -(b.zero * b.scale), inverse, 0.f, low - zero, high - zero,
                static_cast<std::int32_t>(zero), relu, small};
    }
    return {a.scale, a.zero, 0.f, b.scale, b.zero, 0.f, inverse, zero, low, high, 0, relu, false};
}

}  // namespace

CodesSum codes_sum(const CodesIn& a, const CodesIn& b, double scale, std::int64_t zero, std::int64_t low, std::int64_t high, bool relu,
                   bool one_op) {
    const auto narrow = [](std::int64_t value) { return static_cast<float>(value); };
    return sum_of(a, b, 1.f / static_cast<float>(scale), narrow(zero), narrow(low), narrow(high), relu, one_op);
}

CodesOut codes_out(const CodesIn& a, const CodesIn& b, double scale, std::int64_t zero, std::int64_t low, std::int64_t high, bool product) {
    const float inverse = 1.f / static_cast<float>(scale);
    return {product ? a.scale * b.scale * inverse : inverse, static_cast<float>(zero), static_cast<float>(low), static_cast<float>(high)};
}

void combine_codes(const std::uint8_t* a, const CodesIn& of_a, const std::uint8_t* b, const CodesIn& of_b, std::int64_t count,
                   const CodesOut& to, bool product, std::uint8_t* out) {
    if (product)
        LEAF_WIDE(multiply_codes)(a, of_a, b, of_b, count, to, out);
    else
        sum_codes(a, b, sum_of(of_a, of_b, to.inverse, to.zero, to.low, to.high, false, true), count, out);
}

void sum_codes(const std::uint8_t* codes, const std::uint8_t* others, const CodesSum& sum, std::int64_t count, std::uint8_t* out) {
    LEAF_WIDE(add_to_codes)(codes, others, sum, count, out);
}

void look_up_codes(const std::uint8_t* codes, const std::uint8_t* table, std::int64_t count, std::uint8_t* out) {
#if WORKBENCH_X86
    if (has_byte_tables()) return look_up_bytes(codes, table, count, out);
#endif
    LEAF(look_up)(codes, table, count, out);
}

void bind_codes(nb::module_& module) {
    using nb::arg;
    module.def("look_up_codes", &looked_up, arg("codes").noconvert(), arg("table").noconvert());
    const auto combining = [&](const char* name, auto function) {
        module.def(name, function, arg("a").noconvert(), arg("a_scale"), arg("a_zero"), arg("b").noconvert(), arg("b_scale"),
                   arg("b_zero"), arg("scale"), arg("zero"), arg("low"), arg("high"));
    };
    combining("add_codes", &combined_codes<false>);
    combining("multiply_codes", &combined_codes<true>);
}

}  // namespace workbench
