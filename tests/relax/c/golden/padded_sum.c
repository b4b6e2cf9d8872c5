/* f: x int32[4,6], out int32[4] */
void f_d64236c6(const int32_t *restrict x, int32_t *restrict out)
{
    for (int32_t y = 0; y < 4; ++y) {
        int32_t acc = 0;
        for (int32_t dy = 0; dy < 3; ++dy) {
            if (0 < y + dy && y + dy < 5) {
                for (int32_t dx = 0; dx < 6; ++dx) {
                    acc = acc + x[y * 6 + dy * 6 + dx - 6];
                }
            }
        }
        out[y] = acc * 2;
    }
}
