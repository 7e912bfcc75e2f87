	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	global_atomic_add v0, v1, s[2:3]
	s_endpgm
.Lfunc_end0:
