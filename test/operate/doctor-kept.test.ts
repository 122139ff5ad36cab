// The doctor compares kept sums of usage with the history, and marks and measured hosts with the
// hosts.

import { expect, it } from 'vitest';
import { perform } from '#core/command-line/checks.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { keptChecks } from '#operate/doctor/kept.ts';
import { addRecords } from '#test/api/history-records.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const hourMs = 3_600_000;

async function findings(given: Partial<ConsumerDeps> = {}) {
  const deps = { ...world.deps, sleep: async () => {}, ...given };
  const found = keptChecks.map((check) => perform(check, { deps } as never));
  return Object.fromEntries((await Promise.all(found)).map((each) => [each.check, each]));
}

it('a sum of usage that differs from the history is a fault', async () => {
  const { usageSums } = world.deps.store;
  const name = 'the sums of usage';
  const nowMs = Date.now();
  const clock = () => nowMs;
  expect((await findings({ clock }))[name]).toMatchObject({ unseen: expect.any(String) });
  await usageSums.keepHours(nowMs);
  expect((await findings({ clock }))[name]).toMatchObject({ ok: expect.any(String) });
  const { hour } = await usageSums.compareHour(nowMs);
  const use = { projectId: 'project-1', resourceClass: 'FPGA', since: '2026-01-01T00:00:00.000Z' };
  await addRecords({ kind: 'handle.released', at: hour, ...use });
  const wrong = expect.stringContaining('differs from the history');
  expect((await findings({ clock }))[name]).toMatchObject({ wrong });
});

it('a host that lacks its mark is a fault', async () => {
  const { incidentMarks } = world.deps.store;
  const name = 'the marks of incidents';
  await world.report('cmp1', [aDevice()]);
  expect((await findings())[name]).toMatchObject({ unseen: expect.any(String) });
  const [since, at] = [2, 0].map((hours) => new Date(Date.now() - hours * hourMs).toISOString());
  await incidentMarks.putRounds({ since: String(since), at: String(at) });
  const wrong = 'Hosts that may have an incident are not marked: cmp1.';
  expect((await findings())[name]).toMatchObject({ wrong });
  await incidentMarks.mark({ kind: 'host', id: 'cmp1', hostname: 'cmp1' }, String(at));
  expect((await findings())[name]).toMatchObject({ ok: expect.any(String) });
});

it('a host that the measurement of the cloud lacks is a fault', async () => {
  const { measuredHosts } = world.deps.store;
  const name = 'the measured hosts';
  await world.report('cmp1', [aDevice()]);
  expect((await findings())[name]).toMatchObject({ unseen: expect.any(String) });
  const put = (ms: number, ...hosts: string[]) =>
    measuredHosts.put({
      after: '',
      upTo: '~',
      at: new Date(Date.now() + ms).toISOString(),
      hosts: hosts.map((hostname) => ({ hostname, providers: [], isPaused: false })),
    });
  // A host that came after the measurement is not in it yet.
  await put(-hourMs);
  expect((await findings())[name]).toMatchObject({ ok: expect.any(String) });
  await put(1);
  const wrong = 'The capacity of the cloud lacks hosts that were there before: cmp1.';
  expect((await findings())[name]).toMatchObject({ wrong });
  await put(1, 'cmp1');
  expect((await findings())[name]).toMatchObject({ ok: expect.any(String) });
});

it('a quota or a profile for a project that Keystone does not have is a fault', async () => {
  const { quotas, profiles } = world.deps.store;
  const name = 'the projects of quotas and profiles';
  const project = idOf('project', 'demo');
  await world.ask('PUT', `/operator/v1/quotas/${project}`, { body: { limits: { FPGA: 1 } } });
  await world.createProfile('theirs', { 'resources:FPGA': '1' });
  expect((await findings())[name]).toMatchObject({ ok: 'Keystone has all 1' });
  const quota = await quotas.byProject(project);
  if (!quota) throw new TypeError('The quota is missing.');
  const soon = new Date(Date.now() + hourMs).toISOString();
  await quotas.create({ ...quota, projectId: 'demo' }, soon);
  const profile = await profiles.byName('theirs');
  if (!profile) throw new TypeError('The profile is missing.');
  await profiles.update(profile, { ...profile, projects: ['demo', 'gone'], revision: 2 });
  expect((await findings())[name]).toMatchObject({
    wrong: 'Keystone has no such projects: demo (a quota, profile theirs), gone (profile theirs).',
    remedy: expect.stringContaining('quota unset'),
  });
});
