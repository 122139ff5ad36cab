// The stage of the scenarios: the emulator in place of AWS, the fakes of OpenStack, and one
// compute node with the agent's bundle. The stack is deployed by the scenarios.

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { announceHost } from '#local/demo/announce-host.ts';
import { type Client, client } from '#local/demo/demo-client.ts';
import { demoAgent, demoHostname } from '#local/demo/demo-host.ts';
import { chooseLayout, type Layout, urlOf } from '#local/process/layout.ts';
import { startOpenStack } from '#local/process/start-openstack.ts';
import { type AgentProcess, run as runProgram } from '#test/agent/agent-process.ts';
import { emulatorVariables, type Ministack, startMinistack } from '#test/emulators/ministack.ts';
import { type Cdk, cdkAt } from './cdk.ts';
import { openDoor } from './gateway.ts';

export const stackStage = 'emu';
export const stackName = `cyborg-${stackStage}`;
export const secretName = 'cyborg/keystone-password';
const root = join(import.meta.dirname, '../..');

export interface Stage {
  readonly directory: string;
  readonly layout: Layout;
  readonly emulator: Ministack;
  readonly cdk: Cdk;
  /** Settings of the stack, as `-c name=value`. */
  readonly settings: Readonly<Record<string, string>>;
  /** The stack's output `Endpoint`; undefined while there is none. */
  endpoint: string | undefined;
  /** The deployed API, by the address in the catalog. */
  readonly api: Client;
  readonly nova: Client;
  readonly placement: Client;
  readonly glance: Client;
  /** One call of a service whose client the project does not have. Resolves to its answer. */
  ask<T>(service: string, target: string, body: unknown): Promise<T>;
  /** Runs `cyborg-ops`. @throws Error with its output if it fails */
  ops(...words: readonly string[]): Promise<string>;
  /** What `npm run preflight` prints, whatever its exit code. */
  preflight(settings?: Readonly<Record<string, string>>): Promise<string>;
  startHost(): Promise<void>;
  stopHost(): Promise<void>;
}

/** @param closing gets what ends each part */
export async function openStage(
  directory: string,
  closing: (() => Promise<void>)[],
): Promise<Stage> {
  mkdirSync(directory, { recursive: true });
  const emulator = await startMinistack(join(directory, 'log'));
  closing.push(emulator.stop);
  const variables = { ...emulatorVariables, AWS_ENDPOINT_URL: emulator.url };
  Object.assign(process.env, variables);
  const layout = await chooseLayout({ stage: stackStage, directory, anyPorts: true });
  const openstack = await startOpenStack(layout);
  closing.push(openstack.stop);
  const ask = async <T>(service: string, target: string, body: unknown): Promise<T> => {
    const response = await fetch(emulator.url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': target,
        Authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`,
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${target} answers ${response.status}: ${text}`);
    return JSON.parse(text || 'null') as T;
  };
  const ops = async (...words: readonly string[]) => {
    const env = { ...process.env, ...variables };
    const program = join(root, 'operate/cyborg-ops.ts');
    const options = { cwd: root, env };
    return (await promisify(execFile)(process.execPath, [program, ...words], options)).stdout;
  };
  const preflight = async (settings: Readonly<Record<string, string>> = {}) => {
    const options = Object.entries({ ...stage.settings, ...settings }).flatMap(([name, value]) => {
      return ['-c', `${name}=${value}`];
    });
    const env = { ...process.env, ...variables } as Record<string, string>;
    const program = runProgram('infra/preflight/main.ts', env, options);
    await program.exited();
    return program.output();
  };
  const cdk = cdkAt(emulator.url, join(directory, 'transcript.txt'));
  closing.push(cdk.stop);
  let agent: AgentProcess | undefined;
  closing.push(async () => void (await agent?.stop()));
  const stage: Stage = {
    directory,
    layout,
    emulator,
    cdk,
    settings: {
      stage: stackStage,
      keystoneUrl: `${urlOf(layout, 'keystone')}/v3`,
      // The fake Nova attaches every type.
      attachTypes: 'PCI,TEST_PCI,MDEV',
    },
    endpoint: undefined,
    api: client(`${urlOf(layout, 'api')}/accelerator/v2`),
    nova: client(`${urlOf(layout, 'nova')}/v2.1`),
    placement: client(urlOf(layout, 'placement')),
    glance: client(urlOf(layout, 'glance')),
    ask,
    ops,
    preflight,
    startHost: async () => {
      await announceHost(layout, demoHostname);
      agent = await startAgent(stage);
    },
    stopHost: async () => {
      await agent?.stop();
      agent = undefined;
    },
  };
  const door = await openDoor(layout.ports.api, () => stage.endpoint, emulator);
  closing.push(door.stop);
  return stage;
}

/** Enrols the demo's compute node as docs/deploy.md does, and starts the agent's bundle on it. */
async function startAgent({ directory, emulator, ops }: Stage): Promise<AgentProcess> {
  execFileSync(process.execPath, ['infra/bundle/bundle-agent.ts'], { cwd: root });
  const folder = join(directory, demoHostname);
  const { drivers, sysfsRoot, settings: ofDrivers } = demoAgent(join(directory, 'sysfs'));
  const settings = {
    drivers: drivers.split(','),
    ...ofDrivers,
    sysfs_root: sysfsRoot,
    state_dir: join(directory, 'agent'),
    // The name that the emulator gives its broker cannot be resolved on this machine.
    endpoint: `localhost:${emulator.mqttPort}`,
  };
  const settingsFile = join(directory, 'host.json');
  writeFileSync(settingsFile, JSON.stringify(settings));
  const authorities = join(directory, 'authorities.pem');
  const authority = await fetch(`${emulator.url}/_ministack/iot/ca.pem`);
  writeFileSync(authorities, await authority.text());
  await ops(
    ...['enrol', 'add', demoHostname, '--stage', stackStage, '--settings', settingsFile],
    ...['--out', folder, '--at', folder, '--ca', authorities, '--images', `${emulator.url}/`],
  );
  return runProgram('dist/cyborg-agent.mjs', { CYBORG_AGENT_CONFIG: join(folder, 'agent.json') });
}
