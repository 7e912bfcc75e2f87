"""Repairs of findings in the languages of kernels, and reasons to ignore them.

The bodies of CUDA and HIP are those of ``__global__ void kernel(int *data, int *flag, int *out)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fencewright.checker.findings.finding import Rule


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel's body with a fault, and the same body repaired."""

    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The repair of a rule's findings. ``suppress``: when a finding is not a fault, as a sentence.

    ``cuda``, ``hip``: None where the language has no such fault, or no other one than assembly.
    """

    fix: str
    suppress: str
    cuda: Pair | None = None
    hip: Pair | None = None


_NEVER = "Never: the result of such code depends on the timing of the hardware."
_SURPLUS = "Where the code is kept in step with another version that needs it."
_NOT_READ = "Never: until this is repaired nothing is known about the code that it names."
_ASSEMBLY = "Where inline assembly elsewhere waits in a way that is not in this file."

_LOAD = 'asm volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(data));\n'
_WAIT = 'asm volatile("s_waitcnt vmcnt(0)" : "+v"(value));\n'

_CUDA_TILE = "__shared__ int tile[256];\ntile[threadIdx.x] = data[threadIdx.x];\n"
_CUDA_READ = "out[threadIdx.x] = tile[255 - threadIdx.x];\n"
_HIP_TILE = _CUDA_TILE
_SYNC = "__syncthreads();\n"

_DATA = "data[0] = 42;\n"
_ATOMIC = "cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);\n"
_FIRST = "if (blockIdx.x == 0 && threadIdx.x == 0) {\n"
_OTHER = "} else if (threadIdx.x == 0) {\n"
_CUDA_RAISE = "  ready.store(1, cuda::memory_order_{});\n"
_CUDA_POLL = "  while (ready.load(cuda::memory_order_{}) == 0) {{}}\n"
_HIP_RAISE = "  __hip_atomic_store(flag, 1, __ATOMIC_{}, __HIP_MEMORY_SCOPE_AGENT);\n"
_HIP_POLL = "  while (__hip_atomic_load(flag, __ATOMIC_{}, __HIP_MEMORY_SCOPE_AGENT) == 0) {{}}\n"
_TAKE = "  out[0] = data[0];\n}\n"


def _cuda_message(raised: str, polled: str) -> str:
    """Message passing between blocks with these orders of the flag's accesses."""
    sends = f"{_ATOMIC}{_FIRST}  {_DATA}{_CUDA_RAISE.format(raised)}"
    return f"{sends}{_OTHER}{_CUDA_POLL.format(polled)}{_TAKE}"


def _hip_message(raised: str, polled: str) -> str:
    """Message passing between work-groups with these orders of the flag's accesses."""
    sends = f"{_FIRST}  {_DATA}{_HIP_RAISE.format(raised)}"
    return f"{sends}{_OTHER}{_HIP_POLL.format(polled)}{_TAKE}"


_CUDA_RIGHT = _cuda_message("release", "acquire")
_HIP_RIGHT = _hip_message("RELEASE", "ACQUIRE")

_PTX = "namespace ptx = cuda::ptx;\n"
_BULK_STORE = (
    "if (threadIdx.x == 0) {\n"
    "  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);\n"
    "  ptx::cp_async_bulk_commit_group();\n"
    "  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());\n}\n"
)
_ALIGNED_TILE = "__shared__ alignas(128) int tile[256];\n"
_PROXY_FENCE = "ptx::fence_proxy_async(ptx::space_shared);\n"
_MBARRIER = (
    f"{_PTX}{_ALIGNED_TILE}__shared__ uint64_t bar;\n"
    "if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);\n"
)
_BULK_LOAD = (
    "if (threadIdx.x == 0) {{\n"
    "  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, data, sizeof tile, &bar);\n"
    "  ptx::mbarrier_arrive_expect_tx(\n"
    "      ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, {});\n"
    "}}\n"
)
_PHASE_WAIT = "while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}\n"
_CLUSTER = (
    "namespace cg = cooperative_groups;\nauto cluster = cg::this_cluster();\n"
    "__shared__ int slot;\nint *peer = cluster.map_shared_rank(&slot, cluster.block_rank() ^ 1);\n"
)

