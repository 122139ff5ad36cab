// The verbs of firmware ask the API as agreed, and wait for what they have asked for.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { callOps, startFakeCloud } from './fake-operator-api.ts';

const device = '2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11';
const deployable = '6a0f3c1d-7b52-5e0e-9a3b-0a6f3b0c7d11';
const image = '0f1a2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b';
const operator = '/accelerator/operator/v1';
const cloud = perFile(startFakeCloud);
const call = (line: string) => callOps(cloud, line.split(' '));

const aRow = (given: object = {}) => ({
  device_uuid: device,
  hostname: 'cmp1',
  model: '8086:0b30',
  status: 'enabled',
  health: null,
  components: [{ name: 'bmc', version: '1.0', baseline: '2.0' }],
  programs: [],
  shell_deployable_uuid: deployable,
  ...given,
});
const aProgram = (state: string, given: object = {}) =>
  aRow({ programs: [{ what: 'bmc', image_uuid: image, state, reason: null, ...given }] });
const expired = { status: 401, body: { error: 'The token has expired.' } };
const ok = (...rows: object[]) => ({ status: 200, body: { firmware: rows } });

it('list counts the devices by what they run, or shows each', async () => {
  const newer = { components: [{ name: 'bmc', version: '2.0', baseline: '2.0' }] };
  cloud.answer(ok(aRow(), aRow(newer), aRow(newer)));
  expect((await call('firmware list --model 8086:0b30')).out.split('\n')).toEqual([
    'model      component  version  baseline  devices',
    '8086:0b30  bmc        1.0      2.0       1',
    '8086:0b30  bmc        2.0      2.0       2',
  ]);
  expect(cloud.asked[0]?.path).toBe(`${operator}/firmware?model=8086%3A0b30&limit=1000`);
  expect((await call('firmware --host cmp1 --devices')).out).toMatch(
    /2f7c4a3e-.* +cmp1 +8086:0b30 +enabled +bmc 1\.0 \(not 2\.0\)/,
  );
});

it('baseline set and unset name the component', async () => {
  const baseline = { model: '8086:0b30', component: 'bmc', version: '2.0' };
  cloud.answer({ status: 200, body: baseline });
  const { out } = await call('firmware baseline set 8086:0b30 bmc 2.0');
  expect(out).toContain('bmc of 8086:0b30 must run 2.0.');
  cloud.answer({ status: 200, body: { baselines: [baseline] } });
  expect((await call('firmware baseline list')).out).toMatch(/8086:0b30 +bmc +2\.0/);
  cloud.answer({ status: 204 });
  expect((await call('firmware baseline unset 8086:0b30 bmc')).exitCode).toBe(0);
  expect(cloud.asked).toMatchObject([
    { method: 'DELETE', path: `${operator}/firmware/baselines/8086%3A0b30%3Abmc` },
  ]);
});

it('program asks for the component, and shows its state', async () => {
  cloud.answer(ok(aRow()), { status: 204 }, ok(aProgram('draining')));
  const told = await call(`firmware program ${device} bmc --image ${image} --drain`);
  expect(told).toEqual({ exitCode: 0, out: `bmc of ${device}: draining.`, err: '' });
  expect(cloud.asked[1]).toMatchObject({
    method: 'PATCH',
    path: `/accelerator/v2/devices/${device}`,
    body: [{ op: 'add', path: '/firmware/bmc', value: image, drain: true }],
  });
});

it('program asks for the shell by the path of the deployable', async () => {
  cloud.answer(ok(aRow()), { status: 200 }, ok(aRow()));
  await call(`firmware program ${device} shell --image ${image}`);
  expect(cloud.asked[1]).toMatchObject({
    path: `/accelerator/v2/deployables/${deployable}`,
    body: [{ op: 'add', path: '/shell', value: image }],
  });
});

