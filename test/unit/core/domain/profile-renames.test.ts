// Renames of traits and classes in stored profiles: what is accepted, and what becomes of groups.

import { describe, expect, it } from 'vitest';
import type { DeviceProfileUuid } from '#core/domain/ids.ts';
import type { DeviceProfile, Group } from '#core/domain/profile/device-profile.ts';
import { planMigration, readDrop, readRename } from '#core/domain/profile/profile-renames.ts';

const profile = (name: string, ...groups: Group[]): DeviceProfile => ({
  uuid: `uuid-of-${name}` as DeviceProfileUuid,
  name,
  groups,
  revision: 1,
  microversion: '2.0',
  createdAt: '2026-11-23T00:00:00.000Z',
});
const plan = (profiles: readonly DeviceProfile[], ...texts: string[]) =>
  planMigration(profiles, texts.map(readRename));

const old = { 'resources:CUSTOM_NPU': '2', 'trait:CUSTOM_A': 'required' };

describe('a rename', () => {
  it.each([
    ['CUSTOM_A=CUSTOM_B', /must be trait:CUSTOM_OLD=CUSTOM_NEW, resources:/],
    ['trait:CUSTOM_A', /must be trait:/],
    ['accel:bitstream_id=CUSTOM_B', /must be trait:/],
    ['accel:nothing:a=CUSTOM_B', /accel keys are bitstream_id/],
    ['accel:bitstream_id:a=CUSTOM_B', /"a" is not a valid value of accel:bitstream_id/],
    ['accel:function_name:a.b=custom_b', /trait custom_b must be CUSTOM_\* or HW_\*/],
    ['trait:HW_CPU_X86_VMX=CUSTOM_B', /HW_CPU_X86_VMX is not CUSTOM_\*/],
    ['resources:FPGA=CUSTOM_B', /FPGA is not CUSTOM_\*/],
    ['trait:custom_a=CUSTOM_B', /custom_a is not CUSTOM_\*/],
    ['resources:CUSTOM_NPU=GPU', /unknown resource class GPU; it must be one of FPGA, PGPU, VGPU/],
    ['resources:CUSTOM_NPU=MEMORY_MB', /unknown resource class MEMORY_MB/],
    ['trait:CUSTOM_A=MISC_SHARES_VIA_AGGREGATE', /must be CUSTOM_\* or HW_\*/],
    [`trait:CUSTOM_A=CUSTOM_${'B'.repeat(255)}`, /must be CUSTOM_\* or HW_\*/],
  ])('%s is refused', (text, sentence) => {
    expect(() => readRename(text)).toThrow(sentence);
  });

  it('of a name that is given twice, or is a new name, is refused', () => {
    const twice = ['trait:CUSTOM_A=CUSTOM_B', 'trait:CUSTOM_A=CUSTOM_C'];
    expect(() => plan([], ...twice)).toThrow('Duplicate rename of trait:CUSTOM_A');
    const chain = ['trait:CUSTOM_A=CUSTOM_B', 'trait:CUSTOM_B=CUSTOM_C'];
    expect(() => plan([], ...chain)).toThrow(/trait:CUSTOM_B .* is renamed itself/);
    expect(() => plan([], 'trait:CUSTOM_A=CUSTOM_A')).toThrow(/is renamed itself/);
  });
});

