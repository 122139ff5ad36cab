// A device that keeps the providers of another service, as its host reports it.

import { describe, expect, it } from 'vitest';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { AdoptedProvider } from '#core/domain/device/adopted-providers.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { type ArqUuid, type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { wantedProviders } from '#core/domain/placement/provider-tree.ts';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { anInstanceUuid } from '#test/support/builders.ts';
import { aDevice, aHandle, discovered } from '#test/support/reports.ts';

const now = '2026-07-01T00:00:00.000Z';
const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };
const one = 'c0000000-0000-3000-8000-000000000001' as ProviderUuid;
const two = 'c0000000-0000-3000-8000-000000000002' as ProviderUuid;
const whole: AdoptedProvider = { uuid: one, name: 'cmp1_of_cyborg', traits: ['CUSTOM_OF_CYBORG'] };
/** A card with three virtual functions. */
const card = aDevice({
  offers: {
    resource_class: 'CUSTOM_NIC',
    traits: [],
    attach_handles: [1, 2, 3].map((index) => aHandle(index, 'PCI')),
  },
});
const ofFunction = (index: number, uuid: ProviderUuid): AdoptedProvider => ({
  uuid,
  name: `cmp1_vf${index}`,
  traits: [],
  address: `0000:0c:00.${index}`,
});

/** The stored device, with these handles at its first provider. */
function imported(adopted: readonly AdoptedProvider[], handles: readonly AttachHandle[] = []) {
  const plan = planDevice('cmp1', undefined, discovered(card), now);
  const device: Device = { ...plan.device, adopted, providers: adopted.map(({ uuid }) => uuid) };
  const [deployable] = plan.deployables;
  if (!deployable) throw new Error('The device has no deployable.');
  const providers = adopted.map(
    ({ uuid }): StoredProvider => ({
      deployable: { ...deployable, providerUuid: uuid },
      handles: handles.filter(({ providerUuid: of }) => of === uuid),
    }),
  );
  return { device, providers };
}

describe('a device with adopted providers', () => {
  it('keeps a provider for each function that had one, and offers the others itself', () => {
    const adopted = [ofFunction(1, one), ofFunction(2, two)];
    const { deployables, addHandles } = planDevice(
      'cmp1',
      imported(adopted),
      discovered(card),
      now,
    );
    const own = providerUuid('cmp1_FakeDevice');
    expect(deployables.map((each) => [each.providerUuid, each.numAccelerators])).toEqual([
      [own, 1],
      [one, 1],
      [two, 1],
    ]);
    expect(addHandles.map((each) => [each.providerUuid, each.info.function])).toEqual([
      [own, '3'],
      [one, '1'],
      [two, '2'],
    ]);
  });

  it('retires the provider of a function that the host offers no longer', () => {
    const adopted = [ofFunction(1, one), ofFunction(7, two)];
    const { deployables } = planDevice('cmp1', imported(adopted), discovered(card), now);
    expect(deployables.find((each) => each.providerUuid === two)).toMatchObject({ isGone: true });
  });

  it.each([
    ['a claim', { claim }],
    ['a release', { release: 'r' as never }],
  ])('is withheld while the host does not report a handle with %s', (_, held) => {
    const lost: AttachHandle = {
      uuid: 'lost' as never,
      providerUuid: one,
      type: 'PCI',
      info: {},
      epoch: 1,
      isGone: false,
      ...held,
    };
    const before = imported([whole], [lost]);
    const { device, deployables } = planDevice('cmp1', before, discovered(card), now);
    expect(device).toMatchObject({ digest: '', health: { state: 'unhealthy', since: now } });
    const providers = deployables.map((deployable) => ({ deployable, handles: [] }));
    const [wanted] = wantedProviders(device, providers, { stage: 'test', attachTypes: ['PCI'] });
    expect(wanted?.inventories).toMatchObject({ CUSTOM_NIC: { total: 3, reserved: 3 } });
    const later = planDevice(
      'cmp1',
      { ...before, device },
      discovered(card),
      '2026-07-02T00:00:00.000Z',
    );
    expect(later.device.health?.since).toBe(now);
  });

  it('is not withheld for a withheld handle that no one holds', () => {
    const lost: AttachHandle = {
      uuid: 'lost' as never,
      providerUuid: one,
      type: 'PCI',
      info: {},
      epoch: 1,
      isGone: false,
      restoredAt: now,
    };
    expect(handleStateOf(lost)).toBe('restored');
    const { device } = planDevice('cmp1', imported([whole], [lost]), discovered(card), now);
    expect(device.health).toBeUndefined();
  });
});
