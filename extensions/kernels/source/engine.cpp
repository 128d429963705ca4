#include "engine.hpp"

#include "dispatch.hpp"
#include "threads.hpp"
#include "tiles.hpp"

namespace workbench {

dnnl::engine& engine() {
    static auto* instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // never destroyed: threads may outlive main()
    return *instance;
}

dnnl::stream& stream() {
    thread_local dnnl::stream instance(engine());
    return instance;
}

dnnl::memory::desc describe(const Dims& shape, const Dims& strides, dnnl::memory::data_type type) {
    return dnnl::memory::desc(shape, type, strides);
}

static std::string isa_name() {
    switch (dnnl::get_effective_cpu_isa()) {
        case dnnl::cpu_isa::sse41: return "sse4.1";
        case dnnl::cpu_isa::avx: return "avx";
        case dnnl::cpu_isa::avx2: return "avx2";
        case dnnl::cpu_isa::avx2_vnni: return "avx2_vnni";
        case dnnl::cpu_isa::avx2_vnni_2: return "avx2_vnni_2";
        case dnnl::cpu_isa::avx512_core: return "avx512_core";
        case dnnl::cpu_isa::avx512_core_vnni: return "avx512_core_vnni";
        case dnnl::cpu_isa::avx512_core_bf16: return "avx512_core_bf16";
        case dnnl::cpu_isa::avx512_core_fp16: return "avx512_core_fp16";
        case dnnl::cpu_isa::avx512_core_amx: return "avx512_core_amx";
        case dnnl::cpu_isa::avx512_core_amx_fp16: return "avx512_core_amx_fp16";
        default: return "baseline";
    }
}

// By what a product of bfloat16 is computed. oneDNN looks at the processor's flags and asks the operating system for the
// tiles of AMX: what it names may be used. WORKBENCH_KERNELS_ISA and ONEDNN_MAX_CPU_ISA may forbid it.
static std::string bfloat16_products() {
    if (!allows_avx512()) return "float32";
    switch (dnnl::get_effective_cpu_isa()) {
        case dnnl::cpu_isa::avx512_core_bf16:
        case dnnl::cpu_isa::avx512_core_fp16: return "avx512_bf16";
        case dnnl::cpu_isa::avx512_core_amx:
        case dnnl::cpu_isa::avx512_core_amx_fp16: return "amx_bf16";
        default: return "float32";
    }
}

static nb::dict describe_build() {
    const dnnl_version_t* version = dnnl_version();
    nb::dict info;
    info["onednn"] =
        std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
    info["isa"] = isa_name();
    info["loops"] = has_avx2() ? "avx2" : "baseline";
    info["integer_loops"] = has_tiles() ? "amx" : has_vnni() ? "vnni" : has_avx2() ? "avx2" : "baseline";
    info["bfloat16_products"] = bfloat16_products();
    info["threads"] = thread_count();
    info["compiler"] = __VERSION__;
    return info;
}

void bind_engine(nb::module_& module) { module.def("info", &describe_build); }

}  // namespace workbench
