// Two threads of one work-group: the first writes @x, every other one @y.

litmus.kernel @either

litmus.test @either_one {
  litmus.location @x = 0 : i32
  litmus.location @y = 0 : i32
  litmus.thread @P0 at <workgroup = 0> runs @either(@x, @y)
  litmus.thread @P1 at <workgroup = 0> runs @either(@x, @y)
  litmus.condition "forall (y = 1)"
}
