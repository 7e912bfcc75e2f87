// RUN: fence-opt %s --mcpu sm_90 -t asm | filecheck %s

// A gpu.func marked kernel is one; its gpu.module is no matter.

// CHECK:      .visible .entry marked(
// CHECK-NEXT:   .param .b64 marked_param_0
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b64 %rd<2>;
// CHECK-NEXT:   ld.param.b64 %rd1, [marked_param_0];
// CHECK-NEXT:   st.release.gpu.global.b32 [%rd1], 1;
// CHECK-NEXT:   ret;
"gpu.module"() ({
  "gpu.func"() ({
  ^bb0(%p: !llvm.ptr<1>):
    %one = arith.constant 1 : i32
    scoped.store release agent %one, %p : i32, !llvm.ptr<1>
    "gpu.return"() : () -> ()
  }) {sym_name = "marked", function_type = (!llvm.ptr<1>) -> (), kernel} : () -> ()
}) {sym_name = "module"} : () -> ()
