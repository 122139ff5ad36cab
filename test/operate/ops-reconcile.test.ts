// `cyborg-ops hosts reconcile`: a comparison in parts, and a repair.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);

const device = '2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11';
const row = { provider: 'cmp1_GPU', stored: '4 PGPU', placement: 'none', host: '4 PGPU' };
const part = {
  hostname: 'cmp1',
  dry_run: true,
  compared: 2,
  differing: [],
  repairing: [],
  next: null,
};

it('asks until the whole host is compared, and exits with 1 where it differs', async () => {
  cloud.answer(
    { status: 200, body: { ...part, next: device } },
    { status: 200, body: { ...part, differing: [row] } },
  );
  const { exitCode, out } = await callOps(cloud, ['hosts', 'reconcile', 'cmp1']);
  expect(exitCode).toBe(1);
  expect(out).toMatch(/cmp1_GPU +4 PGPU +none +4 PGPU\n.*cmp1: 4 providers, 1 differ\.$/s);
  expect(cloud.asked.map(({ body }) => body)).toEqual([
    { host: 'cmp1', dry_run: true },
    { host: 'cmp1', dry_run: true, marker: device },
  ]);
});

it('says how many devices are being repaired', async () => {
  const repaired = { ...part, dry_run: false, differing: [row], repairing: [device] };
  cloud.answer({ status: 202, body: repaired });
  const { exitCode, out } = await callOps(cloud, ['hosts', 'reconcile', 'cmp1', '--repair']);
  expect(exitCode).toBe(0);
  expect(out).toMatch(/1 differ\. 1 device being repaired; compare again in a minute\.$/);
});

it('exits with 0 where the host agrees', async () => {
  cloud.answer({ status: 200, body: part });
  const { exitCode, out } = await callOps(cloud, ['hosts', 'reconcile', 'cmp1']);
  expect([exitCode, out]).toEqual([0, 'cmp1: 2 providers, 0 differ.']);
});
