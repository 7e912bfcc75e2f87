"""The names of all instructions but those of the vector ALU, by the instruction set that has them.

Source: the names that llvm-mc of LLVM 22 takes for gfx908, gfx90a, gfx942 and gfx950; gfx1010 and
gfx1030; gfx1100 and gfx1150; gfx1200, gfx1201 and gfx1250. ``tests/unit/test_assembler.py`` asks it
again.
"""

_OF_ALL = frozenset(
    """
    buffer_atomic_add buffer_atomic_add_x2 buffer_atomic_and buffer_atomic_and_x2
    buffer_atomic_cmpswap buffer_atomic_cmpswap_x2 buffer_atomic_dec buffer_atomic_dec_x2
    buffer_atomic_inc buffer_atomic_inc_x2 buffer_atomic_or buffer_atomic_or_x2
    buffer_atomic_smax buffer_atomic_smax_x2 buffer_atomic_smin buffer_atomic_smin_x2
    buffer_atomic_sub buffer_atomic_sub_x2 buffer_atomic_swap buffer_atomic_swap_x2
    buffer_atomic_umax buffer_atomic_umax_x2 buffer_atomic_umin buffer_atomic_umin_x2
    buffer_atomic_xor buffer_atomic_xor_x2 buffer_load_dword buffer_load_dwordx2
    buffer_load_dwordx3 buffer_load_dwordx4 buffer_load_format_d16_hi_x
    buffer_load_format_d16_x buffer_load_format_d16_xy buffer_load_format_d16_xyz
    buffer_load_format_d16_xyzw buffer_load_format_x buffer_load_format_xy
    buffer_load_format_xyz buffer_load_format_xyzw buffer_load_sbyte buffer_load_sbyte_d16
    buffer_load_sbyte_d16_hi buffer_load_short_d16 buffer_load_short_d16_hi
    buffer_load_sshort buffer_load_ubyte buffer_load_ubyte_d16 buffer_load_ubyte_d16_hi
    buffer_load_ushort buffer_store_byte buffer_store_byte_d16_hi buffer_store_dword
    buffer_store_dwordx2 buffer_store_dwordx3 buffer_store_dwordx4
    buffer_store_format_d16_hi_x buffer_store_format_d16_x buffer_store_format_d16_xy
    buffer_store_format_d16_xyz buffer_store_format_d16_xyzw buffer_store_format_x
    buffer_store_format_xy buffer_store_format_xyz buffer_store_format_xyzw
    buffer_store_short buffer_store_short_d16_hi ds_add_f32 ds_add_rtn_f32 ds_add_rtn_u32
    ds_add_rtn_u64 ds_add_u32 ds_add_u64 ds_and_b32 ds_and_b64 ds_and_rtn_b32 ds_and_rtn_b64
    ds_append ds_bpermute_b32 ds_condxchg32_rtn_b64 ds_consume ds_dec_rtn_u32 ds_dec_rtn_u64
    ds_dec_u32 ds_dec_u64 ds_inc_rtn_u32 ds_inc_rtn_u64 ds_inc_u32 ds_inc_u64 ds_max_f32
    ds_max_f64 ds_max_i32 ds_max_i64 ds_max_rtn_f32 ds_max_rtn_f64 ds_max_rtn_i32
    ds_max_rtn_i64 ds_max_rtn_u32 ds_max_rtn_u64 ds_max_u32 ds_max_u64 ds_min_f32 ds_min_f64
    ds_min_i32 ds_min_i64 ds_min_rtn_f32 ds_min_rtn_f64 ds_min_rtn_i32 ds_min_rtn_i64
    ds_min_rtn_u32 ds_min_rtn_u64 ds_min_u32 ds_min_u64 ds_mskor_b32 ds_mskor_b64
    ds_mskor_rtn_b32 ds_mskor_rtn_b64 ds_nop ds_or_b32 ds_or_b64 ds_or_rtn_b32 ds_or_rtn_b64
    ds_permute_b32 ds_read2_b32 ds_read2_b64 ds_read2st64_b32 ds_read2st64_b64
    ds_read_addtid_b32 ds_read_b128 ds_read_b32 ds_read_b64 ds_read_b96 ds_read_i16
    ds_read_i8 ds_read_i8_d16 ds_read_i8_d16_hi ds_read_u16 ds_read_u16_d16
    ds_read_u16_d16_hi ds_read_u8 ds_read_u8_d16 ds_read_u8_d16_hi ds_rsub_rtn_u32
    ds_rsub_rtn_u64 ds_rsub_u32 ds_rsub_u64 ds_sub_rtn_u32 ds_sub_rtn_u64 ds_sub_u32
    ds_sub_u64 ds_swizzle_b32 ds_write2_b32 ds_write2_b64 ds_write2st64_b32
    ds_write2st64_b64 ds_write_addtid_b32 ds_write_b128 ds_write_b16 ds_write_b16_d16_hi
    ds_write_b32 ds_write_b64 ds_write_b8 ds_write_b8_d16_hi ds_write_b96 ds_wrxchg2_rtn_b32
    ds_wrxchg2_rtn_b64 ds_wrxchg2st64_rtn_b32 ds_wrxchg2st64_rtn_b64 ds_wrxchg_rtn_b32
    ds_wrxchg_rtn_b64 ds_xor_b32 ds_xor_b64 ds_xor_rtn_b32 ds_xor_rtn_b64 exp
    flat_atomic_add flat_atomic_add_x2 flat_atomic_and flat_atomic_and_x2
    flat_atomic_cmpswap flat_atomic_cmpswap_x2 flat_atomic_dec flat_atomic_dec_x2
    flat_atomic_inc flat_atomic_inc_x2 flat_atomic_or flat_atomic_or_x2 flat_atomic_smax
    flat_atomic_smax_x2 flat_atomic_smin flat_atomic_smin_x2 flat_atomic_sub
    flat_atomic_sub_x2 flat_atomic_swap flat_atomic_swap_x2 flat_atomic_umax
    flat_atomic_umax_x2 flat_atomic_umin flat_atomic_umin_x2 flat_atomic_xor
    flat_atomic_xor_x2 flat_load_dword flat_load_dwordx2 flat_load_dwordx3 flat_load_dwordx4
    flat_load_sbyte flat_load_sbyte_d16 flat_load_sbyte_d16_hi flat_load_short_d16
    flat_load_short_d16_hi flat_load_sshort flat_load_ubyte flat_load_ubyte_d16
    flat_load_ubyte_d16_hi flat_load_ushort flat_store_byte flat_store_byte_d16_hi
    flat_store_dword flat_store_dwordx2 flat_store_dwordx3 flat_store_dwordx4
    flat_store_short flat_store_short_d16_hi global_atomic_add global_atomic_add_x2
    global_atomic_and global_atomic_and_x2 global_atomic_cmpswap global_atomic_cmpswap_x2
    global_atomic_dec global_atomic_dec_x2 global_atomic_inc global_atomic_inc_x2
    global_atomic_or global_atomic_or_x2 global_atomic_smax global_atomic_smax_x2
    global_atomic_smin global_atomic_smin_x2 global_atomic_sub global_atomic_sub_x2
    global_atomic_swap global_atomic_swap_x2 global_atomic_umax global_atomic_umax_x2
    global_atomic_umin global_atomic_umin_x2 global_atomic_xor global_atomic_xor_x2
    global_load_dword global_load_dwordx2 global_load_dwordx3 global_load_dwordx4
    global_load_sbyte global_load_sbyte_d16 global_load_sbyte_d16_hi global_load_short_d16
    global_load_short_d16_hi global_load_sshort global_load_ubyte global_load_ubyte_d16
    global_load_ubyte_d16_hi global_load_ushort global_store_byte global_store_byte_d16_hi
    global_store_dword global_store_dwordx2 global_store_dwordx3 global_store_dwordx4
    global_store_short global_store_short_d16_hi image_atomic_add image_atomic_and
    image_atomic_cmpswap image_atomic_dec image_atomic_inc image_atomic_or image_atomic_smax
    image_atomic_smin image_atomic_sub image_atomic_swap image_atomic_umax image_atomic_umin
    image_atomic_xor image_gather4 image_gather4_b image_gather4_b_cl image_gather4_c
    image_gather4_c_b image_gather4_c_b_cl image_gather4_c_cl image_gather4_c_l
    image_gather4_c_lz image_gather4_c_lz_o image_gather4_cl image_gather4_l
    image_gather4_lz image_gather4_lz_o image_gather4_o image_gather4h image_get_lod
    image_get_resinfo image_load image_load_mip image_load_mip_pck image_load_mip_pck_sgn
    image_load_pck image_load_pck_sgn image_sample image_sample_b image_sample_b_cl
    image_sample_b_cl_o image_sample_b_o image_sample_c image_sample_c_b image_sample_c_b_cl
    image_sample_c_b_cl_o image_sample_c_b_o image_sample_c_cl image_sample_c_cl_o
    image_sample_c_d image_sample_c_d_cl image_sample_c_d_cl_o image_sample_c_d_o
    image_sample_c_l image_sample_c_l_o image_sample_c_lz image_sample_c_lz_o
    image_sample_c_o image_sample_cl image_sample_cl_o image_sample_d image_sample_d_cl
    image_sample_d_cl_o image_sample_d_o image_sample_l image_sample_l_o image_sample_lz
    image_sample_lz_o image_sample_o image_store image_store_mip image_store_mip_pck
    image_store_pck s_abs_i32 s_absdiff_i32 s_add_i32 s_add_u32 s_addc_u32 s_addk_i32
    s_and_b32 s_and_b64 s_and_saveexec_b64 s_andn1_saveexec_b64 s_andn1_wrexec_b64
    s_andn2_b32 s_andn2_b64 s_andn2_saveexec_b64 s_andn2_wrexec_b64 s_ashr_i32 s_ashr_i64
    s_atc_probe s_atc_probe_buffer s_bcnt0_i32_b32 s_bcnt0_i32_b64 s_bcnt1_i32_b32
    s_bcnt1_i32_b64 s_bfe_i32 s_bfe_i64 s_bfe_u32 s_bfe_u64 s_bfm_b32 s_bfm_b64
    s_bitcmp0_b32 s_bitcmp0_b64 s_bitcmp1_b32 s_bitcmp1_b64 s_bitreplicate_b64_b32
    s_bitset0_b32 s_bitset0_b64 s_bitset1_b32 s_bitset1_b64 s_branch s_brev_b32 s_brev_b64
    s_buffer_load_dword s_buffer_load_dwordx16 s_buffer_load_dwordx2 s_buffer_load_dwordx4
    s_buffer_load_dwordx8 s_call_b64 s_cbranch_execnz s_cbranch_execz s_cbranch_scc0
    s_cbranch_scc1 s_cbranch_vccnz s_cbranch_vccz s_cmov_b32 s_cmov_b64 s_cmovk_i32
    s_cmp_eq_i32 s_cmp_eq_u32 s_cmp_eq_u64 s_cmp_ge_i32 s_cmp_ge_u32 s_cmp_gt_i32
    s_cmp_gt_u32 s_cmp_le_i32 s_cmp_le_u32 s_cmp_lg_i32 s_cmp_lg_u32 s_cmp_lg_u64
    s_cmp_lt_i32 s_cmp_lt_u32 s_cselect_b32 s_cselect_b64 s_dcache_inv s_decperflevel
    s_endpgm s_endpgm_saved s_ff1_i32_b32 s_ff1_i32_b64 s_flbit_i32 s_flbit_i32_b32
    s_flbit_i32_b64 s_flbit_i32_i64 s_getpc_b64 s_getreg_b32 s_icache_inv s_incperflevel
    s_load_dword s_load_dwordx16 s_load_dwordx2 s_load_dwordx4 s_load_dwordx8
    s_lshl1_add_u32 s_lshl2_add_u32 s_lshl3_add_u32 s_lshl4_add_u32 s_lshl_b32 s_lshl_b64
    s_lshr_b32 s_lshr_b64 s_max_i32 s_max_u32 s_min_i32 s_min_u32 s_mov_b32 s_mov_b64
    s_movk_i32 s_movreld_b32 s_movreld_b64 s_movrels_b32 s_movrels_b64 s_mul_hi_i32
    s_mul_hi_u32 s_mul_i32 s_mulk_i32 s_nand_b32 s_nand_b64 s_nand_saveexec_b64 s_nop
    s_nor_b32 s_nor_b64 s_nor_saveexec_b64 s_not_b32 s_not_b64 s_or_b32 s_or_b64
    s_or_saveexec_b64 s_orn1_saveexec_b64 s_orn2_b32 s_orn2_b64 s_orn2_saveexec_b64
    s_pack_hh_b32_b16 s_pack_lh_b32_b16 s_pack_ll_b32_b16 s_quadmask_b32 s_quadmask_b64
    s_rfe_b64 s_sendmsg s_sendmsghalt s_sethalt s_setkill s_setpc_b64 s_setprio s_setreg_b32
    s_setreg_imm32_b32 s_sext_i32_i16 s_sext_i32_i8 s_sleep s_sub_i32 s_sub_u32 s_subb_u32
    s_swappc_b64 s_trap s_ttracedata s_waitcnt s_wakeup s_wqm_b32 s_wqm_b64 s_xnor_b32
    s_xnor_b64 s_xnor_saveexec_b64 s_xor_b32 s_xor_b64 s_xor_saveexec_b64 scratch_load_dword
    scratch_load_dwordx2 scratch_load_dwordx3 scratch_load_dwordx4 scratch_load_sbyte
    scratch_load_sbyte_d16 scratch_load_sbyte_d16_hi scratch_load_short_d16
    scratch_load_short_d16_hi scratch_load_sshort scratch_load_ubyte scratch_load_ubyte_d16
    scratch_load_ubyte_d16_hi scratch_load_ushort scratch_store_byte
    scratch_store_byte_d16_hi scratch_store_dword scratch_store_dwordx2
    scratch_store_dwordx3 scratch_store_dwordx4 scratch_store_short
    scratch_store_short_d16_hi tbuffer_load_format_d16_x tbuffer_load_format_d16_xy
    tbuffer_load_format_d16_xyz tbuffer_load_format_d16_xyzw tbuffer_load_format_x
    tbuffer_load_format_xy tbuffer_load_format_xyz tbuffer_load_format_xyzw
    tbuffer_store_format_d16_x tbuffer_store_format_d16_xy tbuffer_store_format_d16_xyz
    tbuffer_store_format_d16_xyzw tbuffer_store_format_x tbuffer_store_format_xy
    tbuffer_store_format_xyz tbuffer_store_format_xyzw
    """.split()
)

