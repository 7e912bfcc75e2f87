	.amdgcn_target "amdgcn-amd-amdhsa--gfx1030"
	.type	k,@function
k:
	.file	1 "/" "k.hip"
	.loc	1 1 1
	buffer_load_dword v0, s[8:11], 0 offen lds
	.loc	1 2 1
	s_waitcnt_vscnt null, 0x0
	.loc	1 3 1
	ds_read_b32 v2, v3
	s_endpgm
.Lfunc_end0:
