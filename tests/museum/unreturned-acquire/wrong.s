	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	buffer_inv sc1
	.loc	1 2 1
	global_atomic_add v0, v1, s[2:3]
	buffer_inv sc1
	.loc	1 4 1
	global_store_dword v0, v2, s[0:1] sc1
	s_endpgm
.Lfunc_end0:
