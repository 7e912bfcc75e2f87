"""The names of the vector ALU instructions of gfx908, gfx90a, gfx942 and gfx950.

Without ``v_``, without the encoding at the end (``_e32``), without comparisons. Sources: MI100,
MI200, MI300 and CDNA4 ISA, VOP1 to VOP3P and VINTRP; LLVM 22's opcodes of these chips.
"""

VECTOR_NAMES = frozenset(
    """
    accvgpr_mov_b32 accvgpr_read_b32 accvgpr_write_b32 add3_u32 add_co_u32 add_f16 add_f32
    add_f64 add_i16 add_i32 add_lshl_u32 add_u16 add_u32 addc_co_u32 alignbit_b32 alignbyte_b32
    and_b32 and_or_b32 ashr_pk_i8_i32 ashr_pk_u8_i32 ashrrev_i16 ashrrev_i32 ashrrev_i64
    bcnt_u32_b32 bfe_i32 bfe_u32 bfi_b32 bfm_b32 bfrev_b32 bitop3_b16 bitop3_b32 ceil_f16
    ceil_f32 ceil_f64 clrexcp cndmask_b32 cos_f16 cos_f32 cubeid_f32 cubema_f32 cubesc_f32
    cubetc_f32 cvt_f16_f32 cvt_f16_i16 cvt_f16_u16 cvt_f32_bf16 cvt_f32_bf8 cvt_f32_f16
    cvt_f32_f64 cvt_f32_fp8 cvt_f32_i32 cvt_f32_u32 cvt_f32_ubyte0 cvt_f32_ubyte1 cvt_f32_ubyte2
    cvt_f32_ubyte3 cvt_f64_f32 cvt_f64_i32 cvt_f64_u32 cvt_flr_i32_f32 cvt_i16_f16 cvt_i32_f32
    cvt_i32_f64 cvt_norm_i16_f16 cvt_norm_u16_f16 cvt_off_f32_i4 cvt_pk_bf16_f32 cvt_pk_bf8_f32
    cvt_pk_f16_f32 cvt_pk_f32_bf8 cvt_pk_f32_fp8 cvt_pk_fp8_f32 cvt_pk_i16_i32 cvt_pk_u16_u32
    cvt_pk_u8_f32 cvt_pkaccum_u8_f32 cvt_pknorm_i16_f16 cvt_pknorm_i16_f32 cvt_pknorm_u16_f16
    cvt_pknorm_u16_f32 cvt_pkrtz_f16_f32 cvt_rpi_i32_f32 cvt_scalef32_2xpk16_bf6_f32
    cvt_scalef32_2xpk16_fp6_f32 cvt_scalef32_f16_bf8 cvt_scalef32_f16_fp8 cvt_scalef32_f32_bf8
    cvt_scalef32_f32_fp8 cvt_scalef32_pk32_bf16_bf6 cvt_scalef32_pk32_bf16_fp6
    cvt_scalef32_pk32_bf6_bf16 cvt_scalef32_pk32_bf6_f16 cvt_scalef32_pk32_f16_bf6
    cvt_scalef32_pk32_f16_fp6 cvt_scalef32_pk32_f32_bf6 cvt_scalef32_pk32_f32_fp6
    cvt_scalef32_pk32_fp6_bf16 cvt_scalef32_pk32_fp6_f16 cvt_scalef32_pk_bf16_bf8
    cvt_scalef32_pk_bf16_fp4 cvt_scalef32_pk_bf16_fp8 cvt_scalef32_pk_bf8_bf16
    cvt_scalef32_pk_bf8_f16 cvt_scalef32_pk_bf8_f32 cvt_scalef32_pk_f16_bf8
    cvt_scalef32_pk_f16_fp4 cvt_scalef32_pk_f16_fp8 cvt_scalef32_pk_f32_bf8
    cvt_scalef32_pk_f32_fp4 cvt_scalef32_pk_f32_fp8 cvt_scalef32_pk_fp4_bf16
    cvt_scalef32_pk_fp4_f16 cvt_scalef32_pk_fp4_f32 cvt_scalef32_pk_fp8_bf16
    cvt_scalef32_pk_fp8_f16 cvt_scalef32_pk_fp8_f32 cvt_scalef32_sr_bf8_bf16
    cvt_scalef32_sr_bf8_f16 cvt_scalef32_sr_bf8_f32 cvt_scalef32_sr_fp8_bf16
    cvt_scalef32_sr_fp8_f16 cvt_scalef32_sr_fp8_f32 cvt_scalef32_sr_pk32_bf6_bf16
    cvt_scalef32_sr_pk32_bf6_f16 cvt_scalef32_sr_pk32_bf6_f32 cvt_scalef32_sr_pk32_fp6_bf16
    cvt_scalef32_sr_pk32_fp6_f16 cvt_scalef32_sr_pk32_fp6_f32 cvt_scalef32_sr_pk_fp4_bf16
    cvt_scalef32_sr_pk_fp4_f16 cvt_scalef32_sr_pk_fp4_f32 cvt_sr_bf16_f32 cvt_sr_bf8_f32
    cvt_sr_f16_f32 cvt_sr_fp8_f32 cvt_u16_f16 cvt_u32_f32 cvt_u32_f64 div_fixup_f16
    div_fixup_f32 div_fixup_f64 div_fixup_legacy_f16 div_fmas_f32 div_fmas_f64 div_scale_f32
    div_scale_f64 dot2_f32_bf16 dot2_f32_f16 dot2_i32_i16 dot2_u32_u16 dot2c_f32_bf16
    dot2c_f32_f16 dot2c_i32_i16 dot4_i32_i8 dot4_u32_u8 dot4c_i32_i8 dot8_i32_i4 dot8_u32_u4
    dot8c_i32_i4 exp_f16 exp_f32 exp_legacy_f32 ffbh_i32 ffbh_u32 ffbl_b32 floor_f16 floor_f32
    floor_f64 fma_f16 fma_f32 fma_f64 fma_legacy_f16 fma_mix_f32 fma_mixhi_f16 fma_mixlo_f16
    fmaak_f32 fmac_f32 fmac_f64 fmamk_f32 fract_f16 fract_f32 fract_f64 frexp_exp_i16_f16
    frexp_exp_i32_f32 frexp_exp_i32_f64 frexp_mant_f16 frexp_mant_f32 frexp_mant_f64
    interp_mov_f32 interp_p1_f32 interp_p1ll_f16 interp_p1lv_f16 interp_p2_f16 interp_p2_f32
    interp_p2_legacy_f16 ldexp_f16 ldexp_f32 ldexp_f64 lerp_u8 log_f16 log_f32 log_legacy_f32
    lshl_add_u32 lshl_add_u64 lshl_or_b32 lshlrev_b16 lshlrev_b32 lshlrev_b64 lshrrev_b16
    lshrrev_b32 lshrrev_b64 mac_f16 mac_f32 mad_f16 mad_f32 mad_i16 mad_i32_i16 mad_i32_i24
    mad_i64_i32 mad_legacy_f16 mad_legacy_f32 mad_legacy_i16 mad_legacy_u16 mad_mix_f32
    mad_mixhi_f16 mad_mixlo_f16 mad_u16 mad_u32_u16 mad_u32_u24 mad_u64_u32 madak_f16 madak_f32
    madmk_f16 madmk_f32 max3_f16 max3_f32 max3_i16 max3_i32 max3_u16 max3_u32 max_f16 max_f32
    max_f64 max_i16 max_i32 max_u16 max_u32 maximum3_f32 mbcnt_hi_u32_b32 mbcnt_lo_u32_b32
    med3_f16 med3_f32 med3_i16 med3_i32 med3_u16 med3_u32 mfma_f32_16x16x128_f8f6f4
    mfma_f32_16x16x16_bf16 mfma_f32_16x16x16_f16 mfma_f32_16x16x16bf16_1k mfma_f32_16x16x16f16
    mfma_f32_16x16x1_4b_f32 mfma_f32_16x16x1f32 mfma_f32_16x16x2bf16 mfma_f32_16x16x32_bf16
    mfma_f32_16x16x32_bf8_bf8 mfma_f32_16x16x32_bf8_fp8 mfma_f32_16x16x32_f16
    mfma_f32_16x16x32_fp8_bf8 mfma_f32_16x16x32_fp8_fp8 mfma_f32_16x16x4_4b_bf16
    mfma_f32_16x16x4_4b_f16 mfma_f32_16x16x4_f32 mfma_f32_16x16x4bf16_1k mfma_f32_16x16x4f16
    mfma_f32_16x16x4f32 mfma_f32_16x16x8_xf32 mfma_f32_16x16x8bf16 mfma_f32_16x16x8xf32
    mfma_f32_32x32x16_bf16 mfma_f32_32x32x16_bf8_bf8 mfma_f32_32x32x16_bf8_fp8
    mfma_f32_32x32x16_f16 mfma_f32_32x32x16_fp8_bf8 mfma_f32_32x32x16_fp8_fp8
    mfma_f32_32x32x1_2b_f32 mfma_f32_32x32x1f32 mfma_f32_32x32x2_f32 mfma_f32_32x32x2bf16
    mfma_f32_32x32x2f32 mfma_f32_32x32x4_2b_bf16 mfma_f32_32x32x4_2b_f16 mfma_f32_32x32x4_xf32
    mfma_f32_32x32x4bf16 mfma_f32_32x32x4bf16_1k mfma_f32_32x32x4f16 mfma_f32_32x32x4xf32
    mfma_f32_32x32x8_bf16 mfma_f32_32x32x8_f16 mfma_f32_32x32x8bf16_1k mfma_f32_32x32x8f16
    mfma_f32_4x4x1_16b_f32 mfma_f32_4x4x1f32 mfma_f32_4x4x2bf16 mfma_f32_4x4x4_16b_bf16
    mfma_f32_4x4x4_16b_f16 mfma_f32_4x4x4bf16_1k mfma_f32_4x4x4f16 mfma_f64_16x16x4_f64
    mfma_f64_16x16x4f64 mfma_f64_4x4x4_4b_f64 mfma_f64_4x4x4f64 mfma_i32_16x16x16i8
    mfma_i32_16x16x32_i8 mfma_i32_16x16x32i8 mfma_i32_16x16x4_4b_i8 mfma_i32_16x16x4i8
    mfma_i32_16x16x64_i8 mfma_i32_32x32x16_i8 mfma_i32_32x32x16i8 mfma_i32_32x32x32_i8
    mfma_i32_32x32x4_2b_i8 mfma_i32_32x32x4i8 mfma_i32_32x32x8i8 mfma_i32_4x4x4_16b_i8
    mfma_i32_4x4x4i8 mfma_ld_scale_b32 min3_f16 min3_f32 min3_i16 min3_i32 min3_u16 min3_u32
    min_f16 min_f32 min_f64 min_i16 min_i32 min_u16 min_u32 minimum3_f32 mov_b32 mov_b64
    mqsad_pk_u16_u8 mqsad_u32_u8 msad_u8 mul_f16 mul_f32 mul_f64 mul_hi_i32 mul_hi_i32_i24
    mul_hi_u32 mul_hi_u32_u24 mul_i32_i24 mul_legacy_f32 mul_lo_i32 mul_lo_u16 mul_lo_u32
    mul_u32_u24 nop not_b32 or3_b32 or_b32 pack_b32_f16 perm_b32 permlane16_swap_b32
    permlane32_swap_b32 pk_add_f16 pk_add_f32 pk_add_i16 pk_add_u16 pk_ashrrev_i16 pk_fma_f16
    pk_fma_f32 pk_fmac_f16 pk_lshlrev_b16 pk_lshrrev_b16 pk_mad_i16 pk_mad_u16 pk_max_f16
    pk_max_i16 pk_max_u16 pk_maximum3_f16 pk_min_f16 pk_min_i16 pk_min_u16 pk_minimum3_f16
    pk_mov_b32 pk_mul_f16 pk_mul_f32 pk_mul_lo_u16 pk_sub_i16 pk_sub_u16 prng_b32 qsad_pk_u16_u8
    rcp_f16 rcp_f32 rcp_f64 rcp_iflag_f32 readfirstlane_b32 readlane_b32 rndne_f16 rndne_f32
    rndne_f64 rsq_f16 rsq_f32 rsq_f64 sad_hi_u8 sad_u16 sad_u32 sad_u8 sat_pk_u8_i16
    screen_partition_4se_b32 sin_f16 sin_f32 smfmac_f32_16x16x128_bf8_bf8
    smfmac_f32_16x16x128_bf8_fp8 smfmac_f32_16x16x128_fp8_bf8 smfmac_f32_16x16x128_fp8_fp8
    smfmac_f32_16x16x32_bf16 smfmac_f32_16x16x32_f16 smfmac_f32_16x16x64_bf16
    smfmac_f32_16x16x64_bf8_bf8 smfmac_f32_16x16x64_bf8_fp8 smfmac_f32_16x16x64_f16
    smfmac_f32_16x16x64_fp8_bf8 smfmac_f32_16x16x64_fp8_fp8 smfmac_f32_32x32x16_bf16
    smfmac_f32_32x32x16_f16 smfmac_f32_32x32x32_bf16 smfmac_f32_32x32x32_bf8_bf8
    smfmac_f32_32x32x32_bf8_fp8 smfmac_f32_32x32x32_f16 smfmac_f32_32x32x32_fp8_bf8
    smfmac_f32_32x32x32_fp8_fp8 smfmac_f32_32x32x64_bf8_bf8 smfmac_f32_32x32x64_bf8_fp8
    smfmac_f32_32x32x64_fp8_bf8 smfmac_f32_32x32x64_fp8_fp8 smfmac_i32_16x16x128_i8
    smfmac_i32_16x16x64_i8 smfmac_i32_32x32x32_i8 smfmac_i32_32x32x64_i8 sqrt_f16 sqrt_f32
    sqrt_f64 sub_co_u32 sub_f16 sub_f32 sub_i16 sub_i32 sub_u16 sub_u32 subb_co_u32
    subbrev_co_u32 subrev_co_u32 subrev_f16 subrev_f32 subrev_u16 subrev_u32 swap_b32
    trig_preop_f64 trunc_f16 trunc_f32 trunc_f64 writelane_b32 xad_u32 xnor_b32 xor_b32
    mfma_f32_16x16x128_f8f6f4 mfma_f32_32x32x64_f8f6f4 mfma_scale_f32_16x16x128_f8f6f4
    mfma_scale_f32_32x32x64_f8f6f4
    """.split()
)
