// Which kernels these are, the PTX file says that the tests are run on.

litmus.kernel @producer
litmus.kernel @consumer

litmus.test @mp {
  litmus.location @data = 0 : i32
  litmus.location @flag = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @producer(@data, @flag)
  litmus.thread @P1 at <workgroup = 1> runs @consumer(@data, @flag, "r0")
  litmus.condition "forall (P1:r0 = 1)"
}
