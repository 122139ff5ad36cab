import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const provider = providerUuid('cmp1_FakeDevice');
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';

beforeAll(() => world.report('cmp1', [aDevice({ handles: 2 })]));
const profile = {
  name: 'fpga-2',
  groups: [{ 'resources:FPGA': '2', 'trait:CUSTOM_FAKE_DEVICE': 'required' }],
};

async function handlesInUse() {
  const stored = await world.deps.store.inventory.provider(provider);
  return stored?.handles.filter((handle) => handle.claim) ?? [];
}

describe('the life of two accelerator requests', () => {
  let uuids: string[] = [];

  it('begins with a device profile', async () => {
    const created = await world.ask('POST', '/accelerator/v2/device_profiles', { body: [profile] });
    expect(created).toMatchObject({ status: 201, json: { name: 'fpga-2' } });
  });

  it('creates one ARQ per accelerator, unbound', async () => {
    const { status, json } = await world.asNova('POST', '/v2/accelerator_requests', {
      device_profile_name: 'fpga-2',
    });
    expect(status).toBe(201);
    expect(json.arqs).toMatchObject([
      { state: 'Initial', device_profile_group_id: 0, attach_handle_type: '', instance_uuid: null },
      { state: 'Initial', device_profile_group_id: 0 },
    ]);
    uuids = json.arqs.map((arq) => arq.uuid);
  });

  it('binds them to an instance, each with a handle of its own', async () => {
    const bound = await world.bindArqs(uuids, { provider, instance });
    expect(bound).toMatchObject({ status: 202, text: '' });
    const { json } = await world.arqsOf(instance);
    expect(json.arqs).toMatchObject([
      {
        state: 'Bound',
        hostname: 'cmp1',
        attach_handle_type: 'TEST_PCI',
        device_rp_uuid: provider,
      },
      { state: 'Bound' },
    ]);
    const infos = json.arqs.map((arq) => JSON.stringify(arq.attach_handle_info));
    expect(new Set(infos).size).toBe(2);
    expect(await handlesInUse()).toHaveLength(2);
  });

  it('answers the repeated bind as it answered the first', async () => {
    expect(await world.bindArqs(uuids, { provider, instance })).toMatchObject({ status: 202 });
    expect(await handlesInUse()).toHaveLength(2);
  });

  it('lists them as resolved', async () => {
    const path = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    const { status, json } = await world.asNova('GET', path);
    expect([status, json.arqs.length]).toEqual([200, 2]);
  });

  it('ends with the delete of the instance, and leaves no claim', async () => {
    for (const _ of [1, 2]) expect((await world.deleteArqsOf(instance)).status).toBe(204);
    expect(await handlesInUse()).toHaveLength(0);
    expect((await world.arqsOf(instance)).json).toEqual({ arqs: [] });
  });
});
