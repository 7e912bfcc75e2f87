// Prints what LLVM 22 says random AMD instructions define and use: chip, opcode, text, registers
// defined, registers used, may load and may store. llvm22.tsv has the shortest text of each form.
// Build against llvm-22-dev: g++ -std=c++17 record.cpp -lLLVM-22
// Run, for llvm22.tsv:         a.out 200000 gfx908 gfx90a gfx942 gfx950 | record.py
//      for llvm22_gfx1030.tsv: a.out 400000 gfx1030 gfx1030,+wavefrontsize64 | record.py gfx1030
//      for llvm22_gfx1100.tsv: a.out 400000 gfx1100 gfx1100,+wavefrontsize64 | record.py gfx1100
//      for llvm22_gfx1200.tsv: a.out 400000 gfx1200 gfx1200,+wavefrontsize64 | record.py gfx1200
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <map>
#include <random>
#include <string>
using namespace llvm;

extern "C" void LLVMInitializeAMDGPUTargetInfo();
extern "C" void LLVMInitializeAMDGPUTargetMC();
extern "C" void LLVMInitializeAMDGPUDisassembler();

static std::mt19937 Random(1);
static uint32_t bits(unsigned N) { return N ? Random() >> (32 - N) : 0; }
static uint32_t encoding(uint32_t Prefix, unsigned N) { return Prefix << (32 - N) | bits(32 - N); }

static bool IsGfx9, IsGfx12;

static uint32_t withSource(uint32_t Word) {
  const uint32_t Sources[] = {bits(9), 256 + bits(8), 256 + bits(8), bits(6), 0xf9, 0xfa, 0xff, 0xe9};
  return (Word & ~0x1ffu) | Sources[bits(8) % (IsGfx9 ? 7 : 8)];
}

// The first six bits of VOP3, and of SMEM.
static uint32_t vop3() { return IsGfx9 ? 0x34 : 0x35; }
static uint32_t smem() { return IsGfx9 ? 0x30 : 0x3d; }

// What gfx12 has of its own: FLAT, GLOBAL and SCRATCH, buffers, images and samples, in three words.
static uint32_t threeWords() {
  const uint32_t Prefixes[] = {0xec, 0xed, 0xee, 0xee, 0xc4, 0xc4, 0xd0, 0xe4};
  uint32_t Prefix = Prefixes[bits(3)];
  if (Prefix == 0xd0 || Prefix == 0xe4)
    return Prefix << 24 | bits(2) << 22 | bits(8) << 14 | (bits(1) ? bits(3) : bits(3) | bits(3) << 4);
  return Prefix << 24 | bits(8) << 14 | (bits(1) ? 0x7c : bits(7));
}

static uint32_t firstWord() {
  unsigned Kind = bits(4);
  if (IsGfx12 && Kind >= 7 && Kind <= 10) return threeWords();
  switch (Kind) {
  case 0: return withSource(encoding(0, 1));             // VOP2
  case 1: return withSource(encoding(0x3f, 7));          // VOP1
  case 2: return withSource(encoding(0x3e, 7));          // VOPC
  case 3: case 4: return encoding(vop3(), 6);            // VOP3
  case 5:
    if (IsGfx9) return 0xd3000000 | bits(24);            // VOP3P
    if (bits(1)) return 0xcc000000 | bits(8) << 16 & 0x7f0000 | bits(16);
    return bits(1) ? encoding(0x32, 6) : encoding(bits(1) ? 0x33 : 0x3e, 6);  // VINTRP, VOPD, EXP
  case 6: return encoding(0x36, 6) & ~(bits(3) ? 1u << (IsGfx9 ? 16 : 17) : 0);  // DS
  case 7: return encoding(0x37, 6);                      // FLAT
  case 8: return encoding(0x38, 6);                      // MUBUF
  case 9: return encoding(0x3a, 6);                      // MTBUF
  case 10: return encoding(0x3c, 6);                     // MIMG
  case 11: return encoding(smem(), 6);                   // SMEM
  case 12: return encoding(2, 2);                        // SOP2
  case 13: return encoding(0x17d, 9);                    // SOP1
  case 14: return encoding(0xbf, 8) & (bits(1) ? ~0u : ~0xffffu);  // SOPC, SOPP
  default: return encoding(0xb, 4);                      // SOPK
  }
}

