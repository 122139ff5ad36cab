import { describe, expect, it } from 'vitest';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aCloud } from './nova-cloud.ts';

const cloud = perTest(aCloud);

describe('a server with an accelerator', () => {
  it('boots with the requests of a real Nova, in its order', async () => {
    const id = await cloud.boot('accelerated');
    expect(await cloud.settled(id)).toMatchObject({ status: 'ACTIVE' });
    expect(cloud.accelerators.calls).toEqual([
      'nova-api GET /device_profiles?name=',
      'nova-conductor POST /accelerator_requests',
      'nova-conductor PATCH /accelerator_requests',
      'nova-compute GET /accelerator_requests?instance=',
    ]);
    expect(await cloud.placement.allocationsOf(cloud.device)).toEqual({ [id]: { FPGA: 1 } });
  });

  it('is requested in the name of the user, with a service token and no microversion', async () => {
    await cloud.settled(await cloud.boot('accelerated'));
    for (const { headers } of cloud.accelerators.asked) {
      expect(headers['x-auth-token']).toBe('demo-token');
      expect(headers['x-service-token']).toBeTruthy();
      expect(headers).not.toHaveProperty('openstack-api-version');
    }
  });

  it('is bound with three fields for each ARQ, in one PATCH', async () => {
    cloud.accelerators.groups = [{ 'resources:FPGA': '2' }];
    const id = await cloud.boot('accelerated');
    await cloud.settled(id);
    const bind = cloud.accelerators.asked.find(({ method }) => method === 'PATCH');
    const uuids = [...cloud.accelerators.arqs.keys()];
    const fields = [
      { path: '/hostname', op: 'add', value: 'cmp1' },
      { path: '/device_rp_uuid', op: 'add', value: cloud.device },
      { path: '/instance_uuid', op: 'add', value: id },
    ];
    expect(bind?.body).toEqual(Object.fromEntries(uuids.map((uuid) => [uuid, fields])));
    expect(uuids).toHaveLength(2);
  });

  it('waits for the event of a slow bind', async () => {
    cloud.accelerators.bindsTo = 'BindStarted';
    const id = await cloud.boot('accelerated');
    const [uuid = ''] = await cloud.waitedFor();
    expect(await cloud.show(id)).toMatchObject({
      status: 'BUILD',
      'OS-EXT-STS:task_state': 'spawning',
    });
    becomeBound();
    expect(await cloud.post(id, uuid)).toEqual([200]);
    expect(await cloud.settled(id)).toMatchObject({ status: 'ACTIVE' });
    expect(cloud.accelerators.calls.at(-1)).toBe(
      'nova-compute GET /accelerator_requests?instance=',
    );
    expect(cloud.accelerators.calls).toHaveLength(5);
  });

  it('is aborted and its ARQs are deleted twice when the bind fails during the wait', async () => {
    cloud.accelerators.bindsTo = 'BindStarted';
    const id = await cloud.boot('accelerated');
    const [uuid = ''] = await cloud.waitedFor();
    // Nova answers 200 for an event with the status failed, too.
    expect(await cloud.post(id, uuid, 'failed')).toEqual([200]);
    expect(await cloud.settled(id)).toMatchObject({
      status: 'ERROR',
      fault: { message: `Build of instance ${id} aborted: Failure getting accelerator requests.` },
    });
    expect(cloud.accelerators.calls.slice(-2)).toEqual([
      'nova-compute DELETE /accelerator_requests?instance=',
      'nova-compute DELETE /accelerator_requests?arqs=',
    ]);
    expect(await cloud.placement.allocationsOf(cloud.device)).toEqual({});
  });

  it('becomes ACTIVE without its device when the failed bind is listed without an error', async () => {
    cloud.accelerators.bindsTo = 'BindFailed';
    expect(await cloud.settled(await cloud.boot('accelerated'))).toMatchObject({
      status: 'ACTIVE',
    });
  });

  it('is aborted when the list of ARQs is refused', async () => {
    cloud.accelerators.bindsTo = 'BindFailed';
    const id = await cloud.boot('accelerated');
    cloud.accelerators.failing.set('GET', 409);
    expect(await cloud.settled(id)).toMatchObject({ status: 'ERROR' });
    expect(cloud.accelerators.calls.slice(-2)).toEqual([
      'nova-compute DELETE /accelerator_requests?instance=',
      'nova-compute DELETE /accelerator_requests?arqs=',
    ]);
  });

  it('is aborted when no event of the bind arrives in time', async () => {
    await cloud.restartNova({ arqBindingTimeoutMs: 100 });
    cloud.accelerators.bindsTo = 'BindStarted';
    expect(await cloud.settled(await cloud.boot('accelerated'))).toMatchObject({ status: 'ERROR' });
  });

  it.each([
    { method: 'POST', says: 'Failed to create accelerator requests: Invalid response from Cyborg' },
    { method: 'PATCH', says: 'Failed to bind accelerator requests: Invalid response from Cyborg' },
  ])(
    'is in ERROR at once when $method is refused, and keeps its allocation',
    async ({ method, says }) => {
      cloud.accelerators.failing.set(method, 400);
      const id = await cloud.boot('accelerated');
      const server = await cloud.settled(id);
      expect(server).toMatchObject({ status: 'ERROR' });
      expect(JSON.stringify(server)).toContain(`${says}: <Response [400]>`);
      expect(await cloud.placement.allocationsOf(cloud.device)).toEqual({ [id]: { FPGA: 1 } });
      const deletes = cloud.accelerators.calls.filter((call) => call.includes('DELETE'));
      const ofTheBind = ['nova-conductor DELETE /accelerator_requests?arqs='];
      expect(deletes).toEqual(method === 'PATCH' ? ofTheBind : []);
    },
  );

  it('is refused at once for an unknown device profile', async () => {
    await cloud.aFlavor('odd', { 'accel:device_profile': 'unknown' });
    const response = await cloud.create('odd');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      badRequest: {
        message: 'Device profile name unknown: Expected 1 device profile but got nothing.',
      },
    });
  });

  it('finds no valid host if no device is free', async () => {
    await cloud.settled(await cloud.boot('accelerated'));
    await cloud.settled(await cloud.boot('accelerated'));
    const server = await cloud.settled(await cloud.boot('accelerated'));
    expect(server).toMatchObject({ fault: { message: 'No valid host was found. ' } });
  });

  it('lists its ARQs at a reboot', async () => {
    const id = await cloud.boot('accelerated');
    await cloud.settled(id);
    const before = cloud.accelerators.calls.length;
    const body = { reboot: { type: 'HARD' } };
    expect((await cloud.call('POST', `/servers/${id}/action`, { body })).status).toBe(202);
    expect(await cloud.settled(id)).toMatchObject({ status: 'ACTIVE' });
    expect(cloud.accelerators.calls.slice(before)).toEqual([
      'nova-compute GET /accelerator_requests?instance=',
    ]);
  });

  it.each([{ answered: 204 }, { answered: 500 }])(
    'is deleted even if the accelerator API answers $answered',
    async ({ answered }) => {
      const id = await cloud.boot('accelerated');
      await cloud.settled(id);
      cloud.accelerators.failing.set('DELETE', answered);
      expect((await cloud.call('DELETE', `/servers/${id}`)).status).toBe(204);
      await eventually(async () => (await cloud.call('GET', `/servers/${id}`)).status).toBe(404);
      const last = 'nova-compute DELETE /accelerator_requests?instance=';
      expect(cloud.accelerators.calls.at(-1)).toBe(last);
      expect(await cloud.placement.allocationsOf(cloud.device)).toEqual({});
    },
  );

  it('is deleted only after its build has ended', async () => {
    cloud.accelerators.bindsTo = 'BindStarted';
    const id = await cloud.boot('accelerated');
    const [uuid = ''] = await cloud.waitedFor();
    await cloud.call('DELETE', `/servers/${id}`);
    expect(cloud.accelerators.calls.some((each) => each.includes('DELETE'))).toBe(false);
    becomeBound();
    await cloud.post(id, uuid);
    await eventually(() => cloud.accelerators.calls.at(-1)).toContain('DELETE');
  });
});

/** Binds the ARQs, as Cyborg does when the host is ready and before it sends the event. */
function becomeBound(): void {
  for (const arq of cloud.accelerators.arqs.values()) arq.state = 'Bound';
}
