// RUN: fence-opt %s -p cdna-pipeline{mcpu=gfx942} -t asm | filecheck %s
// RUN: fence-opt %s -p cdna-pipeline{mcpu=gfx90a} -t asm | filecheck %s --check-prefix=GFX90A
// RUN: fence-opt %s -p cdna-pipeline{mcpu=gfx908} -t asm | filecheck %s --check-prefix=GFX908

// The file around the instructions: target, descriptor, and metadata.

llvm.mlir.global internal @lds() {addr_space = 3 : i32} : !llvm.array<16 x i32>

// CHECK: .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// CHECK-NEXT: .amdhsa_code_object_version 5
// CHECK: .globl kernel
// CHECK-NEXT: .p2align 8
// CHECK-NEXT: .type kernel,@function
// CHECK-LABEL: kernel:
func.func @kernel(%p: !llvm.ptr<1>, %n: i32, %b: i8, %l: !llvm.ptr<3>) {
  %c1 = arith.constant 1 : i32
  // gfx908 and gfx90a find private memory through a resource, gfx942 by itself.
  %a = llvm.alloca %c1 x i64 {alignment = 8 : i64} : (i32) -> !llvm.ptr<5>
  %y = "gpu.block_id"() <{dimension = #gpu<dim y>}> : () -> index
  %x = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  // GFX90A: s_add_u32 s0, s0, s8
  // GFX90A-NEXT: s_addc_u32 s1, s1, 0
  // GFX90A: s_load_dwordx2 s[{{.*}}], s[4:5], 0x0
  // CHECK: s_load_dwordx2 s[{{.*}}], s[0:1], 0x0
  // GFX90A: buffer_store_dword v{{.*}}, v{{.*}}, s[0:3], 0 offen
  // CHECK: scratch_store_dword v{{.*}}, v{{.*}}, off
  scoped.store weak %n, %a : i32, !llvm.ptr<5>
  %s = llvm.mlir.addressof @lds : !llvm.ptr<3>
  scoped.store weak %n, %s : i32, !llvm.ptr<3>
  %w = arith.index_cast %x : index to i64
  scoped.store weak %w, %p : i64, !llvm.ptr<1>
  // CHECK: s_endpgm
  // CHECK-NEXT: .Lkernel_end:
  // CHECK-NEXT: .size kernel, .Lkernel_end-kernel
  func.return
}
// CHECK: .amdhsa_kernel kernel
// CHECK-NEXT: .amdhsa_group_segment_fixed_size 64
// CHECK-NEXT: .amdhsa_private_segment_fixed_size 8
// CHECK-NEXT: .amdhsa_kernarg_size 20
// CHECK-NEXT: .amdhsa_user_sgpr_count 2
// CHECK-NEXT: .amdhsa_user_sgpr_kernarg_segment_ptr 1
// CHECK-NEXT: .amdhsa_enable_private_segment 1
// CHECK-NEXT: .amdhsa_system_sgpr_workgroup_id_x 1
// CHECK-NEXT: .amdhsa_system_sgpr_workgroup_id_y 1
// CHECK-NEXT: .amdhsa_system_sgpr_workgroup_id_z 0
// CHECK-NEXT: .amdhsa_system_vgpr_workitem_id 0
// CHECK-NEXT: .amdhsa_next_free_vgpr
// CHECK-NEXT: .amdhsa_next_free_sgpr
// CHECK-NEXT: .amdhsa_accum_offset
// CHECK-NEXT: .amdhsa_tg_split 0
// CHECK-NEXT: .end_amdhsa_kernel
// GFX90A: .amdhsa_user_sgpr_count 6
// GFX90A: .amdhsa_user_sgpr_private_segment_buffer 1
// GFX90A-NEXT: .amdhsa_system_sgpr_private_segment_wavefront_offset 1
// GFX908-NOT: accum_offset
// GFX908-NOT: tg_split
// CHECK: amdhsa.kernels:
// CHECK-NEXT: - .args:
// CHECK-NEXT: - .name: p
// CHECK-NEXT: .offset: 0
// CHECK-NEXT: .size: 8
// CHECK-NEXT: .value_kind: global_buffer
// CHECK-NEXT: .address_space: global
// CHECK-NEXT: - .name: n
// CHECK-NEXT: .offset: 8
// CHECK-NEXT: .size: 4
// CHECK-NEXT: .value_kind: by_value
// CHECK-NEXT: - .name: b
// CHECK-NEXT: .offset: 12
// CHECK-NEXT: .size: 1
// CHECK-NEXT: .value_kind: by_value
// CHECK-NEXT: - .name: l
// CHECK-NEXT: .offset: 16
// CHECK-NEXT: .size: 4
// CHECK-NEXT: .value_kind: dynamic_shared_pointer
// CHECK-NEXT: .address_space: local
// CHECK-NEXT: .pointee_align: 16
// CHECK-NEXT: .group_segment_fixed_size: 64
// CHECK: .symbol: kernel.kd
// CHECK: amdhsa.target: amdgcn-amd-amdhsa--gfx942
