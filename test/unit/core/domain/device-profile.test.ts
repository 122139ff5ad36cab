import { describe, expect, it } from 'vitest';
import {
  arqCount,
  canonicalGroups,
  checkProfileName,
  groupResources,
  groupTraits,
} from '#core/domain/profile/device-profile.ts';

describe('groups of a device profile', () => {
  it('keep their order, in canonical form', () => {
    expect(
      canonicalGroups([
        { 'resources:custom_nic-x': 2, 'trait:custom-fast': 'required' },
        { 'resources:FPGA': '1', 'trait:HW_CPU_X86_AVX': 'forbidden', 'accel:function_id': '3AFB' },
      ]),
    ).toEqual([
      { 'resources:CUSTOM_NIC_X': '2', 'trait:CUSTOM_FAST': 'required' },
      { 'resources:FPGA': '1', 'trait:HW_CPU_X86_AVX': 'forbidden', 'accel:function_id': '3AFB' },
    ]);
  });

  it.each([
    ['no group', [], 'at least one group'],
    ['a group without resources', [{ 'trait:CUSTOM_A': 'required' }], 'asks for no resource'],
    ['a key without a known prefix', [{ 'resources1:FPGA': '1' }], "'resources:', 'trait:'"],
    ['a class that Nova drops', [{ 'resources:GPU': '1' }], 'resource class GPU'],
    ['a negative amount', [{ 'resources:FPGA': '-1' }], 'not a positive integer'],
    ['a fraction', [{ 'resources:FPGA': '2.5' }], 'not a positive integer'],
    ['an amount of zero', [{ 'resources:FPGA': 0 }], 'not a positive integer'],
    [
      'a trait that is neither required nor forbidden',
      [{ 'resources:FPGA': 1, 'trait:CUSTOM_A': 'maybe' }],
      "'required'",
    ],
    ['a trait with a dot', [{ 'resources:FPGA': 1, 'trait:CUSTOM_A.B': 'required' }], 'trait name'],
    [
      'a trait that no provider can have',
      [{ 'resources:FPGA': 1, 'trait:FAKE_TRAIT': 'required' }],
      'no provider can have trait FAKE_TRAIT; names begin with CUSTOM_*, HW_*,',
    ],
    ['an unknown accel key', [{ 'resources:FPGA': 1, 'accel:speed': '1' }], 'accel keys are'],
    [
      'a key that every object has',
      [{ 'resources:FPGA': 1, 'accel:toString': 'x' }],
      'accel keys are',
    ],
    [
      'a bitstream id that is not a uuid',
      [{ 'resources:FPGA': 1, 'accel:bitstream_id': 'x' }],
      'not a valid value',
    ],
    [
      'an attribute that no host can report',
      [{ 'resources:FPGA': 1, 'accel:attribute:Memory': '1' }],
      'accel keys are',
    ],
    [
      'a comparison that there is not',
      [{ 'resources:FPGA': 1, 'accel:attribute:memory': '> 1' }],
      'accel:attribute:memory',
    ],
    [
      'a target that the specification does not have',
      [{ 'resources:FPGA': 1, 'accel:attach_target': 'container' }],
      'accel:attach_target',
    ],
    [
      'another place than those of pools',
      [{ 'resources:PGPU': 2, 'accel:same': 'rack' }],
      'accel:same',
    ],
    [
      'units of one place, in an amount without a trait',
      [{ 'resources:PGPU': 9, 'accel:same': 'numa' }],
      'in an amount of 1, 2, 3, 4, 5, 6, 7, 8, 16, 32',
    ],
    [
      'units of one place, of two classes',
      [{ 'resources:PGPU': 1, 'resources:CUSTOM_NIC': 1, 'accel:same': 'numa' }],
      'asks for one class',
    ],
    ['one key in two spellings', [{ 'resources:FPGA': 1, 'resources:fpga': 1 }], 'duplicate key'],
    [
      'two images',
      [{ 'resources:FPGA': 1, 'accel:function_id': 'a', 'accel:function_name': 'b' }],
      'at most one',
    ],
    ['more than a bind can hold', [{ 'resources:FPGA': 33 }], 'ask for 33 accelerators'],
    [
      'as many of another class, with the trait of a Xilinx card',
      [{ 'resources:PGPU': 33, 'trait:CUSTOM_FPGA_XILINX': 'required' }],
      'ask for 33 accelerators',
    ],
  ])('refuse %s', (_case, groups, sentence) => {
    expect(() => canonicalGroups(groups as never)).toThrow(sentence);
  });

  it.each([
    [{ 'resources:FPGA': '2', 'resources:CUSTOM_MEM': '3' }, 5],
    [{ 'resources:VGPU': '1' }, 1],
    // Both functions of a Xilinx card are attached.
    [{ 'resources:FPGA': '2', 'trait:CUSTOM_FPGA_XILINX': 'required' }, 4],
    [{ 'resources:FPGA': '2', 'trait:CUSTOM_FPGA_XILINX': 'forbidden' }, 2],
    [{ 'resources:PGPU': '3', 'trait:CUSTOM_FPGA_XILINX': 'required' }, 3],
    [{ 'resources:CUSTOM_FPGA_X': '1', 'trait:CUSTOM_FPGA_XILINX': 'required' }, 1],
    [{ 'resources:FPGA': '2', 'resources:PGPU': '1', 'trait:CUSTOM_FPGA_XILINX': 'required' }, 5],
  ])('%j makes %i ARQs', (group, count) => {
    expect(arqCount(group as Record<string, string>)).toBe(count);
  });

  it('require the trait of their amount where all units are of one place', () => {
    const group = { 'resources:PGPU': '2', 'accel:same': 'numa' };
    const expected = [{ ...group, 'trait:CUSTOM_ACCEL_SAME_NUMA_2': 'required' }];
    expect(canonicalGroups([group])).toEqual(expected);
    // A client sends what it has read, with another amount.
    const read = { ...group, 'trait:CUSTOM_ACCEL_SAME_NUMA_4': 'required' };
    expect(canonicalGroups([read])).toEqual(expected);
  });

  it('separate resources from traits', () => {
    const group = { 'resources:FPGA': '2', 'trait:CUSTOM_A': 'required', 'trait:B': 'forbidden' };
    expect(groupResources(group)).toEqual({ FPGA: 2 });
    expect(groupTraits(group, 'required')).toEqual(['CUSTOM_A']);
    expect(groupTraits(group, 'forbidden')).toEqual(['B']);
  });
});

describe('names of device profiles', () => {
  it.each(['gpu-a', 'A_1', 'x'.repeat(255)])('may be %s', (name) => {
    expect(() => checkProfileName(name)).not.toThrow();
  });

  it.each(['', 'a b', 'a,b', 'a\n', 'ü', 'x'.repeat(256)])('may not be %j', (name) => {
    expect(() => checkProfileName(name)).toThrow('Device profile name');
  });
});