it.each([
  ['failed', 1, { reason: 'write of bmc: EIO' }, 'failed: write of bmc: EIO'],
  ['done', 0, {}, 'done.'],
  ['awaiting-power-cycle', 0, {}, 'awaiting-power-cycle.'],
])(
  'program --wait ends when the program is %s, with exit code %i',
  async (state, code, given, shown) => {
    const moving = [ok(aProgram('draining')), ok(aProgram('started')), ok(aProgram('started'))];
    cloud.answer(ok(aRow()), { status: 204 }, ...moving, ok(aProgram(state, given)));
    expect(await call(`firmware program ${device} bmc --image ${image} --wait`)).toEqual({
      exitCode: code,
      out: `bmc of ${device}: ${shown}`,
      err: `bmc of ${device}: draining\nbmc of ${device}: started`,
    });
  },
);

it('program refuses a device without components', async () => {
  cloud.answer(ok());
  expect(await call(`firmware program ${device} bmc --image ${image}`)).toMatchObject({
    exitCode: 1,
    err: `Device ${device} does not exist, or no part of it can be programmed.`,
  });
});

it('regions program waits for the bitstream', async () => {
  const region = (state: string) => ({
    status: 200,
    body: { uuid: deployable, program: { image_uuid: image, state, reason: null } },
  });
  cloud.answer({ status: 200 }, region('started'), region('done'));
  expect(await call(`regions program ${deployable} --image ${image} --wait`)).toMatchObject({
    exitCode: 0,
    out: `Region ${deployable}: done.`,
  });
  expect(cloud.asked[0]).toMatchObject({
    method: 'PATCH',
    path: `/accelerator/v2/deployables/${deployable}`,
    body: [{ op: 'add', path: '/bitstream', value: image }],
  });
});

it('a verb that waits signs in again when its token has expired', async () => {
  cloud.answer(ok(aRow()), { status: 204 }, expired, ok(aProgram('done')));
  const told = await call(`firmware program ${device} bmc --image ${image} --wait`);
  expect([told.exitCode, cloud.logins.length]).toEqual([0, 2]);
});

const roll = `firmware roll 8086:0b30 bmc --image ${image}`;
const checked = { status: 200, body: { version: '2.0' } };
const running = aProgram('done', { version: '2.0' });
const done = { ...running, components: [{ name: 'bmc', version: '2.0', baseline: null }] };

it('roll goes on after an outage of the service', async () => {
  // Each request that changes nothing is sent twice.
  const away = { status: 503 };
  cloud.answer(checked, ok(aRow()), { status: 204 }, away, away, away, away, ok(done));
  const told = await call(roll);
  expect([told.exitCode, told.out]).toEqual([0, '1 device with 2.0: 1 programmed, 0 before.']);
  expect(told.err.match(/is unavailable: .*; asking again/g)).toHaveLength(2);
  expect(cloud.asked.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
});

it('roll signs in again after an outage of Keystone at the end of its token', async () => {
  cloud.answer(checked, ok(aRow()), { status: 204 }, expired, expired, ok(done));
  cloud.failLogin(2);
  expect((await call(roll)).exitCode).toBe(0);
  expect(cloud.logins).toHaveLength(3);
});

it('roll ends when the outage does not', async () => {
  cloud.answer(checked, ok(aRow()), { status: 503 });
  expect(await call(roll)).toMatchObject({ exitCode: 4, err: /is unavailable/ });
});

it('roll ends before any device where the image is not for the model, or no device is', async () => {
  cloud.answer({ status: 409, body: { error: 'Image i is for 10de:2235.' } });
  expect(await call(roll)).toMatchObject({ exitCode: 1, err: 'Image i is for 10de:2235.' });
  cloud.answer(checked, ok());
  expect(await call(roll)).toMatchObject({
    exitCode: 1,
    err: 'No device of 8086:0b30 has a component bmc.',
  });
});

it('roll stops where the token may not program', async () => {
  cloud.answer(checked, ok(aRow()), { status: 403, body: { error: 'Policy does not allow it.' } });
  expect(await call(roll)).toMatchObject({ exitCode: 3, err: 'Policy does not allow it.' });
});

it('devices show has the state of each program, and why it failed', async () => {
  const [program] = aProgram('failed', { version: '2.0', reason: 'write of bmc: EIO' }).programs;
  const row = { uuid: device, hostname: 'cmp1', programs: [program] };
  cloud.answer({ status: 200, body: row });
  expect((await call(`devices show ${device}`)).out).toContain('bmc 2.0 failed: write of bmc: EIO');
});