describe('the groups', () => {
  it('of alternatives, and traits that are preferred, have the new names, too', () => {
    const preferring = { 'resources:FPGA': '1', 'accel:preferred:trait:CUSTOM_A': 'required' };
    const given = { ...profile('either', { 'resources:FPGA': '1' }), alternatives: [[preferring]] };
    const [migration] = plan([given], 'trait:CUSTOM_A=CUSTOM_B');
    expect(migration?.alternatives).toEqual([
      [{ 'resources:FPGA': '1', 'accel:preferred:trait:CUSTOM_B': 'required' }],
    ]);
    expect(migration?.changes).toEqual([
      { alternative: 0, group: 0, from: 'trait:CUSTOM_A', to: 'trait:CUSTOM_B' },
    ]);
  });

  it('have one trait where two with one value get its name', () => {
    const two = {
      'resources:PGPU': '1',
      'trait:CUSTOM_A': 'required',
      'trait:CUSTOM_B': 'required',
    };
    const renames = ['trait:CUSTOM_A=CUSTOM_C', 'trait:CUSTOM_B=CUSTOM_C'];
    const [migration] = plan([profile('pair', two)], ...renames);
    expect(migration?.groups).toEqual([{ 'resources:PGPU': '1', 'trait:CUSTOM_C': 'required' }]);
    expect(migration?.changes.map(({ from }) => from)).toEqual([
      'trait:CUSTOM_A',
      'trait:CUSTOM_B',
    ]);
    const [one] = plan([profile('pair', two)], 'trait:CUSTOM_A=CUSTOM_B');
    expect(one?.groups).toEqual([{ 'resources:PGPU': '1', 'trait:CUSTOM_B': 'required' }]);
    const other = { ...two, 'trait:CUSTOM_B': 'forbidden' };
    expect(() => plan([profile('odd', other)], ...renames)).toThrow(
      'odd: groups[0] would have trait:CUSTOM_C as required and as forbidden',
    );
  });

  it('have amounts of one class only: two are not added', () => {
    const two = { 'resources:CUSTOM_A': '1', 'resources:CUSTOM_B': '1' };
    const renames = ['resources:CUSTOM_A=PGPU', 'resources:CUSTOM_B=PGPU'];
    expect(() => plan([profile('two', two)], ...renames)).toThrow('resources:PGPU as 1 and as 1');
  });

  it('no longer have a trait that is dropped, whether required, forbidden or preferred', () => {
    const drop = [readDrop('trait:CUSTOM_A')];
    const groups = [
      { ...old },
      { 'resources:FPGA': '1', 'trait:CUSTOM_A': 'forbidden' },
      { 'resources:FPGA': '1', 'accel:preferred:trait:CUSTOM_A': 'required' },
    ];
    const [migration] = planMigration([profile('all', ...groups)], drop);
    expect(migration?.groups).toEqual([
      { 'resources:CUSTOM_NPU': '2' },
      { 'resources:FPGA': '1' },
      { 'resources:FPGA': '1' },
    ]);
    expect(planMigration([profile('all', ...(migration?.groups ?? []))], drop)).toEqual([]);
  });

  it.each(['CUSTOM_A', 'trait:HW_A', 'resources:CUSTOM_A', 'trait:CUSTOM_A=CUSTOM_B'])(
    'may not be without %s',
    (text) => {
      expect(() => readDrop(text)).toThrow(`Drop ${text} must be trait:CUSTOM_OLD`);
    },
  );

  it('have the new names, in their order, and all else as it was', () => {
    const other = { 'resources:FPGA': '1', 'trait:CUSTOM_B': 'forbidden' };
    const [migration, ...more] = plan(
      [profile('both', other, old), profile('none', other)],
      'trait:CUSTOM_A=HW_NPU_A',
      'resources:CUSTOM_NPU=PGPU',
    );
    expect(more).toEqual([]);
    expect(JSON.stringify(migration?.groups)).toBe(
      JSON.stringify([other, { 'resources:PGPU': '2', 'trait:HW_NPU_A': 'required' }]),
    );
    expect(migration?.changes).toEqual([
      { group: 1, from: 'resources:CUSTOM_NPU', to: 'resources:PGPU' },
      { group: 1, from: 'trait:CUSTOM_A', to: 'trait:HW_NPU_A' },
    ]);
    const renamed = profile('both', ...(migration?.groups ?? []));
    expect(plan([renamed], 'trait:CUSTOM_A=HW_NPU_A', 'resources:CUSTOM_NPU=PGPU')).toEqual([]);
  });

  it('keep a class that has the name of a renamed trait', () => {
    const groups = { 'resources:CUSTOM_A': '1', 'trait:CUSTOM_A': 'required' };
    expect(plan([profile('p', groups)], 'trait:CUSTOM_A=CUSTOM_B')[0]?.groups).toEqual([
      { 'resources:CUSTOM_A': '1', 'trait:CUSTOM_B': 'required' },
    ]);
  });

  it('that would have one key twice are refused by name', () => {
    const both = { ...old, 'trait:CUSTOM_B': 'forbidden' };
    expect(() =>
      plan([profile('fine', old), profile('bad', both)], 'trait:CUSTOM_A=CUSTOM_B'),
    ).toThrow('bad: groups[0] would have trait:CUSTOM_B as required and as forbidden');
  });

  it('that would ask for another number of accelerators are refused by name', () => {
    const card = { 'resources:FPGA': '1', 'trait:CUSTOM_CARD': 'required' };
    expect(() => plan([profile('card', card)], 'trait:CUSTOM_CARD=CUSTOM_FPGA_XILINX')).toThrow(
      'card: groups[0] would ask for 2 accelerators instead of 1',
    );
  });
});

it('a property becomes a required trait, only where it has that value', () => {
  const of = (name: string) => ({ 'resources:FPGA': '1', 'accel:function_name': name });
  const [planned, ...others] = plan(
    [profile('gzip', of('gzip'), of('zstd')), profile('zstd', of('zstd'))],
    'accel:function_name:gzip=CUSTOM_FUNCTION_GZIP',
  );
  expect(others).toEqual([]);
  expect(planned).toMatchObject({
    groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_FUNCTION_GZIP': 'required' }, of('zstd')],
    changes: [{ group: 0, from: 'accel:function_name=gzip', to: 'trait:CUSTOM_FUNCTION_GZIP' }],
  });
});
