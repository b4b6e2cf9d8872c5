/* The tile of `s8_pairs.h`, which includes this file, for AMX: sums of 8 rows and 16 outputs in one register.
 *
 * TDPBSSD adds 64 products to each of these sums: a register has 64 cells of each row, another four k of 16 outputs in
 * each of 16 lines. Weights are brought to such lines once for all rows of a call, behind the panel, where the cells
 * of 16 bits would be: drivers ask for it before the first row, and say after the last that the registers are
 * no longer used. Lines beyond the depth are 0, so that cells beyond it, whatever they are, add nothing.
 */
#ifndef TA_KERNELS_S8_PAIRS_AMX_H
#define TA_KERNELS_S8_PAIRS_AMX_H

#ifdef TA_KERNELS_AMX
#define TA_S8_ARRANGES
#define TA_S8_LINES 1024 /* bytes of 64 k of 16 outputs */
#define TA_S8_ARRANGED 32 /* so many of these there are at most */
#define TA_S8_ENOUGH 16   /* pixels for which weights are arranged */
#define TA_S8_DEEP 32     /* products of a sum for which they are */
#define TA_S8_ABOUT (TA_S8_BEHIND + 32)

/* At ABOUT, behind the offsets of rows: the output that the first lines are of, and how many k they have, 0 where
 * weights are not arranged. */
typedef struct {
    int32_t begin, depth;
} ta_s8_arranged;

static inline ta_s8_arranged ta_s8_arranged_of(const ta_s8_cell *panel)
{
    ta_s8_arranged arranged;
    (void)memcpy(&arranged, panel + TA_S8_ABOUT, sizeof arranged);
    return arranged;
}

/* The first lines, where those of a cache begin. */
static inline int8_t *ta_s8_lines(ta_s8_cell *panel)
{
    int8_t *const behind = panel + TA_S8_BEHIND + 64;
    return behind + (int32_t)((64 - (uintptr_t)behind % 64) % 64);
}

/* How many times 64 k there are. */
static inline int32_t ta_s8_sixty_fours(int32_t depth)
{
    return (depth + 63) / 64;
}

/* Registers are read and written behind the back of compilers: what is in memory is as it was written there. */
#define TA_S8_IN_ORDER_AMX __asm__ volatile("" : : : "memory")

TA_AMX_PART void ta_s8_configure_amx(void)
{
    struct {
        uint8_t palette, start, zeros[14];
        uint16_t bytes[16]; /* of a row of each register */
        uint8_t rows[16];
    } shapes = {1, 0, {0}, {64, 64, 64}, {8, 8, 16}};
    TA_S8_IN_ORDER_AMX;
    _tile_loadconfig(&shapes);
    TA_S8_IN_ORDER_AMX;
}

/* Lines of 16 outputs. */
TA_AMX static inline void ta_s8_arrange_amx(int8_t *lines, const int8_t *w, const int8_t *v, int32_t depth)
{
    const __m512i flip = _mm512_set1_epi8(-128); /* the form for VNNI wants weights that are larger by 128 */
    const int32_t whole = 64 * ta_s8_sixty_fours(depth);
    int32_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        _mm512_storeu_si512(lines + 16 * k, _mm512_xor_si512(ta_s8_four_avx512(w + 8 * k, v + 8 * k), flip));
    }
    if (k < depth) {
        _mm512_storeu_si512(lines + 16 * k, _mm512_xor_si512(ta_s8_two_avx512(w + 8 * k, v + 8 * k), flip));
        k += 4;
    }
    for (; k < whole; k += 4) {
        _mm512_storeu_si512(lines + 16 * k, _mm512_setzero_si512());
    }
}

/* 8 rows, of which those beyond the last are whatever the panel has. */
TA_AMX static inline void ta_s8_tile_amx(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *panel,
                                         int32_t depth, const int8_t *lines)
{
    TA_S8_IN_ORDER_AMX;
    _tile_loadd(0, start, 4 * step);
    for (int32_t k = 0; k < depth; k += 64, lines += TA_S8_LINES) {
        _tile_loadd(1, panel + k, TA_S8_PANEL);
        _tile_loadd(2, lines, 64);
        _tile_dpbssd(0, 1, 2);
    }
    _tile_stored(0, sums, 4 * TA_S8_OUTPUTS);
    TA_S8_IN_ORDER_AMX;
}

/* Arranges outputs `begin` to `stop`, packed from `w` on. */
TA_AMX static inline void ta_s8_arrange_all_amx(ta_s8_cell *panel, const int8_t *w, int32_t depth, int32_t begin,
                                                int32_t stop)
{
    const int32_t apart = TA_S8_BLOCK * depth, size = TA_S8_LINES * ta_s8_sixty_fours(depth);
    int8_t *lines = ta_s8_lines(panel);
    for (int32_t n = begin; n < stop; n += 16, lines += size) {
        const int8_t *const own = w + n * depth;
        ta_s8_arrange_amx(lines, own, stop - n > 8 ? own + apart : own, depth);
    }
    ta_s8_configure_amx();
}

TA_AMX static inline void ta_s8_release_amx(void)
{
    _tile_release();
}

/* The outputs that may be arranged at once for so many pixels, 0 where none are. */
static inline int32_t ta_s8_most_arranged(int32_t depth, int32_t pixels)
{
    if (pixels < TA_S8_ENOUGH || depth < TA_S8_DEEP || depth > TA_S8_PANEL || !ta_has_amx()) {
        return 0;
    }
    return TA_S8_ARRANGED / ta_s8_sixty_fours(depth) * 16;
}

/* Arranges outputs `begin` to `stop` of so many pixels, if that is worth it and there is room. */
static inline void ta_s8_arrange(ta_s8_cell *panel, const int8_t *w, int32_t depth, int32_t begin, int32_t stop,
                                 int32_t pixels)
{
    ta_s8_arranged arranged = {begin, 0};
    if (stop - begin <= ta_s8_most_arranged(depth, pixels)) {
        arranged.depth = depth;
        ta_s8_arrange_all_amx(panel, w, depth, begin, stop);
    }
    (void)memcpy(panel + TA_S8_ABOUT, &arranged, sizeof arranged);
}

static inline int ta_s8_is_arranged(const ta_s8_cell *panel)
{
    return ta_s8_arranged_of(panel).depth > 0;
}

/* The tile, of 16 outputs from `n` on. */
static inline void ta_s8_tile_arranged(ta_s8_cell *panel, int32_t *sums, const int32_t *start, int32_t n)
{
    const ta_s8_arranged arranged = ta_s8_arranged_of(panel);
    const int32_t before = (n - arranged.begin) / 16 * ta_s8_sixty_fours(arranged.depth);
    ta_s8_tile_amx(sums, start, 0, panel, arranged.depth, ta_s8_lines(panel) + before * TA_S8_LINES);
}

static inline void ta_s8_leave_arranged(const ta_s8_cell *panel)
{
    if (ta_s8_is_arranged(panel)) {
        ta_s8_release_amx();
    }
}
#endif

#endif
