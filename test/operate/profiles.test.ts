// `cyborg-ops profiles migrate` on stored profiles: shows first, writes each profile on its own
// condition, and leaves ARQs alone.

import { beforeEach, expect, it } from 'vitest';
import type { ArqUuid } from '#core/domain/ids.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { toContent } from '#core/domain/profile/profile-changes.ts';
import { readRename } from '#core/domain/profile/profile-renames.ts';
import { planRenames, renameInProfile } from '#core/operations/profiles/rename-in-profiles.ts';
import { updateDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { run } from '#test/agent/agent-process.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);

/** Each test has a trait and two profiles of its own. */
let test = 0;
let rename: string;
let group: Record<string, string>;
let renamed: Record<string, string>;
let one: string;
let two: string;

beforeEach(async () => {
  test += 1;
  [one, two] = [`one-${test}`, `two-${test}`];
  rename = `trait:CUSTOM_A${test}=CUSTOM_B${test}`;
  group = { 'resources:FPGA': '1', [`trait:CUSTOM_A${test}`]: 'required' };
  renamed = { 'resources:FPGA': '1', [`trait:CUSTOM_B${test}`]: 'required' };
  const body = [one, two].map((name) => ({ name, groups: [group] }));
  expect((await world.ask('POST', '/v2/device_profiles', { body })).status).toBe(201);
});

async function migrate(...words: string[]) {
  const all = ['profiles', 'migrate', ...words];
  const command = run('operate/cyborg-ops.ts', process.env as Record<string, string>, all);
  return { exitCode: await command.exited(), output: command.output() };
}

const groupsOf = async (name: string) => (await world.deps.store.profiles.byName(name))?.groups;
const plan = () => planRenames(world.deps, [readRename(rename)]);

it('shows what would change and how many ARQs there are, and writes with --apply only', async () => {
  const body = { device_profile_name: two };
  const created = await world.ask('POST', '/v2/accelerator_requests', { body });
  expect(created.status).toBe(201);
  const dry = await migrate('--rename', rename);
  expect(dry.exitCode).toBe(0);
  expect(dry.output).toMatch(/one-1 +0 +trait:CUSTOM_A1 +trait:CUSTOM_B1 +0\n/);
  expect(dry.output).toMatch(/two-1 +0 +trait:CUSTOM_A1 +trait:CUSTOM_B1 +1\n/);
  expect(dry.output).toMatch(/would change: 2\. Nothing was written/);
  expect(await groupsOf(one)).toEqual([group]);

  const done = await migrate('--rename', rename, '--apply');
  expect(done).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(/Profiles changed: 2\./),
  });
  expect([await groupsOf(one), await groupsOf(two)]).toEqual([[renamed], [renamed]]);
  const uuid = created.json.arqs[0].uuid as ArqUuid;
  const arq = (await world.deps.store.arqs.byUuids([uuid])).get(uuid);
  expect(arq?.group).toEqual(group);

  const again = await migrate('--rename', rename, '--apply');
  expect(again).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(/^None\.\n\nProfiles changed: 0/),
  });
});

it('finishes what a run that died between two profiles has left', async () => {
  const [first] = await plan();
  if (!first) throw new Error('nothing is planned');
  expect(await renameInProfile({ ...world.deps, actor: 'operator' }, first)).toBe(true);
  expect(await plan()).toHaveLength(1);
  expect(await migrate('--rename', rename, '--apply')).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(/\nProfiles changed: 1\./),
  });
  expect([await groupsOf(one), await groupsOf(two)]).toEqual([[renamed], [renamed]]);
});

it('does not write a profile that was changed or made anew after it was read', async () => {
  const [first, second] = await plan();
  if (!first || !second) throw new Error('nothing is planned');
  const elsewhere = [{ ...group, 'trait:CUSTOM_C': 'forbidden' }];
  const change = (profile: DeviceProfile) => ({ ...toContent(profile), groups: elsewhere });
  await updateDeviceProfile(world.deps, first.profile.name, change);
  expect(await renameInProfile(world.deps, first)).toBe(false);
  expect(await groupsOf(first.profile.name)).toEqual(elsewhere);
  const { name } = second.profile;
  await world.ask('DELETE', `/v2/device_profiles?value=${name}`);
  expect(await renameInProfile(world.deps, second)).toBe(false);
  await world.createProfile(name, group);
  expect(await renameInProfile(world.deps, second)).toBe(false);
  expect(await groupsOf(name)).toEqual([group]);
});

it('refuses a collision before it writes any profile', async () => {
  await world.createProfile('both', { ...group, [`trait:CUSTOM_B${test}`]: 'forbidden' });
  expect(await migrate('--rename', rename, '--apply')).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining(
      `both: groups[0] would have trait:CUSTOM_B${test} as required and as forbidden`,
    ),
  });
  expect(await groupsOf(one)).toEqual([group]);
  expect(await migrate('--rename', 'resources:CUSTOM_A=GPU')).toMatchObject({
    exitCode: 2,
    output: expect.stringContaining('unknown resource class GPU'),
  });
  expect(await migrate()).toMatchObject({
    exitCode: 2,
    output: expect.stringContaining('--rename and --drop are missing'),
  });
});