NAMES_GFX9 = _OF_ALL | frozenset(
    """
    buffer_atomic_add_f32 buffer_atomic_add_f64 buffer_atomic_max_f64 buffer_atomic_min_f64
    buffer_atomic_pk_add_bf16 buffer_atomic_pk_add_f16 buffer_inv buffer_invl2
    buffer_store_lds_dword buffer_wbinvl1 buffer_wbinvl1_vol buffer_wbl2 ds_add_f64
    ds_add_rtn_f64 ds_add_src2_f32 ds_add_src2_u32 ds_add_src2_u64 ds_and_src2_b32
    ds_and_src2_b64 ds_cmpst_b32 ds_cmpst_b64 ds_cmpst_f32 ds_cmpst_f64 ds_cmpst_rtn_b32
    ds_cmpst_rtn_b64 ds_cmpst_rtn_f32 ds_cmpst_rtn_f64 ds_dec_src2_u32 ds_dec_src2_u64
    ds_gws_barrier ds_gws_init ds_gws_sema_br ds_gws_sema_p ds_gws_sema_release_all
    ds_gws_sema_v ds_inc_src2_u32 ds_inc_src2_u64 ds_max_src2_f32 ds_max_src2_f64
    ds_max_src2_i32 ds_max_src2_i64 ds_max_src2_u32 ds_max_src2_u64 ds_min_src2_f32
    ds_min_src2_f64 ds_min_src2_i32 ds_min_src2_i64 ds_min_src2_u32 ds_min_src2_u64
    ds_or_src2_b32 ds_or_src2_b64 ds_ordered_count ds_pk_add_bf16 ds_pk_add_f16
    ds_pk_add_rtn_bf16 ds_pk_add_rtn_f16 ds_read_b64_tr_b16 ds_read_b64_tr_b4
    ds_read_b64_tr_b8 ds_read_b96_tr_b6 ds_rsub_src2_u32 ds_rsub_src2_u64 ds_sub_src2_u32
    ds_sub_src2_u64 ds_wrap_rtn_b32 ds_write_src2_b32 ds_write_src2_b64 ds_xor_src2_b32
    ds_xor_src2_b64 flat_atomic_add_f32 flat_atomic_add_f64 flat_atomic_max_f64
    flat_atomic_min_f64 flat_atomic_pk_add_bf16 flat_atomic_pk_add_f16 global_atomic_add_f32
    global_atomic_add_f64 global_atomic_max_f64 global_atomic_min_f64
    global_atomic_pk_add_bf16 global_atomic_pk_add_f16 global_load_lds_dword
    global_load_lds_dwordx3 global_load_lds_dwordx4 global_load_lds_sbyte
    global_load_lds_sshort global_load_lds_ubyte global_load_lds_ushort image_gather4_b_cl_o
    image_gather4_b_o image_gather4_c_b_cl_o image_gather4_c_b_o image_gather4_c_cl_o
    image_gather4_c_l_o image_gather4_c_o image_gather4_cl_o image_gather4_l_o
    image_sample_c_cd image_sample_c_cd_cl image_sample_c_cd_cl_o image_sample_c_cd_o
    image_sample_cd image_sample_cd_cl image_sample_cd_cl_o image_sample_cd_o s_atomic_add
    s_atomic_add_x2 s_atomic_and s_atomic_and_x2 s_atomic_cmpswap s_atomic_cmpswap_x2
    s_atomic_dec s_atomic_dec_x2 s_atomic_inc s_atomic_inc_x2 s_atomic_or s_atomic_or_x2
    s_atomic_smax s_atomic_smax_x2 s_atomic_smin s_atomic_smin_x2 s_atomic_sub
    s_atomic_sub_x2 s_atomic_swap s_atomic_swap_x2 s_atomic_umax s_atomic_umax_x2
    s_atomic_umin s_atomic_umin_x2 s_atomic_xor s_atomic_xor_x2 s_barrier
    s_buffer_atomic_add s_buffer_atomic_add_x2 s_buffer_atomic_and s_buffer_atomic_and_x2
    s_buffer_atomic_cmpswap s_buffer_atomic_cmpswap_x2 s_buffer_atomic_dec
    s_buffer_atomic_dec_x2 s_buffer_atomic_inc s_buffer_atomic_inc_x2 s_buffer_atomic_or
    s_buffer_atomic_or_x2 s_buffer_atomic_smax s_buffer_atomic_smax_x2 s_buffer_atomic_smin
    s_buffer_atomic_smin_x2 s_buffer_atomic_sub s_buffer_atomic_sub_x2 s_buffer_atomic_swap
    s_buffer_atomic_swap_x2 s_buffer_atomic_umax s_buffer_atomic_umax_x2
    s_buffer_atomic_umin s_buffer_atomic_umin_x2 s_buffer_atomic_xor s_buffer_atomic_xor_x2
    s_buffer_store_dword s_buffer_store_dwordx2 s_buffer_store_dwordx4 s_cbranch_cdbgsys
    s_cbranch_cdbgsys_and_user s_cbranch_cdbgsys_or_user s_cbranch_cdbguser s_cbranch_g_fork
    s_cbranch_i_fork s_cbranch_join s_cmpk_eq_i32 s_cmpk_eq_u32 s_cmpk_ge_i32 s_cmpk_ge_u32
    s_cmpk_gt_i32 s_cmpk_gt_u32 s_cmpk_le_i32 s_cmpk_le_u32 s_cmpk_lg_i32 s_cmpk_lg_u32
    s_cmpk_lt_i32 s_cmpk_lt_u32 s_dcache_discard s_dcache_discard_x2 s_dcache_inv_vol
    s_dcache_wb s_dcache_wb_vol s_endpgm_ordered_ps_done s_ff0_i32_b32 s_ff0_i32_b64
    s_memrealtime s_memtime s_rfe_restore_b64 s_scratch_load_dword s_scratch_load_dwordx2
    s_scratch_load_dwordx4 s_scratch_store_dword s_scratch_store_dwordx2
    s_scratch_store_dwordx4 s_set_gpr_idx_idx s_set_gpr_idx_mode s_set_gpr_idx_off
    s_set_gpr_idx_on s_setvskip s_store_dword s_store_dwordx2 s_store_dwordx4
    scratch_load_lds_dword scratch_load_lds_sbyte scratch_load_lds_sshort
    scratch_load_lds_ubyte scratch_load_lds_ushort
    """.split()
)

