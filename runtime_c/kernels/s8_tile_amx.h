/* Tiles for AMX: sums of 16 rows and 16 outputs in one register.
 *
 * TDPBSSD adds 64 products to each of these sums: a register has 64 cells of each row, another four k of 16 outputs in
 * each of 16 lines. Smaller registers have what is left of a depth. `s8_conv2d_amx.h` is the driver of these.
 */
#ifndef TA_KERNELS_S8_TILE_AMX_H
#define TA_KERNELS_S8_TILE_AMX_H

#ifdef TA_KERNELS_AMX
#define TA_S8_WALKS
#define TA_S8_LINES 1024 /* bytes of 64 k of 16 outputs */
#define TA_S8_SUMMED 32  /* outputs that are summed at once, in two registers */

/* Registers are read and written behind the back of compilers: what is in memory is as it was written there. */
#define TA_S8_IN_ORDER_AMX __asm__ volatile("" : : : "memory")

/* Registers 0 and 1 have sums of `rows` rows, 2 their cells, 3 and 4 lines of weights; 5 to 7 have cells and lines of what
 * is left of a depth, a multiple of four. */
TA_AMX_PART void ta_s8_configure_amx(int32_t rows, int32_t depth)
{
    const uint16_t left = (uint16_t)(depth % 64), wide = left > 0 ? 64 : 0;
    const uint8_t some = (uint8_t)rows, few = left > 0 ? some : 0, lines = (uint8_t)(left / 4);
    const struct {
        uint8_t palette, start, zeros[14];
        uint16_t bytes[16]; /* of a row of each register */
        uint8_t rows[16];
    } shapes = {
        1, 0, {0}, {64, 64, 64, 64, 64, left, wide, wide}, {some, some, some, 16, 16, few, lines, lines}};
    TA_S8_IN_ORDER_AMX;
    _tile_loadconfig(&shapes);
    TA_S8_IN_ORDER_AMX;
}

/* Sums of 16 outputs, or with `both` 1 of 32, whose lines are `size` bytes apart, for all rows that registers have:
 * these are `apart` cells apart in the panel, and TA_S8_SUMMED numbers in `sums`. All begin with `start`. */
TA_AMX_PART void ta_s8_tile_amx(int both, int32_t *sums, const int32_t *start, const ta_s8_cell *panel, int32_t apart,
                                int32_t depth, const int8_t *lines, int32_t size)
{
    TA_S8_IN_ORDER_AMX;
    _tile_loadd(0, start, 0);
    if (both) {
        _tile_loadd(1, start + 16, 0);
    }
    int32_t k = 0;
    for (; k + 64 <= depth; k += 64, lines += TA_S8_LINES) {
        _tile_loadd(2, panel + k, apart);
        _tile_loadd(3, lines, 64);
        _tile_dpbssd(0, 2, 3);
        if (both) {
            _tile_loadd(4, lines + size, 64);
            _tile_dpbssd(1, 2, 4);
        }
    }
    if (k < depth) {
        _tile_loadd(5, panel + k, apart);
        _tile_loadd(6, lines, 64);
        _tile_dpbssd(0, 5, 6);
        if (both) {
            _tile_loadd(7, lines + size, 64);
            _tile_dpbssd(1, 5, 7);
        }
    }
    _tile_stored(0, sums, 4 * TA_S8_SUMMED);
    if (both) {
        _tile_stored(1, sums + 16, 4 * TA_S8_SUMMED);
    }
    TA_S8_IN_ORDER_AMX;
}
#endif

#endif
