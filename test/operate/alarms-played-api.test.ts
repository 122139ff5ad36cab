// The alarms on what the API answers, raised by its own answers: OpenStack goes and comes back,
// and a client floods the API with tokens that are unknown.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { alarmEntries, inStage } from '#infra/monitoring/alarm-entries.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { AlarmStage } from '#test/support/aws/alarm-stage.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const stage = 'alarms';
const directory = directoryPerFile();
let layout: Layout;
let system: System;

beforeAll(async () => {
  layout = await chooseLayout({ stage, directory, anyPorts: true });
  const agents = [{ hostname: 'cmp1', drivers: 'fake' }];
  system = await startSystem({ layout, agents, restart: false });
  await announceHost(layout, 'cmp1');
  writeFileSync(join(directory, `${stage}.json`), JSON.stringify(settingsOf(layout)));
});

afterAll(() => system.stop());

async function statusOf(token: string): Promise<number> {
  const response = await fetch(`${urlOf(layout, 'api')}/accelerator/v2/devices`, {
    headers: { 'X-Auth-Token': token },
  });
  await response.arrayBuffer();
  return response.status;
}

/** Asks `times` times, and counts the answers with the status as the metric does. */
async function counted(times: number, isCounted: (status: number) => boolean): Promise<number> {
  let count = 0;
  for (let asked = 0; asked < times; asked++) {
    if (isCounted(await statusOf(randomUUID()))) count += 1;
  }
  return count;
}

/** The first command of the alarm, in the folder with the stage's settings; its lines. */
async function firstCommandOf(name: 'api-errors'): Promise<readonly string[]> {
  const [program, ...words] = inStage(stage, alarmEntries[name].firstCommand).split(' ');
  expect(program).toBe('cyborg-ops');
  const file = new URL('../../operate/cyborg-ops.ts', import.meta.url).pathname;
  const child = promisify(execFile)(process.execPath, [file, ...words], { cwd: directory });
  // The doctor exits with 1 where something is wrong.
  const { stdout } = await child.catch((error: { readonly stdout: string }) => error);
  return stdout.split('\n');
}

const wrong = (lines: readonly string[]) => lines.filter((line) => line.startsWith('WRONG'));

it('api-errors: raised while OpenStack is away, of which the doctor names Keystone', async () => {
  const played = new AlarmStage('api-errors');
  const { Threshold } = played.alarm;
  const isError = (status: number) => status >= 500;
  played.nextPeriod();
  played.give(await counted(Threshold, isError));
  expect(played.state()).toBe('OK');
  const before = wrong(await firstCommandOf('api-errors'));

  await system.kill('openstack');
  played.nextPeriod();
  played.give(await counted(Threshold, isError));
  expect(played.state()).toBe('ALARM');
  const found = wrong(await firstCommandOf('api-errors'));
  expect(found.filter((line) => !before.includes(line)).join('\n')).toContain(
    urlOf(layout, 'keystone'),
  );

  await system.start('openstack');
  // The circuit breaker asks Keystone again after some seconds.
  await eventually(() => statusOf('admin-token')).toBe(200);
  played.nextPeriod();
  played.give(await counted(Threshold, isError));
  expect(played.state()).toBe('OK');
  expect(wrong(await firstCommandOf('api-errors'))).toEqual(before);
});

it('unauthorized: raised by a flood of unknown tokens, and ended with it', async () => {
  const played = new AlarmStage('unauthorized');
  const { Threshold } = played.alarm;
  const isUnauthorized = (status: number) => status === 401;
  played.nextPeriod();
  played.give(await counted(Threshold - 1, isUnauthorized));
  expect(played.state()).toBe('OK');
  played.nextPeriod();
  played.give(await counted(Threshold, isUnauthorized));
  expect(played.state()).toBe('ALARM');
  expect(await statusOf('admin-token')).toBe(200);
  played.nextPeriod();
  played.give(await counted(1, isUnauthorized));
  expect(played.state()).toBe('OK');
});
