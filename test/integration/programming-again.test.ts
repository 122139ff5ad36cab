// An FPGA whose host has rebooted: its region may have lost its image or kept it.

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Queues } from '#core/clients/aws/queues.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { loadedId, region, startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);

beforeEach(() => cmp1.bootAfresh());

/** A consumer that dies after it has stored the boot. */
function dyingAtDevices(given: ConsumerDeps): ConsumerDeps {
  return withStore(given, { inventory: { putDevice: () => Promise.reject(new Error('died')) } });
}

describe('a host that reboots', () => {
  async function boundWith(data: Buffer) {
    const id = await cmp1.anImage({}, data);
    return { id, instance: await cmp1.bound({ 'accel:bitstream_id': id }) };
  }

  /** The host reports the image, boots, and cannot read its region. */
  async function bootUnread(bitstream: string) {
    await cmp1.boot({ bitstream }, { isSameBoot: true });
    const unread = { manifest: {}, devices: [], failed_drivers: ['fake_driver'] };
    await cmp1.receive({ ...cmp1.nextReport(), ...unread });
  }

  it('has its region programmed again; until then the ARQ is provisioning', async () => {
    const { id, instance } = await boundWith(aGbs());
    await cmp1.boot();
    await cmp1.reprovisionFor(instance);
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'reprovision', host: 'cmp1' }]);
    expect([cmp1.theStep().image.id, await cmp1.stateOf(instance)]).toEqual([id, 'provisioning']);
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('is not asked to program when its region still holds the image', async () => {
    const { id, instance } = await boundWith(aGbs());
    await cmp1.boot({ bitstream: id });
    await cmp1.reprovisionFor(instance);
    expect([cmp1.jobs.size, await cmp1.stateOf(instance)]).toEqual([0, 'Bound']);
  });

  it('is asked to check a region that its driver could not read', async () => {
    const { id, instance } = await boundWith(aGbs());
    await bootUnread(id);
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await cmp1.boot({}, { isSameBoot: true });
    await cmp1.reprovisionFor(instance);
    expect([cmp1.theStep().image.id, await cmp1.stateOf(instance)]).toEqual([id, 'provisioning']);
  });

  it('is known to hold the image once its driver can read the region', async () => {
    const { id } = await boundWith(aGbs());
    await bootUnread(id);
    await cmp1.boot({ bitstream: id }, { isSameBoot: true });
    expect((await cmp1.deps.store.inventory.provider(region))?.deployable.bitstreamId).toBe(id);
  });

  it("is asked to check the region when a late report names the image and the boot's own was not applied", async () => {
    const { id, instance } = await boundWith(aGbs());
    await cmp1.boot({ bitstream: id }, { isSameBoot: true });
    const [late, first] = [cmp1.nextReport(), cmp1.nextReport({}, { isSameBoot: true })];
    await expect(cmp1.receive(first, dyingAtDevices(cmp1.deps))).rejects.toThrow('died');
    await cmp1.receive(late);
    await cmp1.receive(first);
    await cmp1.reprovisionFor(instance);
    expect([cmp1.theStep().image.id, await cmp1.stateOf(instance)]).toEqual([id, 'provisioning']);
  });

  it('is not asked to program when the region turns out to hold the named image', async () => {
    const name = `${randomUUID()}.gbs`;
    const id = await cmp1.anImage({ name }, aGbs());
    const instance = await cmp1.bound({ 'accel:bitstream_name': name });
    await cmp1.boot({ bitstream: id });
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    await cmp1.reprovisionFor(instance);
    expect(cmp1.theOnlyStep()).toMatchObject({ content: { bitstream_id: id } });
    await cmp1.end('succeeded');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('is asked again after an hour if it was never asked, and only once', async () => {
    const { instance } = await boundWith(aGbs());
    await cmp1.boot();
    const sent: object[] = [];
    const send: Queues['send'] = async (_queue, messages) => void sent.push(...messages);
    const look = (minutes: number) =>
      sweep({ ...cmp1.deps, queues: { send }, clock: () => Date.now() + minutes * 60_000 });
    await look(6);
    expect(sent).toEqual([]);
    await look(66);
    const binding = await cmp1.deps.store.arqs.binding(instance);
    expect(sent).toEqual([{ kind: 'reprovision', job_uuid: binding?.jobUuid }]);
    await cmp1.reprovisionFor(instance);
    await look(130);
    expect(sent).toHaveLength(1);
  });

  it('is not asked for an ARQ that was deleted first', async () => {
    const { instance } = await boundWith(aGbs());
    await cmp1.boot();
    await cmp1.reprovisionFor(instance);
    const [job] = cmp1.jobs.keys();
    await cmp1.remove(instance);
    const cancelled: string[] = [];
    const cancel = async (id: string) => void cancelled.push(id);
    const noted = withClients(cmp1.deps, { jobs: { cancel } });
    for (const id of await cmp1.releases()) await cmp1.startAwaited(noted, id);
    expect(cancelled).toContain(job);
  });

  it('fails an ARQ whose image is no longer available, with the reason', async () => {
    const name = `${randomUUID()}.gbs`;
    await cmp1.anImage({ name }, aGbs());
    const instance = await cmp1.bound({ 'accel:bitstream_name': name });
    await cmp1.anImage({ name }, aGbs());
    await cmp1.boot();
    await cmp1.reprovisionFor(instance);
    expect([cmp1.jobs.size, await cmp1.stateOf(instance)]).toEqual([0, 409]);
    const listed = await cmp1.world.arqsOf(instance);
    expect(listed.json.error_message).toContain(name);
  });

  it('is asked for a device only after a report of this boot describes it', async () => {
    const { instance } = await boundWith(aGbs());
    await cmp1.boot({ bitstream: loadedId }, { isDescribed: false });
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    expect(host.isReprovisioning).toBe(true);
    await cmp1.boot({ bitstream: loadedId }, { isSameBoot: true });
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    expect((await cmp1.deps.store.inventory.host('cmp1')).host.isReprovisioning).toBe(false);
  });
});