ADVICE: Mapping[Rule, Advice] = MappingProxyType(
    {
        Rule.RAW: Advice(
            "Wait for the load before the register is read: `s_waitcnt vmcnt(0)` for memory, "
            "`lgkmcnt(0)` for LDS and scalar loads. In HIP this happens in inline assembly alone.",
            _ASSEMBLY,
            hip=Pair(
                f"int value;\n{_LOAD}out[0] = value;\n",
                f"int value;\n{_LOAD}{_WAIT}out[0] = value;\n",
            ),
        ),
        Rule.WAW: Advice(
            "Wait for the load before the register is written again, or use another register.",
            _ASSEMBLY,
        ),
        Rule.ENTRY: Advice(
            "Begin the function with `s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)`.",
            "Where every caller is known to have nothing in flight.",
        ),
        Rule.RETURN: Advice(
            "Wait for the load before the return.",
            "Where every caller waits before it uses or overwrites the register.",
        ),
        Rule.TRANSLATION: Advice(
            "Put `s_wait_xcnt 0x0` before the register is overwritten, or use another register.",
            "Where pages cannot be missing, since the memory is pinned.",
        ),
        Rule.LDS_DMA: Advice(
            "Wait with `s_waitcnt vmcnt(N)` for the load to LDS before the read.",
            "Where the read is known to be of another buffer.",
        ),
        Rule.LDS_DMA_BARRIER: Advice(
            "Wait with `s_waitcnt vmcnt(N)` before the barrier, in each wave that issued a load.",
            "Where a later barrier comes before the buffer is read.",
        ),
        Rule.RELEASE: Advice(
            "Put the release back: on AMD the write-back that the scope needs and a wait, in PTX a "
            "fence of the scope or `.release` on the store.",
            "Where the comparison's note says that the documents leave the question open.",
            cuda=Pair(_cuda_message("relaxed", "acquire"), _CUDA_RIGHT),
            hip=Pair(_hip_message("RELAXED", "ACQUIRE"), _HIP_RIGHT),
        ),
        Rule.ACQUIRE: Advice(
            "Put the acquire back: on AMD an invalidate after the wait for the flag, in PTX a "
            "fence of the scope or `.acquire` on the load.",
            "Where the comparison's note says that the documents leave the question open.",
            cuda=Pair(_cuda_message("release", "relaxed"), _CUDA_RIGHT),
            hip=Pair(_hip_message("RELEASE", "RELAXED"), _HIP_RIGHT),
        ),
        Rule.CUMULATIVE_ACQUIRE: Advice(
            "Wait for the invalidate, `s_waitcnt vmcnt(0)`, before the store to the work-group.",
            "Where the other waves of the work-group read nothing that was acquired.",
        ),
        Rule.SEQ_CST: Advice(
            "Wait for the write before the read issues, or in PTX put `fence.sc` between them.",
            "Where nobody relies on one order of these accesses.",
            cuda=Pair(
                "cuda::atomic_ref<int, cuda::thread_scope_device> mine(*data), other(*flag);\n"
                "mine.store(1, cuda::memory_order_release);\n"
                "out[0] = other.load(cuda::memory_order_acquire);\n",
                "cuda::atomic_ref<int, cuda::thread_scope_device> mine(*data), other(*flag);\n"
                "mine.store(1, cuda::memory_order_seq_cst);\n"
                "out[0] = other.load(cuda::memory_order_seq_cst);\n",
            ),
            hip=Pair(
                "__hip_atomic_store(data, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);\n"
                "out[0] = __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);\n",
                "__hip_atomic_store(data, 1, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);\n"
                "out[0] = __hip_atomic_load(flag, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);\n",
            ),
        ),
        Rule.COHERENCE: Advice(
            "Give the access the cache bits of the source's scope; in PTX `.relaxed` and a scope.",
            _NEVER,
            cuda=Pair(
                "// Other blocks read it.\n"
                "cuda::atomic_ref<int, cuda::thread_scope_block> ready(*flag);\n"
                "ready.store(1, cuda::memory_order_relaxed);\n",
                f"{_ATOMIC}ready.store(1, cuda::memory_order_relaxed);\n",
            ),
            hip=Pair(
                "// Other work-groups read it.\n"
                "__hip_atomic_store(flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);\n",
                "__hip_atomic_store(flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);\n",
            ),
        ),
        Rule.LOST_BARRIER: Advice(
            "Find the pass that removed the barrier; the work-group needs it.",
            "Where the work-group is one wave, for which the compiler may drop `s_barrier`.",
        ),
        Rule.SCALAR_STALE: Advice(
            "Read the data by a vector load, or put `s_dcache_inv` after the acquire.",
            "Where nobody writes the data while the kernel runs.",
        ),
        Rule.WRITE_BACK_UNWAITED: Advice(
            "Put `s_waitcnt vmcnt(0)` between the write-back and the access that publishes.",
            "Where the access publishes nothing: its address is nobody's flag.",
        ),
        Rule.LDS_BARRIER: Advice(
            "Put `s_waitcnt lgkmcnt(0)` before `s_barrier`. In HIP, `__syncthreads()` does both; "
            "the builtin alone does not.",
            "Where the LDS that is read after the barrier is known to be other LDS.",
            hip=Pair(
                f"{_HIP_TILE}__builtin_amdgcn_s_barrier();\n{_CUDA_READ}",
                f"{_HIP_TILE}{_SYNC}{_CUDA_READ}",
            ),
        ),
        Rule.CUMULATIVE: Advice(
            "Let every wave wait for its own stores before the barrier: `s_waitcnt vmcnt(0)`, in "
            "HIP `__syncthreads()`.",
            "Where one wave alone has stored what is published.",
            hip=Pair(
                "data[threadIdx.x] = 42;\n__builtin_amdgcn_s_barrier();\n"
                f"if (threadIdx.x == 0) {{\n{_HIP_RAISE.format('RELEASE')}}}\n",
                f"data[threadIdx.x] = 42;\n{_SYNC}"
                f"if (threadIdx.x == 0) {{\n{_HIP_RAISE.format('RELEASE')}}}\n",
            ),
        ),
        Rule.SPIN: Advice(
            "Make the load atomic with the scope of the writer: `cuda::atomic_ref` or "
            "`__hip_atomic_load`; `volatile` is enough in CUDA for the poll, not for the data.",
            "Where the loop does not wait for another thread.",
            cuda=Pair(
                "while (*flag == 0) {}\nout[0] = data[0];\n",
                f"{_ATOMIC}while (ready.load(cuda::memory_order_acquire) == 0) {{}}\n"
                "out[0] = data[0];\n",
            ),
            hip=Pair(
                "while (*flag == 0) {}\nout[0] = data[0];\n",
                f"{_HIP_POLL.format('ACQUIRE').strip()}\nout[0] = data[0];\n",
            ),
        ),
        Rule.UNORDERED_WAIT: Advice(
            "Acquire at the scope of the writer: `cuda::memory_order_acquire` on the poll, or "
            "`__threadfence()` after the loop; in HIP `__ATOMIC_ACQUIRE`.",
            "Where what follows does not depend on what the writer did before the flag.",
            cuda=Pair(_cuda_message("release", "relaxed"), _CUDA_RIGHT),
            hip=Pair(_hip_message("RELEASE", "RELAXED"), _HIP_RIGHT),
        ),
        Rule.UNORDERED_SIGNAL: Advice(
            "Release at the scope of the reader: `cuda::memory_order_release` on the store, or "
            "`__threadfence()` before it; in HIP `__ATOMIC_RELEASE`.",
            "Where the flag's value is all that the reader uses.",
            cuda=Pair(_cuda_message("relaxed", "acquire"), _CUDA_RIGHT),
            hip=Pair(_hip_message("RELAXED", "ACQUIRE"), _HIP_RIGHT),
        ),
        Rule.MISSING_BARRIER: Advice(
            "Put `__syncthreads()` between the two accesses, on every path of every thread; "
            "`__syncwarp()` where both threads are of one warp. An update by many threads has to "
            "be one atomic, and the read that decides on it atomic too.",
            "Where the launch makes the addresses distinct: give it with `--grid` and `--block`.",
            cuda=Pair(f"{_CUDA_TILE}{_CUDA_READ}", f"{_CUDA_TILE}{_SYNC}{_CUDA_READ}"),
            hip=Pair(f"{_HIP_TILE}{_CUDA_READ}", f"{_HIP_TILE}{_SYNC}{_CUDA_READ}"),
        ),
        Rule.PROXY_FENCE: Advice(
            "Let each writer execute `fence.proxy.async` after its writes and before the barrier: "
            "`cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)`.",
            "Where the copy is known to be of other bytes.",
            cuda=Pair(
                f"{_PTX}{_ALIGNED_TILE}tile[threadIdx.x] = data[threadIdx.x];\n"
                f"{_SYNC}{_BULK_STORE}",
                f"{_PTX}{_ALIGNED_TILE}tile[threadIdx.x] = data[threadIdx.x];\n"
                f"{_PROXY_FENCE}{_SYNC}{_BULK_STORE}",
            ),
        ),
        Rule.PROXY_ACQUIRE: Advice(
            "Put `fence.proxy.async.global` after the acquire and before the copy.",
            "Where what the copy reads was not written by threads of this kernel.",
            cuda=Pair(
                f"{_ATOMIC}{_MBARRIER}{_SYNC}"
                "while (ready.load(cuda::memory_order_acquire) == 0) {}\n"
                f"{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}out[0] = tile[0];\n",
                f"{_ATOMIC}{_MBARRIER}{_SYNC}"
                "while (ready.load(cuda::memory_order_acquire) == 0) {}\n"
                "ptx::fence_proxy_async(ptx::space_global);\n"
                f"{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}out[0] = tile[0];\n",
            ),
        ),
        Rule.PROXY_READS: Advice(
            "Put `fence.proxy.async` after the reads and before the barrier or arrival that frees "
            "the buffer.",
            "Where the barrier alone is held to be enough: most libraries do so, and no failure "
            "was ever seen.",
        ),
        Rule.TENSORMAP_FENCE: Advice(
            "Put `fence.proxy.tensormap::generic.acquire` of the map before the copy, with a "
            "release after the change.",
            "Where the map that is changed is not the one that the copy uses.",
        ),
        Rule.READ_ONLY: Advice(
            "Read by an ordinary load: no `__ldg`, and no `const __restrict__` on a pointer whose "
            "data change while the kernel runs.",
            "Where the data are written by nobody during this kernel.",
            cuda=Pair(
                f"{_DATA}__syncthreads();\nout[0] = __ldg(data);\n",
                f"{_DATA}__syncthreads();\nout[0] = data[0];\n",
            ),
        ),
        Rule.ASYNC_UNWAITED: Advice(
            "Wait for the copy before its data are used: `__pipeline_wait_prior(0)` for cp.async, "
            "then `__syncthreads()` for the other threads; the mbarrier's phase for bulk copies.",
            "Where the copy is known to be of other bytes.",
            cuda=Pair(
                "__shared__ int tile[256];\n"
                "__pipeline_memcpy_async(&tile[threadIdx.x], &data[threadIdx.x], 4);\n"
                "__pipeline_commit();\nout[threadIdx.x] = tile[threadIdx.x];\n",
                "__shared__ int tile[256];\n"
                "__pipeline_memcpy_async(&tile[threadIdx.x], &data[threadIdx.x], 4);\n"
                "__pipeline_commit();\n__pipeline_wait_prior(0);\n"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
            ),
        ),
        Rule.WGMMA_FENCE: Advice(
            "Put `wgmma.fence.sync.aligned` before the first product of a group.", _NEVER
        ),
        Rule.GRID_DEPENDENCY: Advice(
            "Call `cudaGridDependencySynchronize()` before the read, on every path.",
            "Where the grid before this one does not write what is read.",
            cuda=Pair(
                "int first = data[0];\ncudaGridDependencySynchronize();\n"
                "out[0] = first + data[1];\n",
                "cudaGridDependencySynchronize();\nint first = data[0];\n"
                "out[0] = first + data[1];\n",
            ),
        ),
        Rule.MBARRIER_SCOPE: Advice(
            "Arrive at another block's mbarrier with `.release.cluster`, and wait for such "
            "arrivals with `.acquire.cluster`.",
            "Where the arrival publishes nothing but itself.",
        ),
        Rule.MBARRIER_INIT: Advice(
            "Put `__syncthreads()` after the initialisation; for a cluster "
            "`cuda::ptx::fence_mbarrier_init` and `cluster.sync()`.",
            _NEVER,
            cuda=Pair(
                f"{_MBARRIER}{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
                f"{_MBARRIER}{_SYNC}{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
            ),
        ),
        Rule.MBARRIER_PHASE: Advice(
            "Flip the parity that is waited for after each round: `parity ^= 1`.",
            "Where the mbarrier is initialised anew in each round.",
        ),
        Rule.MBARRIER_WAIT: Advice(
            "Loop until the wait returns true: `while (!try_wait(...)) {}`.",
            "Where the answer is tested by code that is not in this file.",
            cuda=Pair(
                f"{_MBARRIER}{_SYNC}{_BULK_LOAD.format('sizeof tile')}"
                "ptx::mbarrier_try_wait_parity(&bar, 0);\nout[threadIdx.x] = tile[threadIdx.x];\n",
                f"{_MBARRIER}{_SYNC}{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
            ),
        ),
        Rule.MBARRIER_BYTES: Advice(
            "Expect on the mbarrier the bytes of all copies of a phase.",
            "Where copies of other blocks complete on the same mbarrier.",
            cuda=Pair(
                f"{_MBARRIER}{_SYNC}{_BULK_LOAD.format('64')}{_PHASE_WAIT}"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
                f"{_MBARRIER}{_SYNC}{_BULK_LOAD.format('sizeof tile')}{_PHASE_WAIT}"
                "out[threadIdx.x] = tile[threadIdx.x];\n",
            ),
        ),
        Rule.MBARRIER_ORDER: Advice(
            "Drop `.relaxed`: without an order an arrival releases and a wait acquires.",
            "Where the arrival only counts, and publishes no data.",
        ),
        Rule.CLUSTER_BARRIER: Advice(
            "Put `cluster.sync()` between the accesses: after the store that a peer reads, and "
            "before a block ends whose shared memory peers still access.",
            "Where another signal of cluster scope orders the accesses.",
            cuda=Pair(
                f"{_CLUSTER}slot = threadIdx.x;\ncluster.sync();\nout[0] = *peer;\n",
                f"{_CLUSTER}slot = threadIdx.x;\ncluster.sync();\nout[0] = *peer;\n"
                "cluster.sync();  // The peer's shared memory is there until both come here.\n",
            ),
        ),
        Rule.SURPLUS_BARRIER: Advice("Remove the barrier.", _SURPLUS),
        Rule.SURPLUS_WAIT: Advice("Remove the wait.", _SURPLUS),
        Rule.SURPLUS_WRITE_BACK: Advice("Remove the write-back and its wait.", _SURPLUS),
        Rule.SURPLUS_INVALIDATE: Advice("Remove the invalidate.", _SURPLUS),
        Rule.SURPLUS_PROXY_FENCE: Advice(
            "Remove the fence, or narrow it to the state space that the finding names.", _SURPLUS
        ),
        Rule.SURPLUS_FENCE: Advice("Remove one of the two fences.", _SURPLUS),
        Rule.SURPLUS_RELEASE: Advice("Write `.relaxed` in place of `.release`.", _SURPLUS),
        Rule.SURPLUS_ACQUIRE: Advice("Write `.relaxed` in place of `.acquire`.", _SURPLUS),
        Rule.UNKNOWN: Advice(
            "Correct the name; if the instruction is new, report it to the project.", _NOT_READ
        ),
        Rule.UNREACHED: Advice(
            "Jump to the code by a branch whose target is a label, or remove it.", _NOT_READ
        ),
        Rule.NOT_COMPARED: Advice(
            "Compile both files from one source with line numbers (`-g`, `-lineinfo`).", _NOT_READ
        ),
    }
)
"""In the order of the registry; every rule has one."""