NAMES_GFX10 = _OF_ALL | frozenset(
    """
    buffer_atomic_csub buffer_atomic_fcmpswap buffer_atomic_fcmpswap_x2 buffer_atomic_fmax
    buffer_atomic_fmax_x2 buffer_atomic_fmin buffer_atomic_fmin_x2 buffer_gl0_inv
    buffer_gl1_inv ds_add_src2_f32 ds_add_src2_u32 ds_add_src2_u64 ds_and_src2_b32
    ds_and_src2_b64 ds_cmpst_b32 ds_cmpst_b64 ds_cmpst_f32 ds_cmpst_f64 ds_cmpst_rtn_b32
    ds_cmpst_rtn_b64 ds_cmpst_rtn_f32 ds_cmpst_rtn_f64 ds_dec_src2_u32 ds_dec_src2_u64
    ds_gws_barrier ds_gws_init ds_gws_sema_br ds_gws_sema_p ds_gws_sema_release_all
    ds_gws_sema_v ds_inc_src2_u32 ds_inc_src2_u64 ds_max_src2_f32 ds_max_src2_f64
    ds_max_src2_i32 ds_max_src2_i64 ds_max_src2_u32 ds_max_src2_u64 ds_min_src2_f32
    ds_min_src2_f64 ds_min_src2_i32 ds_min_src2_i64 ds_min_src2_u32 ds_min_src2_u64
    ds_or_src2_b32 ds_or_src2_b64 ds_ordered_count ds_rsub_src2_u32 ds_rsub_src2_u64
    ds_sub_src2_u32 ds_sub_src2_u64 ds_wrap_rtn_b32 ds_write_src2_b32 ds_write_src2_b64
    ds_xor_src2_b32 ds_xor_src2_b64 flat_atomic_fcmpswap flat_atomic_fcmpswap_x2
    flat_atomic_fmax flat_atomic_fmax_x2 flat_atomic_fmin flat_atomic_fmin_x2
    global_atomic_csub global_atomic_fcmpswap global_atomic_fcmpswap_x2 global_atomic_fmax
    global_atomic_fmax_x2 global_atomic_fmin global_atomic_fmin_x2 global_load_dword_addtid
    global_store_dword_addtid image_atomic_fcmpswap image_atomic_fmax image_atomic_fmin
    image_bvh64_intersect_ray image_bvh_intersect_ray image_gather4_b_cl_o image_gather4_b_o
    image_gather4_c_b_cl_o image_gather4_c_b_o image_gather4_c_cl_o image_gather4_c_l_o
    image_gather4_c_o image_gather4_cl_o image_gather4_l_o image_msaa_load image_sample_c_cd
    image_sample_c_cd_cl image_sample_c_cd_cl_g16 image_sample_c_cd_cl_o
    image_sample_c_cd_cl_o_g16 image_sample_c_cd_g16 image_sample_c_cd_o
    image_sample_c_cd_o_g16 image_sample_c_d_cl_g16 image_sample_c_d_cl_o_g16
    image_sample_c_d_g16 image_sample_c_d_o_g16 image_sample_cd image_sample_cd_cl
    image_sample_cd_cl_g16 image_sample_cd_cl_o image_sample_cd_cl_o_g16 image_sample_cd_g16
    image_sample_cd_o image_sample_cd_o_g16 image_sample_d_cl_g16 image_sample_d_cl_o_g16
    image_sample_d_g16 image_sample_d_o_g16 s_and_saveexec_b32 s_andn1_saveexec_b32
    s_andn1_wrexec_b32 s_andn2_saveexec_b32 s_andn2_wrexec_b32 s_atomic_add s_atomic_add_x2
    s_atomic_and s_atomic_and_x2 s_atomic_cmpswap s_atomic_cmpswap_x2 s_atomic_dec
    s_atomic_dec_x2 s_atomic_inc s_atomic_inc_x2 s_atomic_or s_atomic_or_x2 s_atomic_smax
    s_atomic_smax_x2 s_atomic_smin s_atomic_smin_x2 s_atomic_sub s_atomic_sub_x2
    s_atomic_swap s_atomic_swap_x2 s_atomic_umax s_atomic_umax_x2 s_atomic_umin
    s_atomic_umin_x2 s_atomic_xor s_atomic_xor_x2 s_barrier s_buffer_atomic_add
    s_buffer_atomic_add_x2 s_buffer_atomic_and s_buffer_atomic_and_x2
    s_buffer_atomic_cmpswap s_buffer_atomic_cmpswap_x2 s_buffer_atomic_dec
    s_buffer_atomic_dec_x2 s_buffer_atomic_inc s_buffer_atomic_inc_x2 s_buffer_atomic_or
    s_buffer_atomic_or_x2 s_buffer_atomic_smax s_buffer_atomic_smax_x2 s_buffer_atomic_smin
    s_buffer_atomic_smin_x2 s_buffer_atomic_sub s_buffer_atomic_sub_x2 s_buffer_atomic_swap
    s_buffer_atomic_swap_x2 s_buffer_atomic_umax s_buffer_atomic_umax_x2
    s_buffer_atomic_umin s_buffer_atomic_umin_x2 s_buffer_atomic_xor s_buffer_atomic_xor_x2
    s_buffer_store_dword s_buffer_store_dwordx2 s_buffer_store_dwordx4 s_cbranch_cdbgsys
    s_cbranch_cdbgsys_and_user s_cbranch_cdbgsys_or_user s_cbranch_cdbguser s_clause
    s_cmpk_eq_i32 s_cmpk_eq_u32 s_cmpk_ge_i32 s_cmpk_ge_u32 s_cmpk_gt_i32 s_cmpk_gt_u32
    s_cmpk_le_i32 s_cmpk_le_u32 s_cmpk_lg_i32 s_cmpk_lg_u32 s_cmpk_lt_i32 s_cmpk_lt_u32
    s_code_end s_dcache_discard s_dcache_discard_x2 s_dcache_wb s_denorm_mode
    s_endpgm_ordered_ps_done s_ff0_i32_b32 s_ff0_i32_b64 s_get_waveid_in_workgroup s_gl1_inv
    s_inst_prefetch s_memrealtime s_memtime s_movrelsd_2_b32 s_nand_saveexec_b32
    s_nor_saveexec_b32 s_or_saveexec_b32 s_orn1_saveexec_b32 s_orn2_saveexec_b32
    s_round_mode s_scratch_load_dword s_scratch_load_dwordx2 s_scratch_load_dwordx4
    s_scratch_store_dword s_scratch_store_dwordx2 s_scratch_store_dwordx4 s_store_dword
    s_store_dwordx2 s_store_dwordx4 s_subvector_loop_begin s_subvector_loop_end
    s_ttracedata_imm s_version s_wait_idle s_waitcnt_depctr s_waitcnt_expcnt
    s_waitcnt_lgkmcnt s_waitcnt_vmcnt s_waitcnt_vscnt s_xnor_saveexec_b32 s_xor_saveexec_b32
    """.split()
)

