"""How the files of csrc/ are compiled: a change of these flags runs the trials of compiled methods anew."""

# -march=native: a library is only ever loaded on a CPU like the one it was built on, since the CPU is in its key.
# -fopenmp: without it at::parallel_for runs on one thread and says nothing.
FLAGS = ("-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-Wall", "-Wextra")
# Files whose name ends so are compiled for such CPUs on top of FLAGS: which of them runs is decided when they are
# called. Elsewhere than on x86 they are empty.
INSTRUCTION_SETS = {"_portable": "-march=x86-64", "_avx2": "-march=x86-64-v3", "_avx512": "-march=x86-64-v4"}
# Machine code for Hopper; other GPUs from Turing on compile the portable code when it is first loaded.
CUDA_FLAGS = (
    "-std=c++20",
    "-O3",
    "--compiler-options=-fPIC",
    "-gencode=arch=compute_90,code=sm_90",
    "-gencode=arch=compute_75,code=compute_75",
)
