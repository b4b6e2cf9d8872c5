"""Forms of 8-bit operators for Hexagon's vector extension HVX, as object code by the LLVM inside TVM."""
