	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	ds_write_b32 v0, v1
	.loc	1 2 1
	s_waitcnt lgkmcnt(0)
	.loc	1 3 1
	ds_read_b32 v2, v3
	s_endpgm
.Lfunc_end0:
