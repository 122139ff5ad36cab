// Binds that need the compute node: claimed, prepared, resolved, released. The test records the
// host's jobs and ends them; everything else is real.

import { beforeEach, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { instanceOf } from '#test/support/builders.ts';
import { gpu, minutes, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(() => cmp1.bootAfresh());

describe('a bind that needs the host', () => {
  it('is started, asks the host once, and is Bound when the host confirms', async () => {
    const { instance, arq, status } = await cmp1.bind();
    expect([status, await cmp1.stateOf(instance)]).toEqual([202, 'BindStarted']);
    await cmp1.startBindOf(instance);
    await cmp1.startBindOf(instance);
    const [handle] = (await cmp1.handles()).filter(({ claim }) => claim?.arqUuid === arq);
    expect([...cmp1.jobs.values()]).toMatchObject([
      {
        action: 'prepare',
        host: 'cmp1',
        steps: [
          {
            kind: 'prepare',
            address: '0000:0e:00.0',
            handle: { uuid: handle?.uuid, info: { asked_type: 'fake-1' } },
          },
        ],
      },
    ]);
    await cmp1.end('bind');
    const { json } = await cmp1.world.asNova('GET', `/v2/accelerator_requests/${arq}`);
    expect(json).toMatchObject({
      state: 'Bound',
      attach_handle_type: 'MDEV',
      attach_handle_uuid: handle?.uuid,
      attach_handle_info: { asked_type: 'fake-1' },
    });
  });

  it("fails as a whole with the host's reason, and Nova's list is an error", async () => {
    const { instance, arq } = await cmp1.started();
    await cmp1.end('bind', 'failed', { reason: 'ENOSPC' });
    expect(await cmp1.stateOf(instance)).toBe(409);
    const resolved = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    expect((await cmp1.world.asNova('GET', resolved)).json.arqs).toMatchObject([
      { state: 'BindFailed', attach_handle_type: '', attach_handle_uuid: null },
    ]);
    expect((await cmp1.handles()).some(({ claim }) => claim?.arqUuid === arq)).toBe(false);
    expect(await cmp1.remove(instance)).toBe(204);
    expect(await cmp1.stateOf(instance)).toBeUndefined();
  });

  it('fails at its deadline, and a late success of the host changes nothing', async () => {
    const { instance } = await cmp1.started();
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 2 * minutes });
    expect(await cmp1.stateOf(instance)).toBe('BindStarted');
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 4 * minutes });
    expect(await cmp1.stateOf(instance)).toBe(409);
    await cmp1.end('bind');
    expect(await cmp1.stateOf(instance)).toBe(409);
  });

  it('is refused while the agent is lost, but not in the first minute', async () => {
    await cmp1.disconnect(minutes / 2);
    expect((await cmp1.bind()).status).toBe(202);
    await cmp1.disconnect(2 * minutes);
    const refused = { status: 409, error: expect.stringContaining('agent') };
    expect(await cmp1.bind()).toMatchObject(refused);

    // A report from before the loss comes late: the agent is lost all the same.
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    const from = { boot_id: host.bootId as string, sequence: host.sequence + 1 };
    await applyReport(cmp1.deps, 'cmp1', aReport([gpu], from), Date.now() - 3 * minutes);
    expect(await cmp1.bind()).toMatchObject(refused);
  });
});

describe('a release', () => {
  it('ends the ARQ at once, and frees the handle when the host has cleaned up', async () => {
    const { instance } = await cmp1.bound();
    expect(await cmp1.remove(instance)).toBe(204);
    expect(await cmp1.stateOf(instance)).toBeUndefined();
    expect((await cmp1.handles()).filter(({ release }) => release)).toHaveLength(1);
    await cmp1.startReleases();
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ kind: 'clean', handle: { info: { asked_type: 'fake-1' } } }] },
    ]);
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ release, claim }) => release || claim)).toEqual([]);
  });

  it('makes a new bind of the handle wait, and the bind is prepared after the release', async () => {
    const [first, second] = [await cmp1.bound(), await cmp1.bound(), await cmp1.bound()];
    await cmp1.remove(first.instance);
    const third = await cmp1.bind();
    expect(third.status).toBe(202);
    await expect(cmp1.startBindOf(third.instance)).rejects.toMatchObject({ name: 'RetryLater' });
    await cmp1.startReleases();
    await cmp1.end('release');
    await cmp1.startBindOf(third.instance);
    await cmp1.end('bind');
    expect(await cmp1.stateOf(third.instance)).toBe('Bound');
    expect(await cmp1.stateOf(second.instance)).toBe('Bound');
  });

  it('of a started bind cancels the job of the bind, and is cleaned up all the same', async () => {
    const { instance } = await cmp1.started();
    const [jobId = ''] = cmp1.jobs.keys();
    expect(await cmp1.remove(instance)).toBe(204);
    await cmp1.startReleases();
    expect(cmp1.cancelled).toEqual([jobId]);
    await cmp1.end('bind');
    expect((await cmp1.handles()).filter(({ release }) => release)).toHaveLength(1);
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ release, claim }) => release || claim)).toEqual([]);
  });

  it('without a confirmation puts the handle into quarantine until the host confirms it', async () => {
    const [first, second] = [await cmp1.bound(), await cmp1.bound(), await cmp1.bound()];
    await cmp1.remove(first.instance);
    await cmp1.startReleases();
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 6 * minutes });
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    expect(await cmp1.bind()).toMatchObject({
      status: 409,
      error: expect.stringContaining('free'),
    });
    await cmp1.end('release');
    expect(
      (await cmp1.handles()).filter(({ quarantine, release }) => quarantine || release),
    ).toEqual([]);
    expect(await cmp1.stateOf(second.instance)).toBe('Bound');
  });

  it('that failed on the host leaves the other vGPUs of the type usable', async () => {
    await cmp1.releasing();
    await cmp1.end('release', 'failed', { reason: 'EBUSY' });
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    expect(await cmp1.stateOf((await cmp1.bound()).instance)).toBe('Bound');
  });

  it('that failed on the host is repeated when an admin frees the handle by force', async () => {
    await cmp1.releasing();
    const late = new Map(cmp1.jobs);
    await cmp1.end('release', 'failed', { reason: 'EBUSY' });
    const [held] = (await cmp1.handles()).filter(({ quarantine }) => quarantine === 'EBUSY');
    const { devices } = await cmp1.deps.store.inventory.host('cmp1');
    const path = `/v2/devices/${devices[0]?.uuid}/force_release`;
    const body = { reason: 'looked at it' };
    expect((await cmp1.world.ask('POST', path, { token: 'manager-token', body })).status).toBe(403);
    const { status, json } = await cmp1.world.ask('POST', path, { body });
    expect([status, json.attach_handles, json.cleaning]).toEqual([202, [], [held?.uuid]]);
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ handle: { uuid: held?.uuid } }] },
    ]);
    expect((await cmp1.handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    await cmp1.end('release');
    expect(
      (await cmp1.handles()).filter(({ quarantine, release }) => quarantine || release),
    ).toEqual([]);
    // The host may answer after the handle went to another instance.
    cmp1.bringBackJobs(late);
    const next = [await cmp1.bind(), await cmp1.bind(), await cmp1.bind()];
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ claim }) => claim)).toHaveLength(next.length);
  });
});

describe('a host that reboots', () => {
  it('is asked to reprovision what it lost; until then the ARQs are provisioning', async () => {
    const { instance, arq } = await cmp1.bound();
    await cmp1.boot();
    const shown = await cmp1.world.asNova('GET', `/v2/accelerator_requests/${arq}`);
    expect(shown.json).toMatchObject({ state: 'provisioning', attach_handle_type: 'MDEV' });
    const all = await cmp1.world.asNova('GET', '/v2/accelerator_requests');
    expect(all.json.arqs.find(({ uuid }) => uuid === arq)?.state).toBe('provisioning');
    expect(await cmp1.stateOf(instance)).toBe('provisioning');
    // A shelve of Nova's API lists them, too, for their uuids.
    const path = `/v2/accelerator_requests?instance=${instance}`;
    expect((await cmp1.world.asNova('GET', path)).json.arqs[0]?.state).toBe('provisioning');
    // Nova starts no server without the device.
    const { status, json } = await cmp1.world.arqsOf(instance);
    expect([status, json.error]).toEqual([
      409,
      `The accelerators of instance ${instance} are not ready: host cmp1 has rebooted and prepares them again. Try again.`,
    ]);
    expect([...cmp1.jobs.values()]).toMatchObject([
      { action: 'reprovision', steps: [{ handle: { info: { asked_type: 'fake-1' } } }] },
    ]);
    await cmp1.end('reprovision');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('is asked again for a bind whose message is repeated after the reboot', async () => {
    const { instance } = await cmp1.started();
    const [old = ''] = [...cmp1.jobs.keys()];
    await cmp1.boot();
    await cmp1.startBindOf(instance);
    expect(cmp1.cancelled).toContain(old);
    await cmp1.startBindOf(instance);
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    expect([...cmp1.jobs.values()].at(-1)).toMatchObject({ boot_id: host.bootId });
    await cmp1.end('bind');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('is asked again for the releases that were pending, because it prepares handles itself', async () => {
    const { instance } = await cmp1.bound();
    await cmp1.remove(instance);
    const [held] = (await cmp1.handles()).filter(({ release }) => release);
    await cmp1.boot();
    const [waiting] = (await cmp1.handles()).filter(({ release }) => release);
    expect(waiting?.uuid).toBe(held?.uuid);
    expect(waiting?.release).not.toBe(held?.release);
    await cmp1.startReleases();
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'release', boot_id: host.bootId }]);
    await cmp1.end('release');
    expect((await cmp1.handles()).filter(({ release }) => release)).toEqual([]);
  });

  it('is shown as Bound when its host has just ended it, although a presence event is lost', async () => {
    const { instance } = await cmp1.started();
    await cmp1.disconnect(2 * minutes);
    await cmp1.end('bind');
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('is unknown while its agent is lost', async () => {
    const { instance } = await cmp1.started();
    cmp1.setClockAhead(-3);
    await cmp1.end('bind');
    cmp1.setClockAhead(0);
    await cmp1.disconnect(2 * minutes);
    expect(await cmp1.stateOf(instance)).toBe('unknown');
    const resolved = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    expect((await cmp1.world.asNova('GET', resolved)).status).toBe(423);
    await cmp1.setPresence({ isConnected: true, version: 2, at: new Date().toISOString() });
    expect(await cmp1.stateOf(instance)).toBe('unknown');
    await cmp1.report();
    expect(await cmp1.stateOf(instance)).toBe('Bound');
  });

  it('starts servers before its agent has started only with devices that need no agent', async () => {
    const { instance: withVgpu } = await cmp1.bound();
    const info = { domain: '0000', bus: '01', device: '00', function: '0' };
    const offers = {
      resource_class: 'FPGA',
      traits: [],
      attach_handles: [{ type: 'PCI' as const, info }],
    };
    const whole = aDevice({ address: '0000:01:00.0', provider_suffix: undefined, offers });
    await cmp1.report([gpu, whole]);
    await cmp1.world.createProfile('whole', { 'resources:FPGA': '1' });
    const target = { provider: providerUuid('cmp1_0000:01:00.0'), instance: instanceOf(99) };
    await cmp1.world.createBound('whole', target);
    await cmp1.disconnect(0);
    const { status, json } = await cmp1.world.arqsOf(withVgpu);
    expect([status, json.error]).toEqual([
      409,
      `The accelerators of instance ${withVgpu} are not ready: host cmp1 is not connected and may have rebooted. Try again.`,
    ]);
    expect((await cmp1.world.arqsOf(target.instance)).json.arqs[0]?.state).toBe('Bound');
    await cmp1.remove(target.instance);
  });
});
