	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.type	k,@function
k:
	s_load_dword s4, s[0:1], 0x0
	s_load_dword s5, s[0:1], 0x4
	s_waitcnt lgkmcnt(1)
	s_mov_b32 s6, s4
	s_endpgm
