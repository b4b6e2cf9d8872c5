"""The file `new-soc` writes."""

_TEMPLATE = """\
# {name}: what is soldered, and how a product uses it. `target-arch check` reports every mistake in here;
# `target-arch show` prints what it describes.
schema = 1
name = "{name}"

# --- memories: as many as there are -----------------------------------------------------------------------

[memory.flash]                          # constants live here
base = 0x0800_0000                      # the host's address; without one only copies reach a memory
size = "1 MiB"
read_bandwidth = "200 MB/s"             # bandwidths and latency steer placement, they do not have to be exact
latency = "50 ns"
writable = false

[memory.sram]                           # tensors live here
base = 0x2000_0000
size = "512 KiB"
read_bandwidth = "800 MB/s"
write_bandwidth = "800 MB/s"
latency = "10 ns"

# [memory.dsp_tcm]                      # a memory that only the DSP sees
# size = "128 KiB"
# observers = {{ dsp_cpu = 0x0 }}       # its address there
# read_bandwidth = "2.4 GB/s"
# write_bandwidth = "2.4 GB/s"

# --- copies: the engines, and the memories between which they copy ------------------------------------------

# [dma.dma0]
# channels = 2                          # copies in flight at once

# [[copy]]
# from = "sram"
# to = "dsp_tcm"
# engine = "dma0"                       # asynchronous; "cpu" is the host itself, synchronous
# bandwidth = "400 MB/s"
# setup = "1 us"
# alignment = 4
# ... and the way back, and one from flash for constants

# --- target_archs: what computes ---------------------------------------------------------------------------

[target_arch.host_cpu]
backend = "c"                           # `target-arch backends` lists what there is
host = true
device = {{ type = "kDLCPU", id = 0 }}
clock = "160 MHz"
memory = ["sram"]                       # where its tensors go, best first
load = "linked"

# [target_arch.dsp_cpu]
# backend = "c"
# device = {{ type = "kDLCPU", id = 1 }}
# clock = "200 MHz"
# memory = ["dsp_tcm"]
# operands = "inputs and outputs"       # both must be in its memory
# load = {{ process = "firmware", image = "dsp.elf" }}

# --- how a product uses it ---------------------------------------------------------------------------------

[memory_mode.default]                   # for each purpose the memories in order of preference
workspace = ["sram"]
constants = ["flash"]
io = ["sram"]

[partitioning]
order = ["host_cpu"]                    # the order in which target_archs claim operators of equal cost

[lowering]
order = "c-first"
"""


def soc_template(name: str) -> str:
    """A commented SoC file that passes `check`: a host with flash and SRAM, and how to add a DSP."""
    return _TEMPLATE.format(name=name)
