// Binds that need the compute node: claimed, prepared, resolved, released. The host's jobs are noted here
// and ended by the test; everything else is real.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { sweep } from '#core/operations/sweep.ts';
import { aReport } from '#test/support/reports.ts';
import {
  bind,
  boot,
  bootAfresh,
  bound,
  bringBackJobs,
  cancelled,
  deps,
  disconnect,
  end,
  gpu,
  handles,
  jobs,
  minutes,
  remove,
  setPresence,
  startBindOf,
  startReleases,
  startVgpuHost,
  stateOf,
  world,
} from '#test/support/vgpu-host.ts';

beforeAll(startVgpuHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

describe('a bind that needs the host', () => {
  it('is started, asks the host once, and is bound when the host says so', async () => {
    const { instance, arq, status } = await bind();
    expect([status, await stateOf(instance)]).toEqual([202, 'BindStarted']);
    await startBindOf(instance);
    await startBindOf(instance);
    const [handle] = (await handles()).filter(({ claim }) => claim?.arqUuid === arq);
    expect([...jobs.values()]).toMatchObject([
      {
        action: 'prepare',
        host: 'cmp1',
        steps: [
          { kind: 'create-mdev', address: '0000:0e:00.0', uuid: handle?.uuid, type: 'fake-1' },
        ],
      },
    ]);
    await end('bind');
    const { json } = await world.asNova('GET', `/v2/accelerator_requests/${arq}`);
    expect(json).toMatchObject({
      state: 'Bound',
      attach_handle_type: 'MDEV',
      attach_handle_uuid: handle?.uuid,
      attach_handle_info: { asked_type: 'fake-1' },
    });
  });

  it('fails as a whole with the host’s reason, and Nova’s list is an error', async () => {
    const { instance, arq } = await bind();
    await startBindOf(instance);
    await end('bind', 'failed', { reason: 'ENOSPC' });
    expect(await stateOf(instance)).toBe(409);
    const resolved = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    expect((await world.asNova('GET', resolved)).json.arqs).toMatchObject([
      { state: 'BindFailed', attach_handle_type: '', attach_handle_uuid: null },
    ]);
    expect((await handles()).some(({ claim }) => claim?.arqUuid === arq)).toBe(false);
    expect(await remove(instance)).toBe(204);
    expect(await stateOf(instance)).toBeUndefined();
  });

  it('fails by its deadline, and the host’s late success changes nothing', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    await sweep({ ...deps, clock: () => Date.now() + 2 * minutes });
    expect(await stateOf(instance)).toBe('BindStarted');
    await sweep({ ...deps, clock: () => Date.now() + 4 * minutes });
    expect(await stateOf(instance)).toBe(409);
    await end('bind');
    expect(await stateOf(instance)).toBe(409);
  });

  it('is refused while the agent is gone, but not for its first minute', async () => {
    await disconnect(minutes / 2);
    expect((await bind()).status).toBe(202);
    await disconnect(2 * minutes);
    const refused = { status: 409, error: expect.stringContaining('agent') };
    expect(await bind()).toMatchObject(refused);

    // What it had said before comes late: it is gone all the same.
    const { host } = await deps.store.inventory.host('cmp1');
    const from = { boot_id: host.bootId as string, sequence: host.sequence + 1 };
    await applyReport(deps, 'cmp1', aReport([gpu], from), Date.now() - 3 * minutes);
    expect(await bind()).toMatchObject(refused);
  });
});

