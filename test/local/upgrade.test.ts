// Version 0.2.0 is upgraded to this one, rolled back and upgraded again, function by function,
// while servers boot and go: for a while the code of both works on the same tables and queues, as
// in a deployment. The code of 0.2.0 comes from this repository's history.
//
// @module-tag long

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { createStore } from '#core/deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';
import { chooseLayout, environmentOf, type Layout } from '#local/process/layout.ts';
import { agentEnvironment, type System, startSystem } from '#local/process/system.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { askPatiently } from '#test/support/vitest/patient-requests.ts';

/** A commit of 0.2.0: the first that can be upgraded; a release writes its own. */
const before = '9bcc7109fb85c74051100429f0b4f57f78509fe8';
const root = join(import.meta.dirname, '../..');
const hostname = 'cmp1';
const agent = { hostname, drivers: 'fake,fake-gpu', startsLater: true };

const hasHistory = (() => {
  try {
    execFileSync('git', ['cat-file', '-e', `${before}^{commit}`], { cwd: root, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const kinds = {
  fpga: {
    group: { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' },
    provider: providerUuid(`${hostname}_FakeDevice`),
  },
  vgpu: {
    group: { 'resources:VGPU': '1', 'trait:CUSTOM_ABCD_9B01_FAKE_1': 'required' },
    provider: providerUuid(`${hostname}_0000:0e:00.0_fake-1`),
  },
} as const;
type Kind = keyof typeof kinds;

let directory: string;
let layout: Layout;
let system: System;
let store: ReturnType<typeof createStore>['store'];
/** Processes of 0.2.0. */
const old = new Map<string, ChildProcess>();

beforeAll(async () => {
  if (!hasHistory) return;
  directory = mkdtempSync(join(tmpdir(), 'cyborg-upgrade-'));
  const tree = join(directory, 'before');
  mkdirSync(tree);
  execFileSync('sh', ['-c', `git archive ${before} | tar -x -C "$0"`, tree], { cwd: root });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  layout = await chooseLayout({ stage: 'upgrade', directory, anyPorts: true });
  system = await startSystem({ layout, agents: [agent], restart: false, onLine: noteProgress });
  store = createStore(createDocuments(), layout.stage).store;
  await announceHost(layout, hostname);
});

afterAll(async () => {
  for (const name of old.keys()) await stopOld(name);
  await system?.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

/** Starts a part, or the agent, of 0.2.0. */
async function startOld(name: 'api' | 'consumers' | 'agent'): Promise<void> {
  const tree = join(directory, 'before');
  const command =
    name === 'agent'
      ? [join(tree, 'edge-agent/main.ts')]
      : [join(tree, 'local/process/part.ts'), name, JSON.stringify(layout)];
  const log = openSync(join(layout.logDirectory, `old-${name}.log`), 'a');
  const child = spawn(process.execPath, command, {
    cwd: tree,
    env: { ...environmentOf(layout), ...(name === 'agent' && agentEnvironment(layout, agent)) },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  old.set(name, child);
  if (name === 'agent') return;
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  expect(message).toEqual({ ready: name });
}

async function stopOld(name: string): Promise<void> {
  const child = old.get(name);
  old.delete(name);
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const ask = (method: string, path: string, body?: unknown) =>
  askPatiently(layout, method, path, body);

let instances = 0;
/** How many servers of each kind have booted and gone. */
const served = { fpga: 0, vgpu: 0 };
const failed: string[] = [];
let isOver = false;
/** What was last answered about each server that does not have its device yet. */
const waiting = new Map<string, string>();

async function boot(kind: Kind): Promise<string> {
  instances += 1;
  const instance = `aaaaaaaa-0000-4000-8000-${String(instances).padStart(12, '0')}`;
  const made = await ask('POST', '/accelerator_requests', { device_profile_name: kind });
  const [{ uuid }] = made.json.arqs;
  const device_rp_uuid = kinds[kind].provider;
  const patch = bindPatch({ hostname, device_rp_uuid, instance_uuid: instance });
  const noted = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    waiting.set(`${kind} of ${instance}`, `${method} ${JSON.stringify(answer)}`);
    return answer;
  };
  const { status } = await waitFor(
    `${kind} of ${instance} to be accepted`,
    () => noted('PATCH', '/accelerator_requests', { [uuid]: patch }),
    // All handles may be with servers, or not clean yet.
    ({ status }) => status !== 409,
  );
  expect(status).toBe(202);
  const { json } = await waitFor(
    `${kind} of ${instance} to be resolved`,
    () => noted('GET', `/accelerator_requests?instance=${instance}`),
    ({ json }) => /Bound|BindFailed/.test(json.arqs[0]?.state),
  );
  waiting.delete(`${kind} of ${instance}`);
  if (json.arqs[0].state !== 'Bound') failed.push(`${kind} of ${instance}`);
  return instance;
}

async function remove(instance: string): Promise<void> {
  const { status } = await ask('DELETE', `/accelerator_requests?instance=${instance}`);
  expect(status).toBe(204);
}

/** Boots and deletes servers, until the test is over. */
async function serve(kind: Kind): Promise<void> {
  while (!isOver) {
    await remove(await boot(kind));
    served[kind] += 1;
    noteProgress();
  }
}

/** Until servers of each kind have booted and gone with the functions of now. */
async function untilServed(): Promise<void> {
  const from = { ...served };
  await waitFor(
    'servers to boot and go',
    async () => served,
    ({ fpga, vgpu }) => fpga >= from.fpga + 3 && vgpu >= from.vgpu + 2,
  );
}

async function playAll(changes: readonly (() => Promise<unknown>)[]): Promise<void> {
  await untilServed();
  for (const change of changes) {
    await change();
    await untilServed();
  }
}

async function taken() {
  const found = await Promise.all(
    Object.values(kinds).map(({ provider }) => store.inventory.provider(provider)),
  );
  const handles = found.flatMap((each) => each?.handles ?? []);
  return { count: handles.length, taken: handles.filter((each) => each.claim || each.release) };
}

describe.skipIf(!hasHistory)('while servers boot and go', () => {
  it('0.2.0 is upgraded, rolled back and upgraded again, and no bind is lost', async () => {
    onTestFailed(() => {
      process.stderr.write(`${JSON.stringify({ served, waiting: [...waiting] }, null, 2)}\n`);
    });
    const changes = [
      () => system.start('consumers'),
      // From here the consumers of both take messages.
      async () => {
        await stopOld('api');
        await system.start('api');
      },
      () => stopOld('consumers'),
      // Now all of it is this version; back in the other order.
      async () => {
        await system.kill('api');
        await startOld('api');
      },
      () => startOld('consumers'),
      () => system.kill('consumers'),
      // All of it is 0.2.0 again.
      () => system.start('consumers'),
      () => stopOld('consumers'),
      async () => {
        await stopOld('api');
        await system.start('api');
      },
      // The agents are last.
      async () => {
        await stopOld('agent');
        await system.start(`agent-${hostname}`);
      },
    ];
    await system.kill('api');
    await system.kill('consumers');
    await Promise.all([startOld('api'), startOld('consumers')]);
    await startOld('agent');
    await waitFor('20 handles', taken, ({ count }) => count === 20);
    for (const [name, { group }] of Object.entries(kinds)) {
      await ask('POST', '/device_profiles', [{ name, groups: [group] }]);
    }
    const kept = [await boot('fpga'), await boot('vgpu')];
    const load = Promise.all([serve('fpga'), serve('fpga'), serve('vgpu')]);
    // A server that fails ends the test, which would wait for the next ones.
    await Promise.race([load, playAll(changes)]).finally(() => {
      isOver = true;
    });
    await load;
    expect(failed).toEqual([]);
    for (const instance of kept) {
      const { json } = await ask('GET', `/accelerator_requests?instance=${instance}`);
      expect(json.arqs[0].state).toBe('Bound');
      await remove(instance);
    }
    await waitFor(
      'all handles to be free',
      async () => (await taken()).taken.map(({ uuid }) => uuid),
      (uuids) => uuids.length === 0,
    );
    // Requests that were repeated may have left ARQs that are not bound.
    const { json } = await ask('GET', '/accelerator_requests');
    expect(json.arqs.filter(({ state }: { state: string }) => state !== 'Initial')).toEqual([]);
  });
});
