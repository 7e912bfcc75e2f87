; RUN: fence-check --explain lds-barrier | filecheck %s
; RUN: fence-check --explain all | filecheck %s --check-prefix=ALL
; RUN: fence-check --list-rules | filecheck %s --check-prefix=LIST
; RUN: not fence-check --explain lds-barier 2>&1 | filecheck %s --check-prefix=UNKNOWN

; CHECK:      # lds-barrier
; CHECK:      *warning, note; AMD*
; CHECK:      A write to LDS is in flight at a barrier.
; CHECK:      Wrong on gfx942:
; CHECK:      ds_write_b32 v0, v1
; CHECK-NEXT: s_barrier
; CHECK:      Right:
; CHECK:      ds_write_b32 v0, v1
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK:      Source: MI300 ISA 4.3, s_barrier

; ALL: # hazard-raw
; ALL: # proxy-fence
; ALL: # not-compared

; LIST: hazard-raw: error; AMD: A register is used while a load that writes it is in flight
; LIST: release: error, note; AMD, PTX: An access may not be done when its signal issues
; LIST: proxy-fence: error, warning, note; PTX: A proxy fence is missing

; UNKNOWN: fence-check: error: 'lds-barier' is no rule: fence-check --list-rules lists them