describe('a release', () => {
  it('ends the ARQ at once, and frees the handle when the host has cleaned up', async () => {
    const { instance } = await bound();
    expect(await remove(instance)).toBe(204);
    expect(await stateOf(instance)).toBeUndefined();
    expect((await handles()).filter(({ release }) => release)).toHaveLength(1);
    await startReleases();
    await startReleases();
    expect([...jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ kind: 'remove-mdev', type: 'fake-1' }] },
    ]);
    await end('release');
    expect((await handles()).filter(({ release, claim }) => release || claim)).toEqual([]);
  });

  it('lets a claim wait behind it, and that is prepared only after it', async () => {
    const [first, second] = [await bound(), await bound(), await bound()];
    await remove(first.instance);
    const third = await bind();
    expect(third.status).toBe(202);
    await expect(startBindOf(third.instance)).rejects.toMatchObject({ name: 'RetryLater' });
    await startReleases();
    await end('release');
    await startBindOf(third.instance);
    await end('bind');
    expect(await stateOf(third.instance)).toBe('Bound');
    expect(await stateOf(second.instance)).toBe('Bound');
  });

  it('of a bind that is under way cancels its job, and is cleaned up all the same', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    const [jobId = ''] = jobs.keys();
    expect(await remove(instance)).toBe(204);
    await startReleases();
    expect(cancelled).toEqual([jobId]);
    await end('bind');
    expect((await handles()).filter(({ release }) => release)).toHaveLength(1);
    await end('release');
    expect((await handles()).filter(({ release, claim }) => release || claim)).toEqual([]);
  });

  it('that nobody confirms puts the handle into quarantine, until it is confirmed', async () => {
    const [first, second] = [await bound(), await bound(), await bound()];
    await remove(first.instance);
    await startReleases();
    await sweep({ ...deps, clock: () => Date.now() + 6 * minutes });
    expect((await handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    expect(await bind()).toMatchObject({ status: 409, error: expect.stringContaining('free') });
    await end('release');
    expect((await handles()).filter(({ quarantine, release }) => quarantine || release)).toEqual(
      [],
    );
    expect(await stateOf(second.instance)).toBe('Bound');
  });

  it('that the host could not do keeps nobody from the other vGPUs of the type', async () => {
    const { instance } = await bound();
    await remove(instance);
    await startReleases();
    await end('release', 'failed', { reason: 'EBUSY' });
    expect((await handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    expect(await stateOf((await bound()).instance)).toBe('Bound');
  });

  it('that the host could not do is done again when an admin frees the handle by force', async () => {
    const { instance } = await bound();
    await remove(instance);
    await startReleases();
    const late = new Map(jobs);
    await end('release', 'failed', { reason: 'EBUSY' });
    const [held] = (await handles()).filter(({ quarantine }) => quarantine === 'EBUSY');
    const { devices } = await deps.store.inventory.host('cmp1');
    const path = `/v2/devices/${devices[0]?.uuid}/force_release`;
    const body = { reason: 'looked at it' };
    expect((await world.ask('POST', path, { token: 'manager-token', body })).status).toBe(403);
    const { status, json } = await world.ask('POST', path, { body });
    expect([status, json.attach_handles, json.cleaning]).toEqual([202, [], [held?.uuid]]);
    await startReleases();
    expect([...jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ uuid: held?.uuid }] },
    ]);
    expect((await handles()).filter(({ quarantine }) => quarantine)).toHaveLength(1);
    await end('release');
    expect((await handles()).filter(({ quarantine, release }) => quarantine || release)).toEqual(
      [],
    );
    // The handle may have gone to somebody else by the time the host answers after all.
    bringBackJobs(late);
    const next = [await bind(), await bind(), await bind()];
    await end('release');
    expect((await handles()).filter(({ claim }) => claim)).toHaveLength(next.length);
  });
});

describe('a host that boots', () => {
  it('is asked to make again what it lost; until then the ARQs are provisioning', async () => {
    const { instance, arq } = await bind();
    await startBindOf(instance);
    await end('bind');
    await boot();
    expect(await stateOf(instance)).toBe('provisioning');
    const listed = await world.asNova('GET', `/v2/accelerator_requests/${arq}`);
    expect(listed.json.attach_handle_type).toBe('MDEV');
    expect([...jobs.values()]).toMatchObject([
      { action: 'reprovision', steps: [{ type: 'fake-1' }] },
    ]);
    await end('reprovision');
    expect(await stateOf(instance)).toBe('Bound');
  });

  it('has not what its job made before, though the message that asked for it comes again', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    await boot();
    await startBindOf(instance);
    await end('bind');
    expect(await stateOf(instance)).toBe(409);
  });

  it('has nothing left of what was being released', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    await end('bind');
    await remove(instance);
    await boot();
    expect((await handles()).filter(({ release }) => release)).toEqual([]);
  });

  it('is unknown while its agent is gone', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    await end('bind');
    await disconnect(2 * minutes);
    expect(await stateOf(instance)).toBe('unknown');
    const resolved = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    expect((await world.asNova('GET', resolved)).status).toBe(423);
    await setPresence({ isConnected: true, version: 2, at: new Date().toISOString() });
    expect(await stateOf(instance)).toBe('Bound');
  });
});
