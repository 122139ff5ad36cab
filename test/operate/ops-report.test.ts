// `cyborg-ops report`: the spans that it asks for, and its CSV.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);
const path = '/accelerator/operator/v1/report';
const row = { day: '2026-03-01', model: '10de:20b5', in_use: 6 };
const whole = { ...row, project_id: null, devices: 8, healthy: 7.5, handles: 8, reserved: 0.5 };
const nulls = { devices: null, healthy: null, handles: null, reserved: null };

it('asks for at most 28 days at once, each day once, and prints all rows as CSV', async () => {
  cloud.answer(
    { status: 200, body: { from: '2026-03-01', to: '2026-03-28', report: [whole] } },
    {
      status: 200,
      body: {
        from: '2026-03-29',
        to: '2026-03-31',
        report: [{ ...row, ...nulls, project_id: 'p' }],
      },
    },
  );
  const words = ['report', '--from', '2026-03-01', '--to', '2026-04-01', '-f', 'csv'];
  const { exitCode, out } = await callOps(cloud, words);
  expect(exitCode).toBe(0);
  expect(out.split('\n')).toEqual([
    'day,model,project,devices,healthy,handles,reserved,in use',
    '2026-03-01,10de:20b5,,8,7.5,8,0.5,6',
    '2026-03-01,10de:20b5,p,,,,,6',
  ]);
  expect(cloud.asked.map((each) => each.path)).toEqual([
    `${path}?from=2026-03-01&to=2026-03-29`,
    `${path}?from=2026-03-29&to=2026-04-01`,
  ]);
});

it('begins with the first of the month, and ends with today', async () => {
  cloud.answer({ status: 200, body: { from: '2026-11-01', to: '2026-11-22', report: [] } });
  await callOps(cloud, ['report', '--json']);
  expect(cloud.asked.map((each) => each.path)).toEqual([`${path}?from=2026-11-01&to=2026-11-23`]);
});
