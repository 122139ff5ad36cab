// An FPGA whose host has booted: what its region held is gone, or is not.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Queues } from '#core/clients/queues.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { sweep } from '#core/operations/sweep.ts';
import {
  anImage,
  boot,
  bootAfresh,
  bound,
  deps,
  end,
  jobs,
  loadedId,
  nextReport,
  receive,
  region,
  releases,
  remove,
  reprovisionFor,
  startAwaited,
  startFpgaHost,
  stateOf,
  theOnlyStep,
  theStep,
  world,
} from '#test/support/fpga-host.ts';
import { aGbs } from '#test/support/gbs.ts';

beforeAll(startFpgaHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

/** A consumer that dies when it has noted the boot. */
function dyingAtDevices(given: ConsumerDeps): ConsumerDeps {
  const inventory = {
    ...given.store.inventory,
    putDevice: () => Promise.reject(new Error('died')),
  };
  return { ...given, store: { ...given.store, inventory } };
}

describe('a host that boots', () => {
  async function boundWith(data: Buffer) {
    const id = await anImage({}, data);
    return { id, instance: await bound({ 'accel:bitstream_id': id }) };
  }

  it('has its region programmed again; until then the ARQ is provisioning', async () => {
    const { id, instance } = await boundWith(aGbs());
    await boot();
    await reprovisionFor(instance);
    expect([...jobs.values()]).toMatchObject([{ action: 'reprovision', host: 'cmp1' }]);
    expect([theStep().image.id, await stateOf(instance)]).toEqual([id, 'provisioning']);
    await end('succeeded');
    expect(await stateOf(instance)).toBe('Bound');
  });

  it('is left alone where its region still holds the image', async () => {
    const { id, instance } = await boundWith(aGbs());
    await boot({ bitstream: id });
    await reprovisionFor(instance);
    expect([jobs.size, await stateOf(instance)]).toEqual([0, 'Bound']);
  });

  it('is not believed to hold still what its driver cannot look at', async () => {
    const { id, instance } = await boundWith(aGbs());
    await boot({ bitstream: id }, { isSameBoot: true });
    await receive({ ...nextReport(), manifest: {}, devices: [], failed_drivers: ['fake_driver'] });
    expect(await stateOf(instance)).toBe('provisioning');
    await boot({}, { isSameBoot: true });
    await reprovisionFor(instance);
    expect([theStep().image.id, await stateOf(instance)]).toEqual([id, 'provisioning']);
  });

  it('is known to hold it again once its driver can look, though that is what it held before', async () => {
    const { id } = await boundWith(aGbs());
    await boot({ bitstream: id }, { isSameBoot: true });
    await receive({ ...nextReport(), manifest: {}, devices: [], failed_drivers: ['fake_driver'] });
    await boot({ bitstream: id }, { isSameBoot: true });
    expect((await deps.store.inventory.provider(region))?.deployable.bitstreamId).toBe(id);
  });

  it('is not believed to hold it still by a late report, where the boot’s own was not applied', async () => {
    const { id, instance } = await boundWith(aGbs());
    await boot({ bitstream: id }, { isSameBoot: true });
    const [late, first] = [nextReport(), nextReport({}, { isSameBoot: true })];
    await expect(receive(first, dyingAtDevices(deps))).rejects.toThrow('died');
    await receive(late);
    await receive(first);
    await reprovisionFor(instance);
    expect([theStep().image.id, await stateOf(instance)]).toEqual([id, 'provisioning']);
  });

  it('is not programmed where what it holds turns out to be the named image', async () => {
    const name = `${randomUUID()}.gbs`;
    const id = await anImage({ name }, aGbs());
    const instance = await bound({ 'accel:bitstream_name': name });
    await boot({ bitstream: id });
    expect(await stateOf(instance)).toBe('provisioning');
    await reprovisionFor(instance);
    expect(theOnlyStep()).toMatchObject({ kind: 'check-region', bitstream_id: id });
    await end('succeeded');
    expect(await stateOf(instance)).toBe('Bound');
  });

  it('is asked after an hour where nobody has asked it, and not again', async () => {
    const { instance } = await boundWith(aGbs());
    await boot();
    const sent: object[] = [];
    const send: Queues['send'] = async (_queue, messages) => void sent.push(...messages);
    const look = (minutes: number) =>
      sweep({ ...deps, queues: { send }, clock: () => Date.now() + minutes * 60_000 });
    await look(6);
    expect(sent).toEqual([]);
    await look(66);
    const binding = await deps.store.arqs.binding(instance);
    expect(sent).toEqual([{ kind: 'reprovision', job_uuid: binding?.jobUuid }]);
    await reprovisionFor(instance);
    await look(130);
    expect(sent).toHaveLength(1);
  });

  it('is not asked for what was deleted before it got to it', async () => {
    const { instance } = await boundWith(aGbs());
    await boot();
    await reprovisionFor(instance);
    const [job] = jobs.keys();
    await remove(instance);
    const cancelled: string[] = [];
    const cancel = async (id: string) => void cancelled.push(id);
    const clients = { ...deps.clients, jobs: { ...deps.clients.jobs, cancel } };
    for (const id of await releases()) await startAwaited({ ...deps, clients }, id);
    expect(cancelled).toContain(job);
  });

  it('fails what cannot be had again, with the reason', async () => {
    const name = `${randomUUID()}.gbs`;
    await anImage({ name }, aGbs());
    const instance = await bound({ 'accel:bitstream_name': name });
    await anImage({ name }, aGbs());
    await boot();
    await reprovisionFor(instance);
    expect([jobs.size, await stateOf(instance)]).toEqual([0, 409]);
    const listed = await world.asNova('GET', `/v2/accelerator_requests?instance=${instance}`);
    expect(listed.json.error_message).toContain(name);
  });

  it('waits with what the boot’s first report does not describe', async () => {
    const { instance } = await boundWith(aGbs());
    await boot({ bitstream: loadedId }, { isDescribed: false });
    const { host } = await deps.store.inventory.host('cmp1');
    expect(host.isReprovisioning).toBe(true);
    await boot({ bitstream: loadedId }, { isSameBoot: true });
    expect(await stateOf(instance)).toBe('provisioning');
    expect((await deps.store.inventory.host('cmp1')).host.isReprovisioning).toBe(false);
  });
});
