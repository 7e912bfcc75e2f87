// RUN: not fence-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not fence-opt %s -p "cse{fast=true}" 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not fence-opt %s -p "cse{" 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not fence-opt %s --mcpu gfx941 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not fence-opt %s --mcpu gfx942 --mattr=+wavefrontsize64 2>&1 | filecheck %s --check-prefix=FEATURE
// RUN: not fence-opt %s --mattr=-tgsplit 2>&1 | filecheck %s --check-prefix=NOCHIP
// RUN: not fence-opt %s -p cse --l2-per-agent one 2>&1 | filecheck %s --check-prefix=UNUSED
// RUN: not fence-opt %s -p cse -O0 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not fence-opt %s --mcpu gfx942 -O1 2>&1 | filecheck %s --check-prefix=NOLEVEL
// RUN: not fence-opt %s -p "cdna-pipeline{mcpu=gfx942 opt-level=3}" 2>&1 | filecheck %s --check-prefix=PASSLEVEL
// RUN: not fence-opt %s -t nothing 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not fence-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not fence-opt %S 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not fence-opt %s -o %t.missing/x.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT

// PASS: fence-opt: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// OPTION: fence-opt: error: pass 'cse': Provided arguments ["fast"] not found in expected arguments []
// SYNTAX: fence-opt: error: {{.*}} (error parsing pass pipeline specification)
// CHIP: fence-opt: error: target gfx941: unknown target; accepted: {{.*}}gfx942
// FEATURE: fence-opt: error: unknown feature '+wavefrontsize64' in --mattr; known: tgsplit
// NOCHIP: fence-opt: error: --mattr has no effect: it needs --mcpu or -p
// UNUSED: fence-opt: error: --l2-per-agent has no effect: nothing in 'cse' takes it
// LEVEL: fence-opt: error: -O has no effect: nothing in 'cse' takes it
// NOLEVEL: fence-opt: error: argument -O: invalid choice: 1 (choose from 0, 2)
// PASSLEVEL: fence-opt: error: pass 'cdna-pipeline': Incompatible types: given (3,), expected typing.Literal[0, 2]
// TARGET: fence-opt: error: argument -t/--target: invalid choice: 'nothing'
// MISSING: options.mlir.missing: error: No such file or directory
// FOLDER: fence-opt: error: a folder, where a file is expected
// OUTPUT: .missing/x.mlir: error: there is no folder '{{.*}}.missing' to write it in
