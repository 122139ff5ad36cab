// Programs that await a power cycle: what operators see of them, and how they give them up. The
// test records the host's jobs and ends them; everything else is real.

import { beforeEach, describe, expect, it } from 'vitest';
import { card, startComponentHost } from '#test/support/hosts/recorded/component-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startComponentHost);
const evidence = { version: '2.0', before: '1.0', sha256: 'a' };
const details = { evidence: JSON.stringify({ bmc: evidence }) };

describe('a program that awaits a power cycle', () => {
  const giveUp = async () => {
    const path = `/v2/devices/${await cmp1.deviceUuid}/force_release`;
    return await cmp1.world.ask('POST', path, { token: 'admin-token', body: { reason: 'later' } });
  };
  const incidents = async () => {
    const path = '/operator/v1/incidents?kind=awaits-power-cycle';
    return (await cmp1.world.ask('GET', path, { token: 'admin-token' })).json.incidents;
  };
  let image: string;

  beforeEach(async () => {
    await cmp1.bootAfresh();
    image = await cmp1.anImage('firmware');
    expect((await cmp1.program(image)).status).toBe(204);
    await cmp1.startAll();
    expect(await incidents()).toEqual([]);
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
  });

  it('is an incident with its image, user and next step, until the host has had one', async () => {
    const [incident, ...others] = await incidents();
    expect([incident, others]).toMatchObject([
      {
        hostname: 'cmp1',
        device_uuid: await cmp1.deviceUuid,
        since: expect.stringMatching(/^20/),
        reason: expect.stringMatching(
          `0000:3b:00.0 .* bmc runs version 2.0 of image ${image}. User .+ requested it at 20`,
        ),
        next_step: expect.stringMatching(/power off and on.* Or give the program up/),
        action: 'force-release',
      },
      [],
    ]);
    await cmp1.boot();
    await cmp1.startAll();
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
    expect(await incidents()).toEqual([incident]);
    await cmp1.boot({ shell: '1', bmc: '2.0' });
    await cmp1.startAll();
    await cmp1.end('succeeded', details);
    expect(await incidents()).toEqual([]);
  });

  it('is given up by force; an operator enables the device, and a server gets it', async () => {
    const freed = await giveUp();
    expect([freed.status, freed.json.attach_handles]).toEqual([
      200,
      [expect.any(String), expect.any(String)],
    ]);
    const reason =
      'It was given up before a power cycle: bmc runs version 2.0 after any later one.';
    expect(await cmp1.shown()).toMatchObject({
      status: 'maintaining',
      programs: [{ state: 'failed', reason }],
    });
    expect([await incidents(), await cmp1.awaited()]).toEqual([[], []]);
    expect((await giveUp()).json.attach_handles).toEqual([]);
    await cmp1.patch([{ op: 'replace', path: '/status', value: 'enabled' }]);
    await cmp1.world.createProfile('given-up', { 'resources:FPGA': '1' });
    const instance = 'aaaaaaaa-0000-4000-8000-000000000005';
    const arqs = await cmp1.world.createArqs('given-up');
    const bound = await cmp1.world.bindArqs(arqs, { provider: card, instance });
    expect([bound.status, bound.text]).toEqual([202, '']);
    await cmp1.remove(instance);
  });

  it('is not given up while its host looks what the component runs', async () => {
    await cmp1.boot();
    await cmp1.startAll();
    const refused = await giveUp();
    expect([refused.status, refused.json.error]).toEqual([
      409,
      expect.stringMatching(/cannot be given up now: its host has booted, and looks what bmc runs/),
    ]);
    expect(await cmp1.shown()).toMatchObject({ programs: [{ state: 'awaiting-power-cycle' }] });
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
    expect((await giveUp()).status).toBe(200);
  });
});