NAMES_GFX11 = _OF_ALL | frozenset(
    """
    buffer_atomic_add_f32 buffer_atomic_add_u32 buffer_atomic_add_u64 buffer_atomic_and_b32
    buffer_atomic_and_b64 buffer_atomic_cmpswap_b32 buffer_atomic_cmpswap_b64
    buffer_atomic_cmpswap_f32 buffer_atomic_csub buffer_atomic_csub_u32
    buffer_atomic_dec_u32 buffer_atomic_dec_u64 buffer_atomic_fcmpswap buffer_atomic_fmax
    buffer_atomic_fmin buffer_atomic_inc_u32 buffer_atomic_inc_u64 buffer_atomic_max_f32
    buffer_atomic_max_i32 buffer_atomic_max_i64 buffer_atomic_max_u32 buffer_atomic_max_u64
    buffer_atomic_min_f32 buffer_atomic_min_i32 buffer_atomic_min_i64 buffer_atomic_min_u32
    buffer_atomic_min_u64 buffer_atomic_or_b32 buffer_atomic_or_b64 buffer_atomic_sub_u32
    buffer_atomic_sub_u64 buffer_atomic_swap_b32 buffer_atomic_swap_b64
    buffer_atomic_xor_b32 buffer_atomic_xor_b64 buffer_gl0_inv buffer_gl1_inv
    buffer_load_b128 buffer_load_b32 buffer_load_b64 buffer_load_b96 buffer_load_d16_b16
    buffer_load_d16_format_x buffer_load_d16_format_xy buffer_load_d16_format_xyz
    buffer_load_d16_format_xyzw buffer_load_d16_hi_b16 buffer_load_d16_hi_format_x
    buffer_load_d16_hi_i8 buffer_load_d16_hi_u8 buffer_load_d16_i8 buffer_load_d16_u8
    buffer_load_i16 buffer_load_i8 buffer_load_u16 buffer_load_u8 buffer_store_b128
    buffer_store_b16 buffer_store_b32 buffer_store_b64 buffer_store_b8 buffer_store_b96
    buffer_store_d16_format_x buffer_store_d16_format_xy buffer_store_d16_format_xyz
    buffer_store_d16_format_xyzw buffer_store_d16_hi_b16 buffer_store_d16_hi_b8
    buffer_store_d16_hi_format_x ds_add_gs_reg_rtn ds_bvh_stack_rtn_b32 ds_cmpstore_b32
    ds_cmpstore_b64 ds_cmpstore_f32 ds_cmpstore_f64 ds_cmpstore_rtn_b32 ds_cmpstore_rtn_b64
    ds_cmpstore_rtn_f32 ds_cmpstore_rtn_f64 ds_gws_barrier ds_gws_init ds_gws_sema_br
    ds_gws_sema_p ds_gws_sema_release_all ds_gws_sema_v ds_load_2addr_b32 ds_load_2addr_b64
    ds_load_2addr_stride64_b32 ds_load_2addr_stride64_b64 ds_load_addtid_b32 ds_load_b128
    ds_load_b32 ds_load_b64 ds_load_b96 ds_load_i16 ds_load_i8 ds_load_i8_d16
    ds_load_i8_d16_hi ds_load_u16 ds_load_u16_d16 ds_load_u16_d16_hi ds_load_u8
    ds_load_u8_d16 ds_load_u8_d16_hi ds_ordered_count ds_store_2addr_b32 ds_store_2addr_b64
    ds_store_2addr_stride64_b32 ds_store_2addr_stride64_b64 ds_store_addtid_b32
    ds_store_b128 ds_store_b16 ds_store_b16_d16_hi ds_store_b32 ds_store_b64 ds_store_b8
    ds_store_b8_d16_hi ds_store_b96 ds_storexchg_2addr_rtn_b32 ds_storexchg_2addr_rtn_b64
    ds_storexchg_2addr_stride64_rtn_b32 ds_storexchg_2addr_stride64_rtn_b64
    ds_storexchg_rtn_b32 ds_storexchg_rtn_b64 ds_sub_gs_reg_rtn ds_wrap_rtn_b32
    flat_atomic_add_f32 flat_atomic_add_u32 flat_atomic_add_u64 flat_atomic_and_b32
    flat_atomic_and_b64 flat_atomic_cmpswap_b32 flat_atomic_cmpswap_b64
    flat_atomic_cmpswap_f32 flat_atomic_dec_u32 flat_atomic_dec_u64 flat_atomic_fcmpswap
    flat_atomic_fmax flat_atomic_fmin flat_atomic_inc_u32 flat_atomic_inc_u64
    flat_atomic_max_f32 flat_atomic_max_i32 flat_atomic_max_i64 flat_atomic_max_u32
    flat_atomic_max_u64 flat_atomic_min_f32 flat_atomic_min_i32 flat_atomic_min_i64
    flat_atomic_min_u32 flat_atomic_min_u64 flat_atomic_or_b32 flat_atomic_or_b64
    flat_atomic_sub_u32 flat_atomic_sub_u64 flat_atomic_swap_b32 flat_atomic_swap_b64
    flat_atomic_xor_b32 flat_atomic_xor_b64 flat_load_b128 flat_load_b32 flat_load_b64
    flat_load_b96 flat_load_d16_b16 flat_load_d16_hi_b16 flat_load_d16_hi_i8
    flat_load_d16_hi_u8 flat_load_d16_i8 flat_load_d16_u8 flat_load_i16 flat_load_i8
    flat_load_u16 flat_load_u8 flat_store_b128 flat_store_b16 flat_store_b32 flat_store_b64
    flat_store_b8 flat_store_b96 flat_store_d16_hi_b16 flat_store_d16_hi_b8
    global_atomic_add_f32 global_atomic_add_u32 global_atomic_add_u64 global_atomic_and_b32
    global_atomic_and_b64 global_atomic_cmpswap_b32 global_atomic_cmpswap_b64
    global_atomic_cmpswap_f32 global_atomic_csub global_atomic_csub_u32
    global_atomic_dec_u32 global_atomic_dec_u64 global_atomic_fcmpswap global_atomic_fmax
    global_atomic_fmin global_atomic_inc_u32 global_atomic_inc_u64 global_atomic_max_f32
    global_atomic_max_i32 global_atomic_max_i64 global_atomic_max_u32 global_atomic_max_u64
    global_atomic_min_f32 global_atomic_min_i32 global_atomic_min_i64 global_atomic_min_u32
    global_atomic_min_u64 global_atomic_or_b32 global_atomic_or_b64 global_atomic_sub_u32
    global_atomic_sub_u64 global_atomic_swap_b32 global_atomic_swap_b64
    global_atomic_xor_b32 global_atomic_xor_b64 global_load_addtid_b32 global_load_b128
    global_load_b32 global_load_b64 global_load_b96 global_load_d16_b16
    global_load_d16_hi_b16 global_load_d16_hi_i8 global_load_d16_hi_u8 global_load_d16_i8
    global_load_d16_u8 global_load_dword_addtid global_load_i16 global_load_i8
    global_load_u16 global_load_u8 global_store_addtid_b32 global_store_b128
    global_store_b16 global_store_b32 global_store_b64 global_store_b8 global_store_b96
    global_store_d16_hi_b16 global_store_d16_hi_b8 global_store_dword_addtid
    image_bvh64_intersect_ray image_bvh_intersect_ray image_msaa_load
    image_sample_c_d_cl_g16 image_sample_c_d_cl_o_g16 image_sample_c_d_g16
    image_sample_c_d_o_g16 image_sample_d_cl_g16 image_sample_d_cl_o_g16 image_sample_d_g16
    image_sample_d_o_g16 lds_direct_load lds_param_load s_add_f16 s_add_f32
    s_and_not0_saveexec_b32 s_and_not0_saveexec_b64 s_and_not0_wrexec_b32
    s_and_not0_wrexec_b64 s_and_not1_b32 s_and_not1_b64 s_and_not1_saveexec_b32
    s_and_not1_saveexec_b64 s_and_not1_wrexec_b32 s_and_not1_wrexec_b64 s_and_saveexec_b32
    s_andn1_saveexec_b32 s_andn1_wrexec_b32 s_andn2_saveexec_b32 s_andn2_wrexec_b32
    s_barrier s_buffer_load_b128 s_buffer_load_b256 s_buffer_load_b32 s_buffer_load_b512
    s_buffer_load_b64 s_cbranch_cdbgsys s_cbranch_cdbgsys_and_user s_cbranch_cdbgsys_or_user
    s_cbranch_cdbguser s_ceil_f16 s_ceil_f32 s_clause s_cls_i32 s_cls_i32_i64 s_clz_i32_u32
    s_clz_i32_u64 s_cmp_eq_f16 s_cmp_eq_f32 s_cmp_ge_f16 s_cmp_ge_f32 s_cmp_gt_f16
    s_cmp_gt_f32 s_cmp_le_f16 s_cmp_le_f32 s_cmp_lg_f16 s_cmp_lg_f32 s_cmp_lt_f16
    s_cmp_lt_f32 s_cmp_neq_f16 s_cmp_neq_f32 s_cmp_nge_f16 s_cmp_nge_f32 s_cmp_ngt_f16
    s_cmp_ngt_f32 s_cmp_nle_f16 s_cmp_nle_f32 s_cmp_nlg_f16 s_cmp_nlg_f32 s_cmp_nlt_f16
    s_cmp_nlt_f32 s_cmp_o_f16 s_cmp_o_f32 s_cmp_u_f16 s_cmp_u_f32 s_cmpk_eq_i32
    s_cmpk_eq_u32 s_cmpk_ge_i32 s_cmpk_ge_u32 s_cmpk_gt_i32 s_cmpk_gt_u32 s_cmpk_le_i32
    s_cmpk_le_u32 s_cmpk_lg_i32 s_cmpk_lg_u32 s_cmpk_lt_i32 s_cmpk_lt_u32 s_code_end
    s_ctz_i32_b32 s_ctz_i32_b64 s_cvt_f16_f32 s_cvt_f32_f16 s_cvt_f32_i32 s_cvt_f32_u32
    s_cvt_hi_f32_f16 s_cvt_i32_f32 s_cvt_pk_rtz_f16_f32 s_cvt_u32_f32 s_delay_alu
    s_denorm_mode s_endpgm_ordered_ps_done s_floor_f16 s_floor_f32 s_fmaak_f32 s_fmac_f16
    s_fmac_f32 s_fmamk_f32 s_gl1_inv s_inst_prefetch s_load_b128 s_load_b256 s_load_b32
    s_load_b512 s_load_b64 s_max_f16 s_max_f32 s_min_f16 s_min_f32 s_movrelsd_2_b32
    s_mul_f16 s_mul_f32 s_nand_saveexec_b32 s_nor_saveexec_b32 s_or_not0_saveexec_b32
    s_or_not0_saveexec_b64 s_or_not1_b32 s_or_not1_b64 s_or_not1_saveexec_b32
    s_or_not1_saveexec_b64 s_or_saveexec_b32 s_orn1_saveexec_b32 s_orn2_saveexec_b32
    s_pack_hl_b32_b16 s_rndne_f16 s_rndne_f32 s_round_mode s_sendmsg_rtn_b32
    s_sendmsg_rtn_b64 s_set_inst_prefetch_distance s_sub_f16 s_sub_f32
    s_subvector_loop_begin s_subvector_loop_end s_trunc_f16 s_trunc_f32 s_ttracedata_imm
    s_version s_wait_event s_wait_idle s_waitcnt_depctr s_waitcnt_expcnt s_waitcnt_lgkmcnt
    s_waitcnt_vmcnt s_waitcnt_vscnt s_xnor_saveexec_b32 s_xor_saveexec_b32 scratch_load_b128
    scratch_load_b32 scratch_load_b64 scratch_load_b96 scratch_load_d16_b16
    scratch_load_d16_hi_b16 scratch_load_d16_hi_i8 scratch_load_d16_hi_u8
    scratch_load_d16_i8 scratch_load_d16_u8 scratch_load_i16 scratch_load_i8
    scratch_load_u16 scratch_load_u8 scratch_store_b128 scratch_store_b16 scratch_store_b32
    scratch_store_b64 scratch_store_b8 scratch_store_b96 scratch_store_d16_hi_b16
    scratch_store_d16_hi_b8 tbuffer_load_d16_format_x tbuffer_load_d16_format_xy
    tbuffer_load_d16_format_xyz tbuffer_load_d16_format_xyzw tbuffer_store_d16_format_x
    tbuffer_store_d16_format_xy tbuffer_store_d16_format_xyz tbuffer_store_d16_format_xyzw
    """.split()
)

