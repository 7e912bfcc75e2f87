"""The names of the vector ALU instructions of gfx1250 and gfx1251.

Without ``v_``, without the encoding at the end (``_e32``), without comparisons. Source: LLVM 22's
opcodes of these chips; no manual of theirs is public.
"""

VECTOR_NAMES = frozenset(
    """
    nop
    add3_u32 add_co_ci_u32 add_co_u32 add_f16 add_f32 add_f64 add_i16 add_lshl_u32 add_max_i32
    add_max_u32 add_min_i32 add_min_u32 add_nc_i16 add_nc_i32 add_nc_u16 add_nc_u32 add_nc_u64
    add_u64 alignbit_b32 alignbyte_b32 and_b16 and_b32 and_or_b32 ashr_pk_i8_i32 ashr_pk_u8_i32
    ashrrev_i16 ashrrev_i32 ashrrev_i64 b32_add_f32 b32_add_f32_e96 b32_add_u32 b32_add_u32_e96
    b32_and_b32 b32_bitop2_b32_e96 b32_cndmask_b32 b32_cndmask_b32_e96 b32_dot2c_f32_bf16
    b32_dot2c_f32_bf16_e96 b32_dot2c_f32_f16 b32_dot2c_f32_f16_e96 b32_e96 b32_fma_f32_e96
    b32_fmaak_f32 b32_fmac_f32 b32_fmac_f32_e96 b32_fmamk_f32 b32_max_f32 b32_max_f32_e96
    b32_max_i32 b32_max_i32_e96 b32_min_f32 b32_min_f32_e96 b32_min_i32 b32_min_i32_e96
    b32_mul_f32 b32_mul_f32_e96 b32_mul_legacy_f32 b32_mul_legacy_f32_e96 b32_sub_f32
    b32_sub_f32_e96 b32_sub_u32 b32_sub_u32_e96 bcnt_u32_b32 bfe_i32 bfe_u32 bfi_b32 bfm_b32
    bfrev_b32 bitop3_b16 bitop3_b32 ceil_f16 ceil_f32 ceil_f64 cls_i32 clz_i32_u32 cndmask_b16
    cndmask_b32 co_ci_u32 co_u32 cos_bf16 cos_f16 cos_f32 ctz_i32_b32 cubeid_f32 cubema_f32
    cubesc_f32 cubetc_f32 cvt_f16_bf8 cvt_f16_f32 cvt_f16_fp8 cvt_f16_i16 cvt_f16_u16 cvt_f32_bf16
    cvt_f32_bf8 cvt_f32_f16 cvt_f32_f64 cvt_f32_fp8 cvt_f32_i32 cvt_f32_u32 cvt_f32_ubyte0
    cvt_f32_ubyte1 cvt_f32_ubyte2 cvt_f32_ubyte3 cvt_f64_f32 cvt_f64_i32 cvt_f64_u32
    cvt_floor_i32_f32 cvt_i16_f16 cvt_i32_f32 cvt_i32_f64 cvt_i32_i16 cvt_nearest_i32_f32
    cvt_norm_i16_f16 cvt_norm_u16_f16 cvt_off_f32_i4 cvt_pk_bf16_f32 cvt_pk_bf8_f16 cvt_pk_bf8_f32
    cvt_pk_f16_bf8 cvt_pk_f16_f32 cvt_pk_f16_fp8 cvt_pk_f32_bf8 cvt_pk_f32_fp8 cvt_pk_fp8_f16
    cvt_pk_fp8_f32 cvt_pk_i16_f32 cvt_pk_i16_i32 cvt_pk_norm_i16_f16 cvt_pk_norm_i16_f32
    cvt_pk_norm_u16_f16 cvt_pk_norm_u16_f32 cvt_pk_rtz_f16_f32 cvt_pk_u16_f32 cvt_pk_u16_u32
    cvt_pk_u8_f32 cvt_pknorm_i16_f16 cvt_pknorm_u16_f16 cvt_scale_pk16_bf16_bf6
    cvt_scale_pk16_bf16_fp6 cvt_scale_pk16_f16_bf6 cvt_scale_pk16_f16_fp6 cvt_scale_pk16_f32_bf6
    cvt_scale_pk16_f32_fp6 cvt_scale_pk8_bf16_bf8 cvt_scale_pk8_bf16_fp4 cvt_scale_pk8_bf16_fp8
    cvt_scale_pk8_f16_bf8 cvt_scale_pk8_f16_fp4 cvt_scale_pk8_f16_fp8 cvt_scale_pk8_f32_bf8
    cvt_scale_pk8_f32_fp4 cvt_scale_pk8_f32_fp8 cvt_scalef32_pk16_bf6_bf16
    cvt_scalef32_pk16_bf6_f16 cvt_scalef32_pk16_bf6_f32 cvt_scalef32_pk16_fp6_bf16
    cvt_scalef32_pk16_fp6_f16 cvt_scalef32_pk16_fp6_f32 cvt_scalef32_pk8_bf8_bf16
    cvt_scalef32_pk8_bf8_f16 cvt_scalef32_pk8_bf8_f32 cvt_scalef32_pk8_fp4_bf16
    cvt_scalef32_pk8_fp4_f16 cvt_scalef32_pk8_fp4_f32 cvt_scalef32_pk8_fp8_bf16
    cvt_scalef32_pk8_fp8_f16 cvt_scalef32_pk8_fp8_f32 cvt_scalef32_sr_pk16_bf6_bf16
    cvt_scalef32_sr_pk16_bf6_f16 cvt_scalef32_sr_pk16_bf6_f32 cvt_scalef32_sr_pk16_fp6_bf16
    cvt_scalef32_sr_pk16_fp6_f16 cvt_scalef32_sr_pk16_fp6_f32 cvt_scalef32_sr_pk8_bf8_bf16
    cvt_scalef32_sr_pk8_bf8_f16 cvt_scalef32_sr_pk8_bf8_f32 cvt_scalef32_sr_pk8_fp4_bf16
    cvt_scalef32_sr_pk8_fp4_f16 cvt_scalef32_sr_pk8_fp4_f32 cvt_scalef32_sr_pk8_fp8_bf16
    cvt_scalef32_sr_pk8_fp8_f16 cvt_scalef32_sr_pk8_fp8_f32 cvt_sr_bf8_f16 cvt_sr_bf8_f32
    cvt_sr_fp8_f16 cvt_sr_fp8_f32 cvt_sr_pk_bf16_f32 cvt_sr_pk_f16_f32 cvt_u16_f16 cvt_u32_f32
    cvt_u32_f64 cvt_u32_u16 div_fixup_f16 div_fixup_f32 div_fixup_f64 div_fmas_f32 div_fmas_f64
    div_scale_f32 div_scale_f64 dot2_bf16_bf16 dot2_f16_f16 dot2_f32_bf16 dot2_f32_f16
    dot4_f32_bf8_bf8 dot4_f32_bf8_fp8 dot4_f32_fp8_bf8 dot4_f32_fp8_fp8 dot4_i32_iu8 dot4_u32_u8
    dot8_i32_iu4 dot8_u32_u4 dual_add_f32 dual_add_f64 dual_add_nc_u32 dual_ashrrev_i32
    dual_bitop2_b32 dual_cndmask_b32 dual_dot2acc_f32_bf16 dual_dot2acc_f32_f16 dual_fma_f32
    dual_fma_f64 dual_fmaak_f32 dual_fmac_f32 dual_fmamk_f32 dual_lshlrev_b32 dual_lshrrev_b32
    dual_max_i32 dual_max_num_f32 dual_max_num_f64 dual_min_i32 dual_min_num_f32 dual_min_num_f64
    dual_mov_b32 dual_mul_dx9_zero_f32 dual_mul_f32 dual_mul_f64 dual_sub_f32 dual_sub_nc_u32
    dual_subrev_f32
    exp_bf16 exp_f16 exp_f32 f32_add_f32 f32_add_f32_e96 f32_add_u32 f32_add_u32_e96 f32_and_b32
    f32_bitop2_b32_e96 f32_cndmask_b32 f32_cndmask_b32_e96 f32_dot2c_f32_bf16
    f32_dot2c_f32_bf16_e96 f32_dot2c_f32_f16 f32_dot2c_f32_f16_e96 f32_e96 f32_fma_f32_e96
    f32_fmaak_f32 f32_fmac_f32 f32_fmac_f32_e96 f32_fmamk_f32 f32_max_f32 f32_max_f32_e96
    f32_max_i32 f32_max_i32_e96 f32_min_f32 f32_min_f32_e96 f32_min_i32 f32_min_i32_e96
    f32_mul_f32 f32_mul_f32_e96 f32_mul_legacy_f32 f32_mul_legacy_f32_e96 f32_sub_f32
    f32_sub_f32_e96 f32_sub_u32 f32_sub_u32_e96 fixup_f16 fixup_f32 fixup_f64 floor_f16 floor_f32
    floor_f64 fma_dx9_zero_f32 fma_f16 fma_f32 fma_f64 fma_mix_f32 fma_mix_f32_bf16 fma_mixhi_bf16
    fma_mixhi_f16 fma_mixlo_bf16 fma_mixlo_f16 fmaak_f16 fmaak_f32 fmaak_f64 fmac_f16 fmac_f32
    fmac_f64 fmamk_f16 fmamk_f32 fmamk_f64 fmas_f32 fmas_f64 fract_f16 fract_f32 fract_f64
    frexp_exp_i16_f16 frexp_exp_i32_f32 frexp_exp_i32_f64 frexp_mant_f16 frexp_mant_f32
    frexp_mant_f64 i32_add_f32_e96 i32_add_u32_e96 i32_bitop2_b32_e96 i32_cndmask_b32_e96
    i32_dot2c_f32_bf16_e96 i32_dot2c_f32_f16_e96 i32_e96 i32_fma_f32_e96 i32_fmac_f32_e96
    i32_max_f32_e96 i32_max_i32_e96 i32_min_f32_e96 i32_min_i32_e96 i32_mul_f32_e96
    i32_mul_legacy_f32_e96 i32_sub_f32_e96 i32_sub_u32_e96 interp_p10_f16_f32_inreg
    interp_p10_f32_inreg interp_p10_rtz_f16_f32_inreg interp_p2_f16_f32_inreg interp_p2_f32_inreg
    interp_p2_rtz_f16_f32_inreg ldexp_f16 ldexp_f32 ldexp_f64 lerp_u8 log_bf16 log_f16 log_f32
    lshl_add_u32 lshl_add_u64 lshl_or_b32 lshlrev_b16 lshlrev_b32 lshlrev_b64 lshrrev_b16
    lshrrev_b32 lshrrev_b64 mad_co_i64_i32 mad_co_u64_u32 mad_i16 mad_i32_i16 mad_i32_i24
    mad_nc_i64_i32 mad_nc_u64_u32 mad_u16 mad_u32 mad_u32_u16 mad_u32_u24 max3_i16 max3_i32
    max3_num_f16 max3_num_f32 max3_u16 max3_u32 max_i16 max_i32 max_i64 max_num_f16 max_num_f32
    max_num_f64 max_u16 max_u32 max_u64 maximum3_f16 maximum3_f32 maximum_f16 maximum_f32
    maximum_f64 maximumminimum_f16 maximumminimum_f32 maxmin_i32 maxmin_num_f16 maxmin_num_f32
    maxmin_u32 mbcnt_hi_u32_b32 mbcnt_lo_u32_b32 med3_i16 med3_i32 med3_num_f16 med3_num_f32
    med3_u16 med3_u32 min3_i16 min3_i32 min3_num_f16 min3_num_f32 min3_u16 min3_u32 min_i16
    min_i32 min_i64 min_num_f16 min_num_f32 min_num_f64 min_u16 min_u32 min_u64 minimum3_f16
    minimum3_f32 minimum_f16 minimum_f32 minimum_f64 minimummaximum_f16 minimummaximum_f32
    minmax_i32 minmax_num_f16 minmax_num_f32 minmax_u32 mov_b16 mov_b32 mov_b64 movreld_b32
    movrels_b32 movrelsd_2_b32 movrelsd_b32 mqsad_pk_u16_u8 mqsad_u32_u8 msad_u8 mul_dx9_zero_f32
    mul_f16 mul_f32 mul_f64 mul_hi_i32 mul_hi_i32_i24 mul_hi_u32 mul_hi_u32_u24 mul_i32_i24
    mul_lo_u16 mul_lo_u32 mul_u32_u24 mul_u64 mullit_f32 nc_u32 not_b16 not_b32 or3_b32 or_b16
    or_b32 pack_b32_f16 perm_b32 perm_pk16_b4_u4 perm_pk16_b6_u4 perm_pk16_b8_u4 permlane16_b32
    permlane16_swap_b32 permlane16_var_b32 permlane64_b32 permlane_bcast_b32 permlane_down_b32
    permlane_idx_gen_b32 permlane_up_b32 permlane_xor_b32 permlanex16_b32 permlanex16_var_b32
    pipeflush pk_add_bf16 pk_add_f16 pk_add_f32 pk_add_i16 pk_add_max_i16 pk_add_max_u16
    pk_add_min_i16 pk_add_min_u16 pk_add_u16 pk_ashrrev_i16 pk_fma_bf16 pk_fma_f16 pk_fma_f32
    pk_fmac_f16 pk_lshlrev_b16 pk_lshrrev_b16 pk_mad_i16 pk_mad_u16 pk_max3_i16 pk_max3_num_f16
    pk_max3_u16 pk_max_i16 pk_max_num_bf16 pk_max_num_f16 pk_max_u16 pk_maximum3_f16
    pk_maximum_f16 pk_min3_i16 pk_min3_num_f16 pk_min3_u16 pk_min_i16 pk_min_num_bf16
    pk_min_num_f16 pk_min_u16 pk_minimum3_f16 pk_minimum_f16 pk_mul_bf16 pk_mul_f16 pk_mul_f32
    pk_mul_lo_u16 pk_sub_i16 pk_sub_u16 prng_b32 qsad_pk_u16_u8 rcp_bf16 rcp_f16 rcp_f32 rcp_f64
    rcp_iflag_f32 readfirstlane_b32 readlane_b32 rndne_f16 rndne_f32 rndne_f64 rsq_bf16 rsq_f16
    rsq_f32 rsq_f64 s_exp_f16 s_exp_f32 s_log_f16 s_log_f32 s_rcp_f16 s_rcp_f32 s_rsq_f16
    s_rsq_f32 s_sqrt_f16 s_sqrt_f32 sad_hi_u8 sad_u16 sad_u32 sad_u8 sat_pk4_i4_i8 sat_pk4_u4_u8
    sat_pk_u8_i16 scale_f32 scale_f64 sin_bf16 sin_f16 sin_f32 sqrt_bf16 sqrt_f16 sqrt_f32
    sqrt_f64 sub_co_ci_u32 sub_co_u32 sub_f16 sub_f32 sub_i16 sub_nc_i16 sub_nc_i32 sub_nc_u16
    sub_nc_u32 sub_nc_u64 sub_u64 subrev_co_ci_u32 subrev_co_u32 subrev_f16 subrev_f32
    subrev_nc_u32 swap_b16 swap_b32 swaprel_b32 swmmac_bf16_16x16x32_bf16
    swmmac_bf16_16x16x64_bf16 swmmac_bf16f32_16x16x64_bf16 swmmac_f16_16x16x128_bf8_bf8
    swmmac_f16_16x16x128_bf8_fp8 swmmac_f16_16x16x128_fp8_bf8 swmmac_f16_16x16x128_fp8_fp8
    swmmac_f16_16x16x32_f16 swmmac_f16_16x16x64_f16 swmmac_f32_16x16x128_bf8_bf8
    swmmac_f32_16x16x128_bf8_fp8 swmmac_f32_16x16x128_fp8_bf8 swmmac_f32_16x16x128_fp8_fp8
    swmmac_f32_16x16x32_bf16 swmmac_f32_16x16x32_bf8_bf8 swmmac_f32_16x16x32_bf8_fp8
    swmmac_f32_16x16x32_f16 swmmac_f32_16x16x32_fp8_bf8 swmmac_f32_16x16x32_fp8_fp8
    swmmac_f32_16x16x64_bf16 swmmac_f32_16x16x64_f16 swmmac_i32_16x16x128_iu8
    swmmac_i32_16x16x32_iu4 swmmac_i32_16x16x32_iu8 swmmac_i32_16x16x64_iu4 tanh_bf16 tanh_f16
    tanh_f32 trig_preop_f64 trunc_f16 trunc_f32 trunc_f64 wmma_bf16_16x16x16_bf16
    wmma_bf16_16x16x32_bf16 wmma_bf16f32_16x16x32_bf16 wmma_f16_16x16x128_bf8_bf8
    wmma_f16_16x16x128_bf8_fp8 wmma_f16_16x16x128_fp8_bf8 wmma_f16_16x16x128_fp8_fp8
    wmma_f16_16x16x16_f16 wmma_f16_16x16x32_f16 wmma_f16_16x16x64_bf8_bf8
    wmma_f16_16x16x64_bf8_fp8 wmma_f16_16x16x64_fp8_bf8 wmma_f16_16x16x64_fp8_fp8
    wmma_f32_16x16x128_bf8_bf8 wmma_f32_16x16x128_bf8_fp8 wmma_f32_16x16x128_f8f6f4
    wmma_f32_16x16x128_fp8_bf8 wmma_f32_16x16x128_fp8_fp8 wmma_f32_16x16x16_bf16
    wmma_f32_16x16x16_bf8_bf8 wmma_f32_16x16x16_bf8_fp8 wmma_f32_16x16x16_f16
    wmma_f32_16x16x16_fp8_bf8 wmma_f32_16x16x16_fp8_fp8 wmma_f32_16x16x32_bf16
    wmma_f32_16x16x32_f16 wmma_f32_16x16x4_f32 wmma_f32_16x16x64_bf8_bf8 wmma_f32_16x16x64_bf8_fp8
    wmma_f32_16x16x64_fp8_bf8 wmma_f32_16x16x64_fp8_fp8 wmma_f32_32x16x128_f4
    wmma_i32_16x16x16_iu4 wmma_i32_16x16x16_iu8 wmma_i32_16x16x32_iu4 wmma_i32_16x16x64_iu8
    wmma_ld_scale16_paired_b64 wmma_ld_scale_paired_b32 wmma_scale16_f32_16x16x128_f8f6f4
    wmma_scale16_f32_32x16x128_f4 wmma_scale_f32_16x16x128_f8f6f4 wmma_scale_f32_32x16x128_f4
    writelane_b32 xad_u32 xnor_b32 xor3_b32 xor_b16 xor_b32
    """.split()
)