int main(int Argc, char **Argv) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  long Wanted = atol(Argv[1]);
  std::string Error;
  Triple T("amdgcn-amd-amdhsa");
  const Target *Amd = TargetRegistry::lookupTarget(T, Error);
  for (int Place = 2; Place < Argc; ++Place) {
    auto [Chip, Feature] = StringRef(Argv[Place]).split(',');
    IsGfx9 = Chip.starts_with("gfx9"), IsGfx12 = Chip.starts_with("gfx12");
    const uint32_t NoAddress = (IsGfx9 ? 0x7f : Chip.starts_with("gfx10") ? 0x7d : 0x7c) << 16;
    auto *Info = Amd->createMCInstrInfo();
    auto *Registers = Amd->createMCRegInfo(T);
    MCTargetOptions Options;
    auto *Asm = Amd->createMCAsmInfo(*Registers, T, Options);
    auto *Features = Amd->createMCSubtargetInfo(T, Chip, Feature);
    MCContext Context(T, Asm, Registers, Features);
    auto *Disassembler = Amd->createMCDisassembler(*Features, Context);
    auto *Printer = Amd->createMCInstPrinter(T, 0, *Asm, *Info, *Registers);
    long Last = 0;
    for (long I = 0; I < Wanted; ++I) {
      // LLVM 22's disassembler and printer crash at some encodings: each batch has its own process.
      if (I % 50 == 0) {
        outs().flush();
        if (pid_t Child = fork()) { waitpid(Child, nullptr, 0); I += 49; Random.seed(I); continue; }
        Last = I + 50;
      }
      if (I == Last - 1) { outs().flush(); _exit(0); }
      // An image instruction of gfx10 has up to three words of addresses.
      uint32_t Words[5] = {firstWord(), bits(32), bits(32), bits(32), bits(32)};
      if (Words[0] >> 26 == 0x37 && bits(1)) Words[1] = (Words[1] & ~0x7f0000u) | (bits(1) ? NoAddress : 0);
      // A field that an instruction does not have is 0.
      if (!IsGfx9 && (Words[0] >> 26 == 0x36 || Words[0] >> 26 == 0x37))
        for (uint32_t Field : {0xff00u, 0xff0000u, 0xff000000u})
          if (bits(1) && (Field != 0xff0000u || Words[0] >> 26 == 0x36)) Words[1] &= ~Field;
      if (Words[0] >> 26 == vop3()) {
        bool Matrix = IsGfx9 && Words[0] >> 22 == 0x34f && Words[0] >> 21 & 1;
        auto Source = [&] { return Matrix || bits(2) ? 256 + 2 * bits(6) : bits(9); };
        uint32_t Low = Source(), Middle = Source(), High = Source();
        Words[1] = (Words[1] & 0xf8000000u) | High << 18 | Middle << 9 | Low;
        if (Matrix) Words[0] &= ~0x81u;
        // Integer operations have no modifiers.
        if (!Matrix && bits(1)) Words[0] &= ~0xff00u, Words[1] &= 0x07ffffff;
      }
      // A field that a memory instruction of gfx12 does not have is 0, and most have no hint, scope or offset.
      if (IsGfx12 && Words[0] >> 26 == 0x3b) {
        Words[1] &= 0x7fffffffu & ~0xff00u & ~(bits(1) ? 0x20000u : 0x30000u) & ~(bits(1) ? 0x7c0000u : 0u);
        if (bits(1)) Words[1] &= bits(1) ? ~0xffu : bits(1) ? 0xffu : 0xffff80ffu;
        if (bits(1)) Words[2] &= bits(1) ? 0xffu : 0;
      }
      if (IsGfx12 && (Words[0] >> 26 == 0x34 || Words[0] >> 26 == 0x39)) {
        Words[1] = Words[1] & ~0x3fe00u | bits(3) << 12;
        if (bits(1)) Words[1] &= ~0x7c0100u;
        if (Words[0] >> 26 == 0x39) Words[1] = Words[1] & ~0xff800000u | bits(4) << 25;
        else if (bits(1)) Words[1] &= 0x7fffffu;
        if (bits(1)) Words[2] &= bits(1) ? 0xffu : 0xffffu;
      }
      if (IsGfx12 && Words[0] >> 26 == 0x31) {
        Words[1] = (Words[1] & 0xc01c00ffu) | bits(5) << 11 | bits(1) << 18 | (bits(2) ? 1u << 23 : bits(7) << 23);
        if (bits(1)) Words[1] &= ~0x7c0000u;
        if (bits(1)) Words[2] &= 0xffu;
      }
      if (Words[0] >> 26 == 0x36 && bits(1)) Words[1] &= 0xff0000ff;
      if (Words[0] >> 26 == smem()) Words[1] &= 0x1fffff | (IsGfx9 ? 0 : 0x7fu << 25);
      MCInst Inst;
      uint64_t Size;
      ArrayRef<uint8_t> Bytes(reinterpret_cast<uint8_t *>(Words), IsGfx9 ? 12 : 20);
      if (Disassembler->getInstruction(Inst, Size, Bytes, 0, nulls()) != MCDisassembler::Success) continue;
      std::string Text;
      raw_string_ostream Stream(Text);
      Printer->printInst(&Inst, 0, "", *Features, Stream);
      if (Text.find("/*") != std::string::npos || Text.find("<unk") != std::string::npos) continue;
      for (char &C : Text) if (C == '\t') C = ' ';
      const MCInstrDesc &D = Info->get(Inst.getOpcode());
      std::string Defines, Uses;
      for (unsigned N = 0; N < Inst.getNumOperands() && N < D.getNumOperands(); ++N) {
        const MCOperand &Op = Inst.getOperand(N);
        if (!Op.isReg() || !Op.getReg()) continue;
        std::string Name = std::string(Registers->getName(Op.getReg())) + " ";
        (N < D.getNumDefs() ? Defines : Uses) += Name;
      }
      for (unsigned N = 0; N < D.getNumOperands(); ++N) {
        int Tied = D.getOperandConstraint(N, MCOI::TIED_TO);
        if (Tied >= 0 && Inst.getOperand(Tied).isReg())
          Uses += std::string(Registers->getName(Inst.getOperand(Tied).getReg())) + " ";
      }
      for (auto R : D.implicit_defs()) Defines += std::string(Registers->getName(R)) + " ";
      for (auto R : D.implicit_uses()) Uses += std::string(Registers->getName(R)) + " ";
      outs() << Chip << '\t' << Info->getName(Inst.getOpcode()) << '\t' << StringRef(Text).trim() << '\t'
             << Defines << '\t' << Uses << '\t' << int(D.mayLoad()) << int(D.mayStore()) << '\n';
      outs().flush();
    }
  }
}
