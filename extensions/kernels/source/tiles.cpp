#include "tiles.hpp"

#include "dispatch.hpp"

#if WORKBENCH_X86 && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#define WORKBENCH_TILES 1
#else
#define WORKBENCH_TILES 0
#endif

namespace workbench {

#if WORKBENCH_TILES

// The flags are those of Intel's manual (CPUID, leaf 7). A process has to ask Linux before it uses registers that large.
static bool granted() {
    constexpr unsigned tile = 1u << 24, of_bytes = 1u << 25;
    constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    if ((d & tile) == 0 || (d & of_bytes) == 0) return false;
    return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

bool has_tiles() {
    static const bool has = has_vnni() && allows_tiles() && granted();
    return has;
}

Tiles::Tiles(bool wanted) : used_(wanted) {
    if (!used_) return;
    struct alignas(64) {
        std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
        std::uint16_t bytes[16] = {};
        std::uint8_t rows[16] = {};
    } configuration;
    for (int tile = 0; tile < 8; ++tile) configuration.bytes[tile] = tile_bytes, configuration.rows[tile] = tile_rows;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
}

// A thread that keeps values in its tiles costs the system 8 KB whenever it takes the processor from it.
Tiles::~Tiles() {
    if (used_) asm volatile("tilerelease");
}

#else

bool has_tiles() { return false; }
Tiles::Tiles(bool) : used_(false) {}
Tiles::~Tiles() = default;

#endif

}  // namespace workbench
