// `npm run test:clients`: runs `openstack accelerator ...` of Debian and of two releases from
// PyPI, and openstacksdk, unmodified, against a local system at the lowest and highest default
// microversion, and signs in with the same files as the client and as `cyborg-ops`. Needs the
// clients, or root on Debian to install them. The last line has the counts.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { announceHost } from '#local/demo/announce-host.ts';
import { client, waitFor } from '#local/demo/demo-client.ts';
import { demoAgent, demoHostname } from '#local/demo/demo-host.ts';
import { aGbs } from '#local/demo/gbs.ts';
import { password, region } from '#local/openstack/keystone/catalog.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { startSystem } from '#local/process/system.ts';
import { examplesOf } from '#test/support/doc-examples.ts';
import { type Client, clientsIn, currentClient, installClients, pythonOf } from './packages.ts';
import { compareSignIns } from './sign-in.ts';
import { imageAnswer, type Ran, steps } from './steps.ts';

const exec = promisify(execFile);
const counts = { passed: 0, failed: 0 };

/** The lowest and highest `defaultMicroversion` of a deployment. */
const defaultMicroversions = ['2.0', '2.3'] as const;

async function main(): Promise<void> {
  installClients();
  const environments = join(import.meta.dirname, '..', '..', '.local', 'clients');
  const clients = clientsIn(environments);
  for (const microversion of defaultMicroversions) await driveAt(microversion, clients);
  await compareSignIns(pythonOf(clients, currentClient), note);
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

async function driveAt(microversion: string, clients: readonly Client[]): Promise<void> {
  console.log(`default microversion ${microversion}`);
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-clients-'));
  const variables = { ...process.env };
  try {
    const layout = await chooseLayout({ stage: 'clients', directory, anyPorts: true });
    const system = await startSystem({
      layout,
      agents: [demoAgent(join(directory, 'sysfs'))],
      restart: false,
      variables: { CYBORG_DEFAULT_MICROVERSION: microversion },
    });
    try {
      await announceHost(layout, demoHostname);
      await untilReported(layout);
      await driveSdk(layout);
      const image = await putImage(layout);
      for (const each of clients) await drive(layout, each, image);
    } finally {
      await system.stop();
    }
  } finally {
    // A system sets variables to its own engines; the next system has others.
    process.env = variables;
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function untilReported(layout: Layout): Promise<void> {
  const api = client(`${urlOf(layout, 'api')}/accelerator/v2`);
  await waitFor(
    'the five devices of the host in the list of the API',
    () => api.get<{ devices: unknown[] }>('/devices', 'admin-token'),
    ({ devices }) => devices.length === 5,
  );
}

async function putImage(layout: Layout): Promise<{ readonly id: string }> {
  const glance = client(urlOf(layout, 'glance'));
  const image = await glance.post<{ id: string }>('/v2/images', 'admin-token', { name: 'cli.gbs' });
  await glance.put(`/v2/images/${image.id}/file`, 'admin-token', new Uint8Array(aGbs()));
  return image;
}

async function driveSdk(layout: Layout): Promise<void> {
  const env = credentials(layout);
  // The steps of the SDK expect an empty list.
  const { stdout, stderr } = await run(
    '/usr/bin/python3',
    [join(import.meta.dirname, 'sdk.py')],
    env,
  );
  const lines = stdout.split('\n').filter((line) => /^(ok|FAILED) /.test(line));
  if (lines.length === 0) note('openstacksdk', `no output: ${stderr}`);
  for (const line of lines) {
    const [outcome, name, ...why] = line.split(' ');
    note(`openstacksdk ${name}`, outcome === 'ok' ? undefined : why.join(' '));
  }
  for (const block of examplesOf('api.md').client) {
    const { isOk, stderr } = await run('bash', ['-ec', block], env);
    note('the examples of docs/api.md', isOk ? undefined : stderr);
  }
}

async function drive(
  layout: Layout,
  { name: client, openstack }: Client,
  { id: uuid }: { readonly id: string },
): Promise<void> {
  const env = credentials(layout);
  console.log(client);
  const answers = new Map<string, unknown>([[imageAnswer, { uuid }]]);
  for (const { name, args, check } of steps) {
    try {
      const ran = await run(openstack, ['accelerator', ...args(answers, client)], env);
      const answer = check(ran, client);
      if (answer !== undefined) answers.set(name, answer);
      note(`openstack accelerator ${name}`, undefined);
    } catch (error) {
      note(`openstack accelerator ${name}`, (error as Error).message);
    }
  }
}

function note(name: string, fault: string | undefined): void {
  counts[fault === undefined ? 'passed' : 'failed'] += 1;
  console.log(fault === undefined ? `  ok      ${name}` : `  FAILED  ${name}: ${fault}`);
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  try {
    const { stdout, stderr } = await exec(command, [...args], { env, timeout: 120_000 });
    return { isOk: true, stdout, stderr };
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as Partial<Ran>;
    return { isOk: false, stdout, stderr };
  }
}

function credentials(layout: Layout): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('OS_'));
  return {
    ...Object.fromEntries(others),
    OS_AUTH_URL: `${urlOf(layout, 'keystone')}/v3`,
    OS_IDENTITY_API_VERSION: '3',
    OS_USERNAME: 'admin',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'admin',
    OS_USER_DOMAIN_NAME: 'Default',
    OS_PROJECT_DOMAIN_NAME: 'Default',
    OS_REGION_NAME: region,
  };
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
