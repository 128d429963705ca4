// The tiles of AMX: eight registers of sixteen rows of 64 bytes. An instruction multiplies two of them, 16 x 64 bytes by
// 64 x 16, and adds the products up in the 16 x 16 numbers of 32 bits of a third.
#pragma once

#include <cstdint>

namespace workbench {

constexpr std::int64_t tile_rows = 16, tile_bytes = 64;  // of a register; bytes are those of a row

// Whether products of bytes may go through them: the processor has them, the operating system lets this process use them, and
// WORKBENCH_KERNELS_ISA asks for nothing less.
bool has_tiles();

// While it lives, this thread's tiles are all of full size; `wanted` false leaves them alone.
class Tiles {
   public:
    explicit Tiles(bool wanted);
    ~Tiles();
    Tiles(const Tiles&) = delete;

   private:
    const bool used_;
};

}  // namespace workbench