NAMES_GFX12 = _OF_ALL | frozenset(
    """
    buffer_atomic_add_f32 buffer_atomic_add_f64 buffer_atomic_add_u32 buffer_atomic_add_u64
    buffer_atomic_and_b32 buffer_atomic_and_b64 buffer_atomic_cmpswap_b32
    buffer_atomic_cmpswap_b64 buffer_atomic_cond_sub_u32 buffer_atomic_csub
    buffer_atomic_csub_u32 buffer_atomic_dec_u32 buffer_atomic_dec_u64 buffer_atomic_fmax
    buffer_atomic_fmin buffer_atomic_inc_u32 buffer_atomic_inc_u64 buffer_atomic_max_f32
    buffer_atomic_max_f64 buffer_atomic_max_i32 buffer_atomic_max_i64
    buffer_atomic_max_num_f32 buffer_atomic_max_num_f64 buffer_atomic_max_u32
    buffer_atomic_max_u64 buffer_atomic_min_f32 buffer_atomic_min_f64 buffer_atomic_min_i32
    buffer_atomic_min_i64 buffer_atomic_min_num_f32 buffer_atomic_min_num_f64
    buffer_atomic_min_u32 buffer_atomic_min_u64 buffer_atomic_or_b32 buffer_atomic_or_b64
    buffer_atomic_pk_add_bf16 buffer_atomic_pk_add_f16 buffer_atomic_sub_clamp_u32
    buffer_atomic_sub_u32 buffer_atomic_sub_u64 buffer_atomic_swap_b32
    buffer_atomic_swap_b64 buffer_atomic_xor_b32 buffer_atomic_xor_b64 buffer_load_b128
    buffer_load_b32 buffer_load_b64 buffer_load_b96 buffer_load_d16_b16
    buffer_load_d16_format_x buffer_load_d16_format_xy buffer_load_d16_format_xyz
    buffer_load_d16_format_xyzw buffer_load_d16_hi_b16 buffer_load_d16_hi_format_x
    buffer_load_d16_hi_i8 buffer_load_d16_hi_u8 buffer_load_d16_i8 buffer_load_d16_u8
    buffer_load_i16 buffer_load_i8 buffer_load_u16 buffer_load_u8 buffer_store_b128
    buffer_store_b16 buffer_store_b32 buffer_store_b64 buffer_store_b8 buffer_store_b96
    buffer_store_d16_format_x buffer_store_d16_format_xy buffer_store_d16_format_xyz
    buffer_store_d16_format_xyzw buffer_store_d16_hi_b16 buffer_store_d16_hi_b8
    buffer_store_d16_hi_format_x cluster_load_async_to_lds_b128
    cluster_load_async_to_lds_b32 cluster_load_async_to_lds_b64 cluster_load_async_to_lds_b8
    cluster_load_b128 cluster_load_b32 cluster_load_b64 ds_add_f64 ds_add_rtn_f64
    ds_atomic_async_barrier_arrive_b64 ds_atomic_barrier_arrive_rtn_b64 ds_bpermute_fi_b32
    ds_bvh_stack_push4_pop1_rtn_b32 ds_bvh_stack_push8_pop1_rtn_b32
    ds_bvh_stack_push8_pop2_rtn_b64 ds_bvh_stack_rtn_b32 ds_cmpstore_b32 ds_cmpstore_b64
    ds_cmpstore_rtn_b32 ds_cmpstore_rtn_b64 ds_cond_sub_rtn_u32 ds_cond_sub_u32
    ds_direct_load ds_load_2addr_b32 ds_load_2addr_b64 ds_load_2addr_stride64_b32
    ds_load_2addr_stride64_b64 ds_load_addtid_b32 ds_load_b128 ds_load_b32 ds_load_b64
    ds_load_b96 ds_load_i16 ds_load_i8 ds_load_i8_d16 ds_load_i8_d16_hi ds_load_tr16_b128
    ds_load_tr4_b64 ds_load_tr6_b96 ds_load_tr8_b64 ds_load_u16 ds_load_u16_d16
    ds_load_u16_d16_hi ds_load_u8 ds_load_u8_d16 ds_load_u8_d16_hi ds_max_num_f32
    ds_max_num_f64 ds_max_num_rtn_f32 ds_max_num_rtn_f64 ds_min_num_f32 ds_min_num_f64
    ds_min_num_rtn_f32 ds_min_num_rtn_f64 ds_param_load ds_pk_add_bf16 ds_pk_add_f16
    ds_pk_add_rtn_bf16 ds_pk_add_rtn_f16 ds_store_2addr_b32 ds_store_2addr_b64
    ds_store_2addr_stride64_b32 ds_store_2addr_stride64_b64 ds_store_addtid_b32
    ds_store_b128 ds_store_b16 ds_store_b16_d16_hi ds_store_b32 ds_store_b64 ds_store_b8
    ds_store_b8_d16_hi ds_store_b96 ds_storexchg_2addr_rtn_b32 ds_storexchg_2addr_rtn_b64
    ds_storexchg_2addr_stride64_rtn_b32 ds_storexchg_2addr_stride64_rtn_b64
    ds_storexchg_rtn_b32 ds_storexchg_rtn_b64 ds_sub_clamp_rtn_u32 ds_sub_clamp_u32
    export
    flat_atomic_add_f32 flat_atomic_add_f64 flat_atomic_add_u32 flat_atomic_add_u64
    flat_atomic_and_b32 flat_atomic_and_b64 flat_atomic_cmpswap_b32 flat_atomic_cmpswap_b64
    flat_atomic_cond_sub_u32 flat_atomic_dec_u32 flat_atomic_dec_u64 flat_atomic_fmax
    flat_atomic_fmin flat_atomic_inc_u32 flat_atomic_inc_u64 flat_atomic_max_f32
    flat_atomic_max_f64 flat_atomic_max_i32 flat_atomic_max_i64 flat_atomic_max_num_f32
    flat_atomic_max_num_f64 flat_atomic_max_u32 flat_atomic_max_u64 flat_atomic_min_f32
    flat_atomic_min_f64 flat_atomic_min_i32 flat_atomic_min_i64 flat_atomic_min_num_f32
    flat_atomic_min_num_f64 flat_atomic_min_u32 flat_atomic_min_u64 flat_atomic_or_b32
    flat_atomic_or_b64 flat_atomic_pk_add_bf16 flat_atomic_pk_add_f16
    flat_atomic_sub_clamp_u32 flat_atomic_sub_u32 flat_atomic_sub_u64 flat_atomic_swap_b32
    flat_atomic_swap_b64 flat_atomic_xor_b32 flat_atomic_xor_b64 flat_load_b128
    flat_load_b32 flat_load_b64 flat_load_b96 flat_load_d16_b16 flat_load_d16_hi_b16
    flat_load_d16_hi_i8 flat_load_d16_hi_u8 flat_load_d16_i8 flat_load_d16_u8 flat_load_i16
    flat_load_i8 flat_load_monitor_b128 flat_load_monitor_b32 flat_load_monitor_b64
    flat_load_u16 flat_load_u8 flat_prefetch_b8 flat_store_b128 flat_store_b16
    flat_store_b32 flat_store_b64 flat_store_b8 flat_store_b96 flat_store_d16_hi_b16
    flat_store_d16_hi_b8 global_atomic_add_f32 global_atomic_add_f64 global_atomic_add_u32
    global_atomic_add_u64 global_atomic_and_b32 global_atomic_and_b64
    global_atomic_cmpswap_b32 global_atomic_cmpswap_b64 global_atomic_cond_sub_u32
    global_atomic_csub global_atomic_csub_u32 global_atomic_dec_u32 global_atomic_dec_u64
    global_atomic_fmax global_atomic_fmin global_atomic_inc_u32 global_atomic_inc_u64
    global_atomic_max_f32 global_atomic_max_f64 global_atomic_max_i32 global_atomic_max_i64
    global_atomic_max_num_f32 global_atomic_max_num_f64 global_atomic_max_u32
    global_atomic_max_u64 global_atomic_min_f32 global_atomic_min_f64 global_atomic_min_i32
    global_atomic_min_i64 global_atomic_min_num_f32 global_atomic_min_num_f64
    global_atomic_min_u32 global_atomic_min_u64 global_atomic_or_b32 global_atomic_or_b64
    global_atomic_ordered_add_b64 global_atomic_pk_add_bf16 global_atomic_pk_add_f16
    global_atomic_sub_clamp_u32 global_atomic_sub_u32 global_atomic_sub_u64
    global_atomic_swap_b32 global_atomic_swap_b64 global_atomic_xor_b32
    global_atomic_xor_b64 global_inv global_load_addtid_b32 global_load_async_to_lds_b128
    global_load_async_to_lds_b32 global_load_async_to_lds_b64 global_load_async_to_lds_b8
    global_load_b128 global_load_b32 global_load_b64 global_load_b96 global_load_block
    global_load_d16_b16 global_load_d16_hi_b16 global_load_d16_hi_i8 global_load_d16_hi_u8
    global_load_d16_i8 global_load_d16_u8 global_load_dword_addtid global_load_i16
    global_load_i8 global_load_monitor_b128 global_load_monitor_b32 global_load_monitor_b64
    global_load_tr16_b128 global_load_tr4_b64 global_load_tr6_b96 global_load_tr8_b64
    global_load_tr_b128 global_load_tr_b64 global_load_u16 global_load_u8 global_prefetch_b8
    global_store_addtid_b32 global_store_async_from_lds_b128 global_store_async_from_lds_b32
    global_store_async_from_lds_b64 global_store_async_from_lds_b8 global_store_b128
    global_store_b16 global_store_b32 global_store_b64 global_store_b8 global_store_b96
    global_store_block global_store_d16_hi_b16 global_store_d16_hi_b8
    global_store_dword_addtid global_wb global_wbinv image_atomic_add_flt
    image_atomic_add_uint image_atomic_dec_uint image_atomic_fmax image_atomic_fmin
    image_atomic_inc_uint image_atomic_max_flt image_atomic_max_int image_atomic_max_uint
    image_atomic_min_flt image_atomic_min_int image_atomic_min_uint image_atomic_pk_add_bf16
    image_atomic_pk_add_f16 image_atomic_sub_uint image_bvh64_intersect_ray
    image_bvh8_intersect_ray image_bvh_dual_intersect_ray image_bvh_intersect_ray
    image_msaa_load image_sample_c_d_cl_g16 image_sample_c_d_cl_o_g16 image_sample_c_d_g16
    image_sample_c_d_o_g16 image_sample_d_cl_g16 image_sample_d_cl_o_g16 image_sample_d_g16
    image_sample_d_o_g16 lds_direct_load lds_param_load s_add_co_ci_u32 s_add_co_i32
    s_add_co_u32 s_add_f16 s_add_f32 s_add_nc_u64 s_add_pc_i64 s_addk_co_i32 s_alloc_vgpr
    s_and_not0_saveexec_b32 s_and_not0_saveexec_b64 s_and_not0_wrexec_b32
    s_and_not0_wrexec_b64 s_and_not1_b32 s_and_not1_b64 s_and_not1_saveexec_b32
    s_and_not1_saveexec_b64 s_and_not1_wrexec_b32 s_and_not1_wrexec_b64 s_and_saveexec_b32
    s_andn1_saveexec_b32 s_andn1_wrexec_b32 s_andn2_saveexec_b32 s_andn2_wrexec_b32
    s_barrier_init s_barrier_join s_barrier_leave s_barrier_signal s_barrier_signal_isfirst
    s_barrier_wait s_buffer_load_b128 s_buffer_load_b256 s_buffer_load_b32
    s_buffer_load_b512 s_buffer_load_b64 s_buffer_load_b96 s_buffer_load_i16
    s_buffer_load_i8 s_buffer_load_u16 s_buffer_load_u8 s_buffer_prefetch_data s_call_i64
    s_ceil_f16 s_ceil_f32 s_clause s_cls_i32 s_cls_i32_i64 s_clz_i32_u32 s_clz_i32_u64
    s_cmp_eq_f16 s_cmp_eq_f32 s_cmp_ge_f16 s_cmp_ge_f32 s_cmp_gt_f16 s_cmp_gt_f32
    s_cmp_le_f16 s_cmp_le_f32 s_cmp_lg_f16 s_cmp_lg_f32 s_cmp_lt_f16 s_cmp_lt_f32
    s_cmp_neq_f16 s_cmp_neq_f32 s_cmp_nge_f16 s_cmp_nge_f32 s_cmp_ngt_f16 s_cmp_ngt_f32
    s_cmp_nle_f16 s_cmp_nle_f32 s_cmp_nlg_f16 s_cmp_nlg_f32 s_cmp_nlt_f16 s_cmp_nlt_f32
    s_cmp_o_f16 s_cmp_o_f32 s_cmp_u_f16 s_cmp_u_f32 s_code_end s_ctz_i32_b32 s_ctz_i32_b64
    s_cvt_f16_f32 s_cvt_f32_f16 s_cvt_f32_i32 s_cvt_f32_u32 s_cvt_hi_f32_f16 s_cvt_i32_f32
    s_cvt_pk_rtz_f16_f32 s_cvt_u32_f32 s_delay_alu s_denorm_mode s_floor_f16 s_floor_f32
    s_fmaak_f32 s_fmac_f16 s_fmac_f32 s_fmamk_f32 s_get_barrier_state s_get_pc_i64
    s_get_shader_cycles_u64 s_load_b128 s_load_b256 s_load_b32 s_load_b512 s_load_b64
    s_load_b96 s_load_i16 s_load_i8 s_load_u16 s_load_u8 s_max_f16 s_max_f32 s_max_num_f16
    s_max_num_f32 s_maximum_f16 s_maximum_f32 s_min_f16 s_min_f32 s_min_num_f16
    s_min_num_f32 s_minimum_f16 s_minimum_f32 s_monitor_sleep s_movrelsd_2_b32 s_mul_f16
    s_mul_f32 s_mul_u64 s_nand_saveexec_b32 s_nor_saveexec_b32 s_or_not0_saveexec_b32
    s_or_not0_saveexec_b64 s_or_not1_b32 s_or_not1_b64 s_or_not1_saveexec_b32
    s_or_not1_saveexec_b64 s_or_saveexec_b32 s_orn1_saveexec_b32 s_orn2_saveexec_b32
    s_pack_hl_b32_b16 s_prefetch_data s_prefetch_data_pc_rel s_prefetch_inst
    s_prefetch_inst_pc_rel s_rfe_i64 s_rndne_f16 s_rndne_f32 s_round_mode s_sendmsg_rtn_b32
    s_sendmsg_rtn_b64 s_set_pc_i64 s_set_vgpr_msb s_setprio_inc_wg s_sleep_var
    s_sub_co_ci_u32 s_sub_co_i32 s_sub_co_u32 s_sub_f16 s_sub_f32 s_sub_nc_u64 s_swap_pc_i64
    s_trunc_f16 s_trunc_f32 s_ttracedata_imm s_version s_wait_alu s_wait_asynccnt
    s_wait_bvhcnt s_wait_dscnt s_wait_event s_wait_expcnt s_wait_idle s_wait_kmcnt
    s_wait_loadcnt s_wait_loadcnt_dscnt s_wait_samplecnt s_wait_storecnt
    s_wait_storecnt_dscnt s_wait_tensorcnt s_wait_xcnt s_waitcnt_depctr s_wakeup_barrier
    s_xnor_saveexec_b32 s_xor_saveexec_b32 scratch_load_b128 scratch_load_b32
    scratch_load_b64 scratch_load_b96 scratch_load_block scratch_load_d16_b16
    scratch_load_d16_hi_b16 scratch_load_d16_hi_i8 scratch_load_d16_hi_u8
    scratch_load_d16_i8 scratch_load_d16_u8 scratch_load_i16 scratch_load_i8
    scratch_load_u16 scratch_load_u8 scratch_store_b128 scratch_store_b16 scratch_store_b32
    scratch_store_b64 scratch_store_b8 scratch_store_b96 scratch_store_block
    scratch_store_d16_hi_b16 scratch_store_d16_hi_b8 tbuffer_load_d16_format_x
    tbuffer_load_d16_format_xy tbuffer_load_d16_format_xyz tbuffer_load_d16_format_xyzw
    tbuffer_store_d16_format_x tbuffer_store_d16_format_xy tbuffer_store_d16_format_xyz
    tbuffer_store_d16_format_xyzw tensor_load_to_lds tensor_save tensor_stop
    tensor_store_from_lds
    """.split()
)
