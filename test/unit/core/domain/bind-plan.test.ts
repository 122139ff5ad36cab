import { describe, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import {
  type BindFacts,
  needsHost,
  needsProgram,
  planBind,
  type StoredProvider,
} from '#core/domain/arq/bind-plan.ts';
import { isProgrammable, withheldHandles } from '#core/domain/arq/region-handles.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { ArqUuid, InstanceUuid, ReleaseId } from '#core/domain/ids.ts';
import {
  aDeployable,
  anArq,
  aProvider,
  aProviderUuid,
  aStoredHandle,
  aTarget,
} from '#test/support/builders.ts';

function facts(provider: StoredProvider, arqs: readonly Arq[] = [anArq()]): BindFacts {
  return {
    targets: arqs.map(({ uuid }) => aTarget({ arqUuid: uuid })),
    arqs: new Map(arqs.map((arq) => [arq.uuid, arq])),
    providers: new Map([[aProviderUuid, provider]]),
    attachTypes: ['PCI', 'TEST_PCI'],
    random: () => 0,
  };
}

const two = [anArq({ uuid: 'arq-1' as ArqUuid }), anArq({ uuid: 'arq-2' as ArqUuid })] as const;

describe('planning a bind', () => {
  it('picks a random free handle', () => {
    const [claim] = planBind({ ...facts(aProvider()), random: () => 0.99 });
    expect(claim?.handle.uuid).toBe(aStoredHandle({ index: 2 }).uuid);
  });

  const provided = (given: Parameters<typeof aProvider>[0]) => facts(aProvider(given));
  const asking = (keys: Record<string, string>) =>
    facts(aProvider(), [anArq({ group: { 'resources:FPGA': '1', ...keys } })]);
  const [first, second] = [
    aStoredHandle({ type: 'PCI' }),
    aStoredHandle({ index: 2, type: 'PCI' }),
  ];
  const pci = { ...aProvider(), handles: [first, second] };
  const hostGroup = { 'resources:FPGA': '1', 'accel:attach_target': 'host' };
  const forHost = anArq({ uuid: 'arq-2' as ArqUuid, group: hostGroup });
  const remembering = (held: string, asked: string, name = 'memory_mib') => {
    const provider = aProvider({ reportedAttributes: { memory_mib: held } });
    const group = { 'resources:FPGA': '1', [`accel:attribute:${name}`]: asked };
    return facts(provider, [anArq({ group })]);
  };
  const mdev = { ...aProvider(), handles: [aStoredHandle({ type: 'MDEV' })] };

  it.each<[string, BindFacts, string]>([
    ['fewer free handles than ARQs', facts(aProvider({}, 1), two), 'fewer than 2 free'],
    ['another host', provided({ hostname: 'cmp2' }), 'is not on host cmp1.'],
    ['another class', provided({ resourceClass: 'PGPU' }), 'has PGPU, but'],
    ['a disabled device', provided({ deviceStatus: 'maintaining' }), 'is disabled'],
    [
      'an ARQ for the host beside one for the VM, with a Nova that attaches all or none',
      facts(pci, [two[0], forHost]),
      'accelerators of one kind only',
    ],
    ['less memory than asked for', remembering('4096', '>=8192'), 'memory_mib of 4096, which must'],
    ['no such attribute', remembering('4096', '1', 'bank'), 'no attribute bank, which must be 1'],
    ['another text', remembering('ddr4', 'hbm'), 'memory_mib of ddr4, which must be hbm'],
    ['text for a number', remembering('ddr4', '>=1'), 'memory_mib of ddr4, which must be >=1'],
    ['a device that is gone', provided({ isGone: true }), 'Deployable not found'],
    ['a missing trait', asking({ 'trait:CUSTOM_X': 'required' }), 'lacks CUSTOM_X'],
    ['a forbidden trait', asking({ 'trait:OWNER_CYBORG': 'forbidden' }), 'has OWNER_CYBORG'],
    ['a type that the hypervisor ignores', facts(mdev), 'attaches as MDEV'],
    ['a bound ARQ', facts(aProvider(), [anArq({ state: 'Bound' })]), 'is Bound and cannot'],
    ['an image for no FPGA', asking({ 'accel:function_id': 'a' }), 'cannot be programmed'],
  ])('refuses %s', (_case, bindFacts, sentence) => {
    expect(() => planBind(bindFacts)).toThrow(sentence);
  });

  it.each([
    [
      'beside one for the VM, with Nova 34',
      [two[0], forHost],
      ['PCI', 'MDEV', 'TEST_PCI'] as const,
    ],
    ['alone, with any Nova', [forHost], ['PCI'] as const],
  ])('binds an ARQ for the host %s', (_case, arqs, attachTypes) => {
    expect(planBind({ ...facts(pci, arqs), attachTypes })).toHaveLength(arqs.length);
  });

  it.each([
    ['8192', '>=8192'],
    ['8192.5', '>=8192'],
    ['ddr4', 'ddr4'],
  ])('binds a device whose attribute %s is asked for as %s', (held, asked) => {
    expect(planBind(remembering(held, asked))).toHaveLength(1);
  });

  it('refuses to program a region under another instance', () => {
    const region = aProvider({ region: 'region0', regionKind: 'reconfigurable-region' });
    const claim = { arqUuid: 'other' as ArqUuid, instanceUuid: 'other' as InstanceUuid };
    const handles = [aStoredHandle({ index: 1, claim }), aStoredHandle({ index: 2 })];
    const asking = [anArq({ group: { 'resources:FPGA': '1', 'accel:function_id': 'a' } })];
    expect(() => planBind(facts({ ...region, handles }, asking))).toThrow('uses its region');
    expect(planBind(facts({ ...region, handles }))).toHaveLength(1);
    const [planned] = planBind(facts(region, asking));
    expect(planned && needsHost(planned)).toBe(true);
  });

  it('uses the other vGPUs of a type that has one in quarantine', () => {
    const quarantined = aStoredHandle({ index: 1, type: 'MDEV', quarantine: 'EIO' });
    const second = aStoredHandle({ index: 2, type: 'MDEV' });
    const type = {
      ...aProvider({ region: 'nvidia-1', regionKind: 'mdev-type' }),
      handles: [quarantined, second],
    };
    const given = { ...facts(type), attachTypes: ['MDEV'] as const };
    // Nova makes the mdevs of this host: its agent prepares none.
    const [planned] = planBind(given);
    expect(planned?.handle).toEqual(second);
    expect(planned && needsHost(planned)).toBe(false);
    expect(withheldHandles(type)).toEqual([quarantined]);
  });

  it('uses no handle of a region that has one in quarantine', () => {
    const quarantined = aStoredHandle({ index: 1, quarantine: 'EIO' });
    const region = aProvider({ region: 'region0', regionKind: 'reconfigurable-region' });
    const handles = [quarantined, aStoredHandle({ index: 2 })];
    expect(() => planBind(facts({ ...region, handles }))).toThrow('fewer than 1 free');
    expect(withheldHandles({ ...region, handles })).toEqual(handles);
  });

  it('does not program a type of vGPUs that has no attach handle', () => {
    const type = aProvider({ region: 'nvidia-1', regionKind: 'mdev-type' }, 0);
    expect(isProgrammable(type)).toBe(false);
  });

  it('does not program a partition, and quarantines its handles one by one', () => {
    const partition = aProvider({ region: 'gi-1', regionKind: 'partition' });
    const handles = [aStoredHandle({ index: 1, quarantine: 'EIO' }), aStoredHandle({ index: 2 })];
    expect(isProgrammable(partition)).toBe(false);
    expect(withheldHandles({ ...partition, handles })).toEqual([handles[0]]);
  });

  it('refuses an image for a type of vGPUs', () => {
    const type = {
      ...aProvider({ region: 'nvidia-1', regionKind: 'mdev-type' }),
      handles: [aStoredHandle({ type: 'MDEV' })],
    };
    const asking = [anArq({ group: { 'resources:FPGA': '1', 'accel:function_id': 'a' } })];
    const given = { ...facts(type, asking), attachTypes: ['MDEV'] as const };
    expect(() => planBind(given)).toThrow(
      'cannot be programmed: it is not a reconfigurable region',
    );
  });

  it("takes a host's own attach types in place of the deployment's", () => {
    const handles = [aStoredHandle({ type: 'MDEV' })];
    const own = { ...aProvider({ hostAttachTypes: ['MDEV'] }), handles };
    expect(planBind(facts(own))).toHaveLength(1);
    const other = aProvider({ hostAttachTypes: ['MDEV', 'PCI'] });
    expect(() => planBind(facts(other))).toThrow(
      `${aProviderUuid} attaches as TEST_PCI, which the hypervisor of host cmp1 does not take; it takes MDEV, PCI.`,
    );
  });

  it('ignores the type of a handle that the host no longer reports', () => {
    const gone = aStoredHandle({ index: 1, type: 'MDEV', isGone: true });
    const handles = [gone, aStoredHandle({ index: 2 })];
    expect(planBind(facts({ ...aProvider(), handles }))[0]?.handle).toEqual(handles[1]);
  });

  const asksFor = (same: string, arqs: readonly Arq[] = two) =>
    arqs.map((arq) => ({ ...arq, group: { 'resources:FPGA': '2', 'accel:same': same } }));
  const unit = (index: number, numa: number, given: Partial<AttachHandle> = {}) =>
    aStoredHandle({ index, locality: { numa }, ...given });
  const pool = (...handles: AttachHandle[]) => ({ ...aProvider(), handles });

  it('takes units of a pool that belong together, without the trait that Placement has', () => {
    const provider = pool(unit(1, 0), unit(2, 1), unit(3, 1));
    const group = { 'trait:CUSTOM_ACCEL_SAME_NUMA_2': 'required' };
    const arqs = asksFor('numa').map((arq) => ({ ...arq, group: { ...arq.group, ...group } }));
    const claims = planBind(facts(provider, arqs));
    expect(claims.map(({ handle }) => handle.locality)).toEqual([{ numa: 1 }, { numa: 1 }]);
  });

  it('takes units that are ready before units that are being cleaned', () => {
    const release = 'release-1' as ReleaseId;
    const provider = pool(unit(1, 0, { release }), unit(2, 0), unit(3, 1), unit(4, 1));
    const claims = planBind(facts(provider, asksFor('numa')));
    expect(claims.map(({ handle }) => handle.locality?.numa)).toEqual([1, 1]);
    const [first, second] = planBind(facts(pool(...provider.handles.slice(0, 2)), two));
    expect([first?.handle.release, second?.handle.release]).toContain(release);
  });

  it.each<[string, AttachHandle[], string]>([
    ['units of two places', [unit(1, 0), unit(2, 1)], 'fewer than 2 free attach handles, all of'],
    [
      'a part of a set',
      [
        unit(1, 0, { locality: { set: 's' } }),
        unit(2, 0, { locality: { set: 's' }, quarantine: 'EIO' }),
        unit(3, 0),
      ],
      'fewer than 2 free',
    ],
  ])('refuses %s of a pool', (_case, handles, sentence) => {
    expect(() => planBind(facts(pool(...handles), asksFor('numa')))).toThrow(sentence);
  });

  it('chooses groups of one place together, where they have one pool', () => {
    const provider = pool(unit(1, 0), unit(2, 1), unit(3, 1), unit(4, 1));
    const three = [...two, anArq({ uuid: 'arq-3' as ArqUuid, groupId: 1 })];
    const arqs = asksFor('numa', three);
    const claims = planBind(facts(provider, arqs));
    expect(new Set(claims.map(({ handle }) => handle.locality?.numa))).toEqual(new Set([1]));
    expect(new Set(claims.map(({ handle }) => handle.uuid)).size).toBe(3);
  });

  it('withholds the rest of a set that has a unit in quarantine', () => {
    const set = { locality: { set: 's' } };
    const quarantined = unit(1, 0, { ...set, quarantine: 'EIO' });
    const rest = unit(2, 0, set);
    expect(withheldHandles(pool(quarantined, rest, unit(3, 0)))).toEqual([quarantined, rest]);
  });

  it('refuses an unreported provider', () => {
    expect(() => planBind({ ...facts(aProvider()), providers: new Map() })).toThrow(
      `resource provider uuid ${aProviderUuid}`,
    );
  });
});

describe('programming', () => {
  const id = '0f1a2b3c-0000-4000-8000-00000000000a';
  it.each<[boolean, Record<string, string>, string]>([
    [false, {}, 'asks for no image'],
    [false, { 'accel:bitstream_id': id.toUpperCase() }, 'holds the image'],
    [false, { 'accel:function_id': id.replaceAll('-', '') }, 'has the function'],
    [true, { 'accel:bitstream_id': id.replace('a', 'b') }, 'holds another image'],
    [true, { 'accel:function_id': 'a' }, 'has another function'],
    [true, { 'accel:bitstream_name': 'a.gbs' }, 'holds an image whose name Glance knows'],
  ])('is needed: %s, for %o that %s', (expected, group) => {
    const deployable = aDeployable({ region: 'region0', bitstreamId: id, functionUuids: [id] });
    expect(needsProgram(group, deployable)).toBe(expected);
  });

  it('is needed when the content of the region is unknown', () => {
    expect(needsProgram({ 'accel:bitstream_id': id }, aDeployable({ region: 'r' }))).toBe(true);
  });
});
