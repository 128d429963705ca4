// Programs as Python builds and runs them.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "../codes.hpp"
#include "../codes_product.hpp"
#include "../codes_rows.hpp"
#include "../quantized_convolution.hpp"
#include "../quantized_linear.hpp"
#include "program.hpp"
#include "watch.hpp"

namespace workbench::compiled {
namespace {

// (what, alpha, beta, slot, over), as Python writes what is done to a result.
using Told = std::tuple<std::string, float, float, int, bool>;

dnnl::algorithm algorithm(const std::string& what) {
    static const std::map<std::string, dnnl::algorithm> known{
        {"add", dnnl::algorithm::binary_add},
        {"relu", dnnl::algorithm::eltwise_relu},
        {"clip", dnnl::algorithm::eltwise_clip_v2},
        {"sigmoid", dnnl::algorithm::eltwise_logistic},
        {"tanh", dnnl::algorithm::eltwise_tanh},
        {"gelu", dnnl::algorithm::eltwise_gelu_erf},
        {"gelu_tanh", dnnl::algorithm::eltwise_gelu_tanh},
        {"silu", dnnl::algorithm::eltwise_swish},
        {"hardswish", dnnl::algorithm::eltwise_hardswish},
        {"hardsigmoid", dnnl::algorithm::eltwise_hardsigmoid},
        {"elu", dnnl::algorithm::eltwise_elu},
        {"exp", dnnl::algorithm::eltwise_exp},
        {"sqrt", dnnl::algorithm::eltwise_sqrt},
        {"linear", dnnl::algorithm::eltwise_linear},
    };
    const auto found = known.find(what);
    if (found == known.end()) refuse("no step does '" + what + "' to a result");
    return found->second;
}

After told(const Told& one) {
    const auto& [what, alpha, beta, slot, over] = one;
    return {algorithm(what), alpha, beta, slot, over};
}
std::vector<After> told(const std::vector<Told>& all) {
    std::vector<After> after;
    for (const Told& one : all) after.push_back(told(one));
    return after;
}

// (scale, zero, other scale, other zero, scale of the result, its zero, low, high, whether the result is rectified).
using ToldPair = std::tuple<double, std::int64_t, double, std::int64_t, double, std::int64_t, std::int64_t, std::int64_t, bool>;
// What is summed, and whether that is one op on codes.
using ToldSum = std::tuple<ToldPair, bool>;

CodesSum told(const ToldSum& sum) {
    const auto& [pair, one_op] = sum;
    const auto& [scale, zero, other_scale, other_zero, out_scale, out_zero, low, high, relu] = pair;
    const auto narrow = [](auto value) { return static_cast<float>(value); };
    return codes_sum({narrow(scale), narrow(zero)}, {narrow(other_scale), narrow(other_zero)}, out_scale, out_zero, low, high, relu, one_op);
}

// (scale and zero of x, of the result, whether it is rectified, its highest code, how sums become codes).
using ToldCodes = std::tuple<double, std::int64_t, double, std::int64_t, bool, std::int64_t, std::string>;

Quantization told(const ToldCodes& codes) { return std::make_from_tuple<Quantization>(codes); }

// (scale, zero, least and greatest code) of a result; for products of matrices with the factor of the sums in the place of the scale.
using ToldRows = std::tuple<double, std::int64_t, std::int64_t, std::int64_t>;

RowsOut told(const ToldRows& out, float inverse) {
    const auto [scale, zero, low, high] = out;
    return {inverse, static_cast<float>(zero), static_cast<float>(low), static_cast<float>(high)};
}
float inverse(const ToldRows& out) { return 1.f / static_cast<float>(std::get<0>(out)); }

std::optional<AnyArray> given(nb::handle bias) {
    return bias.is_none() ? std::nullopt : std::optional(AnyArray::weight(bias));
}

}  // namespace

void bind_program(nb::module_& module) {
    using nb::arg;
    nb::module_ room = module.def_submodule("compiled", "Graphs as steps on one arena.");
    bind_watch(room);
    nb::class_<Store>(room, "Store").def(nb::init<>()).def_prop_ro("bytes", &Store::bytes);
    nb::class_<Lies>(room, "Lies").def_prop_ro("bytes", [](const Lies& self) { return self.layout.get_size(); }).def("unpacked", &Lies::unpacked);
    nb::class_<Program>(room, "Program")
        .def(nb::init<std::shared_ptr<Store>>(), arg("store"))
        .def("input", [](Program& self, const Dims& shape, const std::string& type,
                         bool channels_last) { return self.input(shape, storage_named(type), channels_last); },
             arg("shape"), arg("type"), arg("channels_last") = false)
        .def("input_lying", &Program::input_lying)
        .def("gathered", &Program::gathered)
        .def("lies", &Program::lies)
        .def("type", [](const Program& self, int x) { return std::string(name_of(self.type(x))); })
        .def("widened", &Program::widened)
        .def("constant", [](Program& self, std::int64_t key, nb::handle array,
                            const std::string& type) { return self.constant(key, array, storage_named(type)); })
        .def("convolution",
             [](Program& self, int x, std::int64_t key, nb::handle weight, std::int64_t bias_key, nb::handle bias,
                const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups, const std::vector<Told>& after) {
                 return self.convolution(x, key, AnyArray::weight(weight), bias_key, given(bias), stride, padding, dilation, groups, told(after));
             }, arg("x"), arg("key"), arg("weight"), arg("bias_key"), arg("bias").none(), arg("stride"), arg("padding"), arg("dilation"),
             arg("groups"), arg("after"))
        .def("convolution_with",
             [](Program& self, int x, int weight, int bias, const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups,
                const std::vector<Told>& after) {
                 return self.convolution_with(x, weight, bias, stride, padding, dilation, groups, told(after));
             })
        .def("convolution_input_gradient", &Program::convolution_input_gradient)
        .def("convolution_weight_gradient", &Program::convolution_weight_gradient)
        .def("linear_with", &Program::linear_with)
        .def("product", &Program::product)
        .def("max_pool", &Program::max_pool)
        .def("max_pool_gradient", &Program::max_pool_gradient)
        .def("average_pool_gradient", &Program::average_pool_gradient)
        .def("batch_norm", &Program::batch_norm)
        .def("batch_norm_gradient", &Program::batch_norm_gradient)
        .def("running_statistics", &Program::running_statistics)
        .def("bound", &Program::bound)
        .def("reduce", &Program::reduce)
        .def("linear",
             [](Program& self, int x, std::int64_t key, nb::handle weight, std::int64_t bias_key, nb::handle bias,
                const std::vector<Told>& after) { return self.linear(x, key, AnyArray::weight(weight), bias_key, given(bias), told(after)); },
             arg("x"), arg("key"), arg("weight"), arg("bias_key"), arg("bias").none(), arg("after"))
        .def("matmul", [](Program& self, int a, int b, bool transposed, float scale,
                          const std::vector<Told>& after) { return self.matmul(a, b, transposed, scale, told(after)); })
        .def("pool", &Program::pool)
        .def("softmax", &Program::softmax)
        .def("layer_norm", &Program::layer_norm)
        .def("attention", &Program::attention)
        .def("attention_kept", &Program::attention_kept)
        .def("attention_gradient", &Program::attention_gradient)
        .def("layer_norm_kept", &Program::layer_norm_kept)
        .def("layer_norm_gradient", &Program::layer_norm_gradient)
        .def("log_softmax", &Program::log_softmax)
        .def("softmax_gradient", &Program::softmax_gradient)
        .def("embedding", &Program::embedding)
        .def("embedding_gradient", &Program::embedding_gradient)
        .def("cross_entropy", &Program::cross_entropy)
        .def("cross_entropy_gradient", &Program::cross_entropy_gradient)
        .def("nll_loss", &Program::nll_loss)
        .def("nll_loss_gradient", &Program::nll_loss_gradient)
        .def("dropout", &Program::dropout)
        .def("stretched", &Program::stretched)
        .def("placed", &Program::placed)
        .def("chain",
             [](Program& self, std::shared_ptr<Chain> chain, std::vector<int> inputs, const Dims& sizes, int over) {
                 if (inputs.size() != chain->code().inputs.size()) refuse("a chain is given more inputs, or fewer, than it has");
                 return self.chain(std::move(chain), std::move(inputs), sizes, over);
             })
        .def("quantize", [](Program& self, int x, double scale, std::int64_t zero, std::int64_t low, std::int64_t high,
                            const std::string& type) { return self.quantize(x, {scale, zero, low, high}, storage_named(type)); })
        .def("dequantize", &Program::dequantize)
        .def("look_up", &Program::look_up)
        .def("quantized_convolution",
             [](Program& self, int x, std::shared_ptr<PackedQuantizedConv2d> layer, const ToldCodes& codes, std::int64_t least, bool pool,
                const std::optional<ToldSum>& sum, int added) {
                 return self.quantized_convolution(x, std::move(layer), told(codes), least, pool,
                                                   sum ? std::optional(told(*sum)) : std::nullopt, added);
             }, arg("x"), arg("layer"), arg("codes"), arg("least"), arg("pool"), arg("sum").none(), arg("added"))
        .def("quantized_linear", [](Program& self, int x, std::shared_ptr<PackedQuantizedLinear> layer, const ToldCodes& codes, std::int64_t least,
                                    bool to_codes) { return self.quantized_linear(x, std::move(layer), told(codes), least, to_codes); })
        .def("sum_of_codes", [](Program& self, int a, int b, const ToldSum& sum) { return self.sum_of_codes(a, b, told(sum)); })
        .def("mean_of_codes", &Program::mean_of_codes)
        .def("quantized_max_pool", &Program::quantized_max_pool)
        .def("combined_codes",
             [](Program& self, int a, int b, const ToldPair& pair, bool product) {
                 const auto& [scale, zero, other_scale, other_zero, out_scale, out_zero, low, high, relu] = pair;
                 const CodesIn one{static_cast<float>(scale), static_cast<float>(zero)};
                 const CodesIn other{static_cast<float>(other_scale), static_cast<float>(other_zero)};
                 return self.combined_codes(a, b, one, other, codes_out(one, other, out_scale, out_zero, relu ? std::max(low, out_zero) : low, high, product),
                                            product);
             })
        .def("spread_codes", &Program::spread_codes)
        .def("planes_of_codes", &Program::planes_of_codes)
        .def("product_of_codes",
             [](Program& self, int a, int b, double a_scale, std::int64_t a_zero, double b_scale, std::int64_t b_zero, const ToldRows& out) {
                 const float factor = static_cast<float>(a_scale) * static_cast<float>(b_scale) * inverse(out);
                 return self.product_of_codes(a, b, a_zero, b_zero, told(out, factor));
             })
        .def("softmax_of_codes", [](Program& self, int x, const Plain<std::int32_t>& powers,
                                    const ToldRows& out) { return self.softmax_of_codes(x, powers, std::get<0>(out), told(out, inverse(out))); })
        .def("normalised_codes",
             [](Program& self, int x, std::int64_t rows, const std::optional<Plain<float>>& weight, const std::optional<Plain<float>>& bias,
                std::int64_t run, std::int64_t factors, bool centred, double eps, double scale, std::int64_t zero, const ToldRows& out) {
                 return self.normalised_codes(x, rows, weight, bias, {scale, eps, zero, centred, nullptr, nullptr, run, factors, told(out, inverse(out))});
             }, arg("x"), arg("rows"), arg("weight").none(), arg("bias").none(), arg("run"), arg("factors"), arg("centred"), arg("eps"),
             arg("scale"), arg("zero"), arg("out"))
        .def("cast", [](Program& self, int x, const std::string& type) { return self.cast(x, storage_named(type)); })
        .def("concatenate", &Program::concatenate)
        .def("reshape", &Program::reshape)
        .def("lay_out", &Program::lay_out)
        .def("permute", &Program::permute)
        .def("part", &Program::part)
        .def("shape", &Program::shape)
        .def("finish", &Program::finish, arg("results"), arg("held") = std::vector<bool>{})
        .def("share_arena", &Program::share_arena)
        .def("run", &Program::run, arg("inputs"), arg("seen") = std::vector<std::size_t>{})
        .def_prop_ro("steps", &Program::steps)
        .def_prop_ro("types", &Program::types)
        .def_prop_ro("arena_bytes", &Program::arena_bytes)
        .def_prop_ro("unshared_bytes", &Program::unshared_bytes);
}

}  // namespace workbench::compiled
