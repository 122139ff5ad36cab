import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { type DevicePlan, planDevice } from '#core/domain/report/device-plan.ts';
import { planRetirement } from '#core/domain/report/plan-retirement.ts';
import { anInstanceUuid } from '#test/support/builders.ts';
import { aDevice, aHandle, discovered } from '#test/support/reports.ts';

const now = '2026-07-01T00:00:00.000Z';

/** The rows after a plan. */
function applied(plan: DevicePlan, before: readonly AttachHandle[] = []) {
  const dropped = new Set(plan.dropHandles.map(({ uuid }) => uuid));
  const handles = [...before, ...plan.addHandles]
    .filter(({ uuid, claim }) => !dropped.has(uuid) || claim)
    .map((handle) => (dropped.has(handle.uuid) ? { ...handle, isGone: true } : handle));
  const providers = plan.deployables.map(
    (deployable): StoredProvider => ({
      deployable,
      handles: handles.filter(({ providerUuid }) => providerUuid === deployable.providerUuid),
    }),
  );
  return { device: plan.device, providers };
}

function stored(device: ReportedDevice) {
  return applied(planDevice('cmp1', undefined, discovered(device), now));
}

describe('planning a device', () => {
  const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };

  it('adds and deletes nothing the second time', () => {
    const device = aDevice({ handles: 3 });
    const again = planDevice('cmp1', stored(device), discovered(device), now);
    expect(again).toMatchObject({ addHandles: [], dropHandles: [], reviveHandles: [] });
  });

  it.each([
    ['physical_network', 'physnet1', 'physnet2'],
    ['managed', undefined, 'no'],
  ])('keeps a handle whose %s changes, and stores the change', (key, one, other) => {
    const withInfo = (value: string | undefined) => {
      const { type, info } = aHandle(1, 'PCI');
      const handle = { type, info: { ...info, ...(value !== undefined && { [key]: value }) } };
      const { offers, ...device } = aDevice({ handles: 1 });
      if (!offers) throw new Error('The device offers nothing.');
      return { ...device, offers: { ...offers, attach_handles: [handle] } };
    };
    const before = stored(withInfo(one));
    const plan = planDevice('cmp1', before, discovered(withInfo(other)), now);
    expect(plan).toMatchObject({ addHandles: [], dropHandles: [] });
    expect(plan.changeHandles.map(({ info }) => info[key])).toEqual([other]);
    const again = planDevice('cmp1', before, discovered(withInfo(one)), now);
    expect(again.changeHandles).toEqual([]);
  });

  it('keeps the status that an operator has set', () => {
    const before = stored(aDevice());
    const disabled = { ...before, device: { ...before.device, status: 'maintaining' as const } };
    const { device } = planDevice('cmp1', disabled, discovered(aDevice({ handles: 5 })), now);
    expect(device.status).toBe('maintaining');
  });

  it('gives a region the attributes of its device, and its own before them', () => {
    const region = (name: string, attributes?: Record<string, string>) => ({
      name,
      kind: 'reconfigurable-region' as const,
      resource_class: 'FPGA',
      traits: [],
      attach_handles: [],
      ...(attributes && { attributes }),
    });
    const attributes = { local_memory_mib: '8192', board: 'a' };
    const regions = [region('region0', { local_memory_mib: '4096' }), region('region1')];
    const device = { ...aDevice({ regions }), attributes };
    const stated = stored(device).providers.map(({ deployable }) => deployable.reportedAttributes);
    const own = { ...attributes, local_memory_mib: '4096' };
    expect(stated).toMatchObject([attributes, own, attributes]);
  });

  it('stores the kind of each region', () => {
    const offering = { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1, 'PCI')] };
    const region = { name: 'region0', kind: 'reconfigurable-region' as const, ...offering };
    const { providers } = stored(aDevice({ regions: [region] }));
    const kinds = providers.map(({ deployable }) => deployable.regionKind);
    expect(kinds).toEqual([undefined, 'reconfigurable-region']);
  });

  it('keeps a gone region until Placement has deleted its provider', () => {
    const offering = { resource_class: 'FPGA', traits: [], attach_handles: [] };
    const region = { name: 'region0', kind: 'reconfigurable-region' as const, ...offering };
    const before = stored(aDevice({ regions: [region] }));
    const { deployables, device } = planDevice('cmp1', before, discovered(aDevice()), now);
    expect(deployables.map(({ isGone }) => isGone)).toEqual([false, true]);
    expect(device.providers).toHaveLength(2);
  });

  it('retires all handles of a gone device, and restores them when it returns', () => {
    const before = stored(aDevice());
    const retired = planRetirement(before, now);
    expect(retired.dropHandles).toHaveLength(2);
    const inUse = before.providers
      .flatMap(({ handles }) => handles)
      .map((handle) => ({ ...handle, claim }));
    const left = applied(retired, inUse);
    const back = planDevice('cmp1', left, discovered(aDevice()), now);
    expect(back.reviveHandles).toHaveLength(2);
    expect(back.device.isGone).toBe(false);
  });

  it('reaches what is reported, from whatever was stored', () => {
    const count = fc.integer({ min: 0, max: 6 });
    fc.assert(
      fc.property(count, count, (before, after) => {
        const reached = applied(
          planDevice(
            'cmp1',
            stored(aDevice({ handles: before })),
            discovered(aDevice({ handles: after })),
            now,
          ),
          stored(aDevice({ handles: before })).providers.flatMap(({ handles }) => handles),
        );
        const target = stored(aDevice({ handles: after }));
        const uuids = ({ providers }: typeof target) =>
          providers.flatMap(({ handles }) => handles.map(({ uuid }) => uuid)).sort();
        expect(uuids(reached)).toEqual(uuids(target));
      }),
    );
  });
});
