// The module workbench._kernels: each file binds its own family.
#include "attention.hpp"
#include "batch_norm.hpp"
#include "casts.hpp"
#include "codes.hpp"
#include "codes_average.hpp"
#include "codes_product.hpp"
#include "codes_resample.hpp"
#include "codes_rows.hpp"
#include "compiled/chain.hpp"
#include "compiled/program.hpp"
#include "components.hpp"
#include "convolution.hpp"
#include "doubles.hpp"
#include "dropout.hpp"
#include "eager/module.hpp"
#include "elementwise.hpp"
#include "engine.hpp"
#include "extremes.hpp"
#include "fourier.hpp"
#include "group_norm.hpp"
#include "index.hpp"
#include "layer_norm.hpp"
#include "losses.hpp"
#include "matmul.hpp"
#include "matmul_bfloat16.hpp"
#include "memory.hpp"
#include "neighbours.hpp"
#include "nll_loss.hpp"
#include "packed_nibbles.hpp"
#include "parametric_elementwise.hpp"
#include "pooling.hpp"
#include "pooling_planes.hpp"
#include "product_choice.hpp"
#include "quantize.hpp"
#include "quantized.hpp"
#include "quantized_recurrent.hpp"
#include "recurrent.hpp"
#include "reduce.hpp"
#include "softmax.hpp"
#include "sorting.hpp"
#include "statistics.hpp"
#include "tables_of_codes.hpp"
#include "threads.hpp"

NB_MODULE(_kernels, module) {
    module.attr("interface") = 39;  // as INTERFACE in workbench/kernels/loader.py
    nanobind::set_leak_warnings(false);  // a thread that runs to the end keeps what it works with
    module.doc() = "Compiled kernels; use them through workbench.kernels.";
    if (!workbench::add_eager(module.ptr())) throw nanobind::python_error();
    workbench::bind_threads(module);
    workbench::bind_memory(module);
    workbench::bind_engine(module);
    workbench::bind_fourier(module);
    workbench::compiled::bind_program(module);
    workbench::bind_convolution(module);
    workbench::bind_matmul(module);
    workbench::bind_product_choice(module);
    workbench::bind_matmul_bfloat16(module);
    workbench::bind_casts(module);
    workbench::bind_elementwise(module);
    workbench::bind_doubles(module);
    workbench::bind_shaped(module);
    workbench::bind_losses(module);
    workbench::bind_dropout_ops(module);
    workbench::bind_attention(module);
    workbench::bind_recurrent(module);
    workbench::bind_reduce(module);
    workbench::bind_softmax(module);
    workbench::bind_layer_norm(module);
    workbench::bind_group_norm(module);
    workbench::bind_order(module);
    workbench::bind_index(module);
    workbench::bind_extremes(module);
    workbench::bind_components(module);
    workbench::bind_neighbours(module);
    workbench::bind_nll_loss(module);
    workbench::bind_pooling(module);
    workbench::bind_pooling_planes(module);
    workbench::bind_quantize(module);
    workbench::bind_quantized(module);
    workbench::bind_quantized_recurrent(module);
    workbench::bind_packed_nibbles(module);
    workbench::bind_codes(module);
    workbench::bind_codes_average(module);
    workbench::bind_codes_product(module);
    workbench::bind_codes_resample(module);
    workbench::bind_codes_rows(module);
    workbench::bind_tables_of_codes(module);
    workbench::bind_statistics(module);
    workbench::bind_normalisation(module);
    workbench::compiled::bind_chain(module);
}
