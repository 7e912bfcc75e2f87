// RUN: fence-sim run %s --test polled --mcpu sm_90 --without ld.acquire.gpu=ld.acquire.cta | filecheck %s --check-prefix=UNSEEN
// RUN: not fence-sim run %s --test polled --mcpu sm_90 | filecheck %s --check-prefix=SEEN
// RUN: fence-sim run %s --test lock_kept | filecheck %s --check-prefix=KEPT
// RUN: not fence-sim run %s --test not_said | filecheck %s --check-prefix=NOT-SAID

// A condition says that a test may hang on purpose; then it has to.

// UNSEEN:      Ok
// UNSEEN-NEXT: Condition forall (P1:r0 == 1) may hang
// UNSEEN:      May hang: P1 at {{.*}}may-hang.mlir:40 repeats [ld.acquire.cta r{{[0-9]+}}, f; {{.*}}] and reads f=0
// UNSEEN-NEXT:   P0's st.release.gpu f, 1 at {{.*}}may-hang.mlir:30 need never become visible to P1: scope cta of P1 does not include P0

// SEEN:      Does not hold: every execution ends
// SEEN:      Ends always

// KEPT:      Ok
// KEPT-NEXT: Condition forall (true) may hang
// KEPT:      Never ends: P0 at {{.*}}may-hang.mlir:56 repeats [{{.*}}] and reads f=1
// KEPT-NEXT:   nobody writes f from then on

// NOT-SAID:      May hang: an execution never ends
// NOT-SAID-NEXT: Condition forall (true)
// NOT-SAID:      May hang: P1 at {{.*}}

litmus.test @polled {
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 runs @poll(@f, "r0")
  litmus.condition "forall (P1:r0 = 1) may hang"
}

func.func @poll(%f: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {
  %zero = arith.constant 0 : i32
  cf.br ^again
^again:
  %seen = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
  %waits = arith.cmpi eq, %seen, %zero : i32
  cf.cond_br %waits, ^again, ^done
^done:
  scoped.store weak %seen, %out : i32, !llvm.ptr<1>
  func.return
}

litmus.test @lock_kept {
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    cf.br ^again
  ^again:
    %old, %won = scoped.cmpxchg acquire relaxed agent %f, %zero, %one : !llvm.ptr<1>, i32
    cf.cond_br %won, ^done, ^again
  ^done:
    litmus.end
  }
  litmus.thread @P1 {
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    cf.br ^again
  ^again:
    %old, %won = scoped.cmpxchg acquire relaxed agent %f, %zero, %one : !llvm.ptr<1>, i32
    cf.cond_br %won, ^done, ^again
  ^done:
    litmus.end
  }
  litmus.condition "forall (true) may hang"
}

litmus.test @not_said {
  litmus.location @f = 0 : i32
  litmus.thread @P0 {
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scoped.store release agent %one, %f : i32, !llvm.ptr<1>
    scoped.store release agent %zero, %f : i32, !llvm.ptr<1>
  }
  litmus.thread @P1 {
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    cf.br ^again
  ^again:
    %seen = scoped.load acquire agent %f : !llvm.ptr<1> -> i32
    %waits = arith.cmpi eq, %seen, %zero : i32
    cf.cond_br %waits, ^again, ^done
  ^done:
    litmus.end
  }
  litmus.condition "forall (true)"
}
