; What is carried as text: everything of LLVM IR that is no access of memory.
source_filename = "opaque.ll"
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

module asm "; module assembly with %percent and {0}"

%pair = type { i32, float }
%"quoted name" = type { %pair, ptr addrspace(1) }
%0 = type { i8, %pair }
%sealed = type opaque

$shared = comdat any

@number = addrspace(1) global i32 7, align 4
@table = addrspace(4) constant [3 x %pair] [%pair { i32 1, float 1.0 }, %pair { i32 2, float 0x7FF8000000000000 }, %pair zeroinitializer]
@text = private unnamed_addr addrspace(4) constant [12 x i8] c"%x = {0}\0A\22\00\00"
@"quoted global" = external addrspace(3) global [0 x i32], align 16
@blocks = addrspace(4) constant [2 x ptr] [ptr blockaddress(@jumps, %left), ptr blockaddress(@jumps, %right)]
@other_name = alias i32, ptr addrspace(1) @number
@chosen = ifunc i32 (i32), ptr @choose
@llvm.used = appending global [1 x ptr] [ptr @jumps], section "llvm.metadata"

declare i32 @llvm.amdgcn.workitem.id.x() #1
declare void @llvm.memcpy.p1.p4.i64(ptr addrspace(1), ptr addrspace(4), i64, i1 immarg)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare i32 @personality(...)
declare void @may_throw(ptr)
declare %pair @make_pair(i32 signext, ...) #0

define internal ptr @choose() {
  ret ptr @plain
}

define linkonce_odr i32 @plain(i32 noundef range(i32 0, 8) %0) unnamed_addr #0 comdat($shared) {
  %2 = add nuw nsw i32 %0, 1
  ret i32 %2
}

; A value and a type of one name, names in quotes, unnamed types and values.
define void @names(%pair %pair, ptr sret(%pair) %"with space", %0 %"%0", ptr byval(%"quoted name") %"{0}") {
"the entry":
  %"quoted name" = extractvalue %pair %pair, 0
  %1 = extractvalue %0 %"%0", 1, 1
  %2 = getelementptr inbounds nuw %"quoted name", ptr %"{0}", i32 0, i32 0, i32 1
  store float %1, ptr %2
  %whole = load %pair, ptr %2
  store %pair %whole, ptr %"with space"
  br i1 poison, label %"the entry.exit", label %"a \22label\22"
"a \22label\22":
  br label %"the entry.exit"
"the entry.exit":
  %x_1 = phi i32 [ %"quoted name", %"the entry" ], [ -1, %"a \22label\22" ]
  %x = add i32 %x_1, 1
  ret void
}

define i32 @control(i32 %a, i64 %wide) #2 {
entry:
  switch i32 %a, label %default [
    i32 0, label %zero
    i32 -1, label %merge
    i32 7, label %merge
  ]
zero:
  switch i64 %wide, label %merge [
  ]
merge:
  %m = phi i32 [ %a, %entry ], [ %a, %entry ], [ 3, %zero ], [ %later, %back ]
  %c = icmp sgt i32 %m, 10
  br i1 %c, label %default, label %back
back:
  %later = mul i32 %m, %m
  br label %merge
default:
  %s = select i1 true, i32 %a, i32 ptrtoint (ptr addrspace(3) getelementptr ([0 x i32], ptr addrspace(3) @"quoted global", i32 0, i32 4) to i32)
  ret i32 %s
}

define i32 @jumps(i32 %i) {
entry:
  %where = getelementptr [2 x ptr], ptr addrspace(4) @blocks, i32 0, i32 %i
  %to = load ptr, ptr addrspace(4) %where
  indirectbr ptr %to, [label %left, label %right]
left:
  %same = icmp eq ptr %to, blockaddress(@jumps, %right)
  br label %right
right:
  ret i32 0
}

define void @assembly(i32 %v) {
entry:
  call void asm sideeffect "; {0} {v} $0 %literal", "v,~{memory}"(i32 %v)
  %r = call { i32, i32 } asm "v_mov_b32 $0, $2\0A v_mov_b32 $1, {1}", "=v,=v,v"(i32 %v)
  %f = extractvalue { i32, i32 } %r, 0
  callbr void asm sideeffect "s_branch ${0:l}", "!i"()
          to label %next [label %away]
next:
  ret void
away:
  unreachable
}

define void @exceptions(ptr %p) personality ptr @personality {
entry:
  invoke void @may_throw(ptr %p)
          to label %fine unwind label %pad
fine:
  ret void
pad:
  %caught = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  resume { ptr, i32 } %caught
}

define <4 x float> @vectors(<4 x float> %a, <4 x float> %b, <2 x ptr addrspace(1)> %pointers, <vscale x 4 x i32> %scalable) {
  %mixed = shufflevector <4 x float> %a, <4 x float> %b, <4 x i32> <i32 0, i32 5, i32 poison, i32 7>
  %one = extractelement <4 x float> %mixed, i32 2
  %filled = insertelement <4 x float> splat (float 1.0), float %one, i64 0
  %fma = call contract <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %filled, <4 x float> <float 0.0, float -0.0, float 0x3FB99999A0000000, float 1.0e+10>)
  %gathered = getelementptr i32, <2 x ptr addrspace(1)> %pointers, <2 x i64> <i64 1, i64 2>
  %half = fptrunc <4 x float> %fma to <4 x half>
  %wide = fpext <4 x half> %half to <4 x float>
  %frozen = freeze <4 x float> %wide
  ret <4 x float> %frozen
}

define amdgpu_kernel void @calls(ptr addrspace(1) nocapture writeonly align 16 dereferenceable(64) %out, ptr addrspace(4) byref([16 x i8]) %in) #1 !reqd_work_group_size !0 {
  %t = call range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x(), !range !1
  %p = call %pair (i32, ...) @make_pair(i32 signext %t, i32 3, ptr @text.user) #0
  tail call void @llvm.memcpy.p1.p4.i64(ptr addrspace(1) align 16 %out, ptr addrspace(4) align 4 %in, i64 16, i1 false)
  %stack = alloca [4 x i32], align 4, addrspace(5)
  %arg = va_arg ptr null, i32
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %stack)
  ret void
}

define void @text.user() { ret void }
declare void @llvm.lifetime.start.p5(ptr addrspace(5))

attributes #0 = { nounwind "a"="%0 {0}" }
attributes #1 = { convergent nounwind "target-cpu"="gfx942" "uniform-work-group-size"="true" }
attributes #2 = { noinline optnone }

!named = !{!0, !2}
!0 = !{i32 64, i32 1, i32 1}
!1 = !{i32 0, i32 1024}
!2 = distinct !{!2, !"a loop", ptr addrspace(1) @number}
