// ministack, an independent emulator of AWS on one port, from PyPI: CloudFormation, API Gateway,
// Lambda with this machine's Node, DynamoDB and its streams, SQS, IoT Core with MQTT.

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freePort } from '#local/ports.ts';
import { openProcesses } from '#test/openstack/install/processes.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';
import { folderOf, lastLineOf, versionIn } from './install.ts';

const root = join(import.meta.dirname, '../..');
const host = '127.0.0.1';

/** It and all that it needs, with their versions. */
const versions = 'ministack.txt';
const version = versionIn(versions, /^ministack==(.+)$/m);

export interface Ministack {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly mqttPort: number;
  /** Loses all state, as it has none on disk. */
  stop(): Promise<void>;
}

/** AWS's own variables; the emulator takes any credentials. */
export const emulatorVariables: Readonly<Record<string, string>> = {
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
};

/** @param directory for its logs @throws CannotRun */
export async function startMinistack(directory: string): Promise<Ministack> {
  const programs = install();
  mkdirSync(directory, { recursive: true });
  const processes = openProcesses(directory);
  const port = await freePort({ host, port: 0 });
  const mqttPort = await freePort({ host, port: 0 });
  processes.start({
    name: 'ministack',
    command: [join(programs, 'python'), join(import.meta.dirname, 'start-ministack.py')],
    variables: {
      // Its functions run on this Node, and find the SDK there, as in Lambda's own runtime.
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      NODE_PATH: join(root, 'node_modules'),
      BIND_HOST: host,
      // In the addresses that it gives: names before an IP address are no URLs.
      MINISTACK_HOST: 'localhost',
      GATEWAY_PORT: String(port),
      IOT_MTLS_PORT: String(mqttPort),
      ...emulatorVariables,
    },
  });
  try {
    await processes.listening('ministack', port);
  } catch (error) {
    await processes.stop();
    throw error;
  }
  return {
    name: `ministack ${version}`,
    url: `http://${host}:${port}`,
    port,
    mqttPort,
    stop: () => processes.stop(),
  };
}

function install(): string {
  const directory = folderOf('ministack', version);
  try {
    return ensureEnvironment(directory, join(import.meta.dirname, versions));
  } catch (error) {
    throw new CannotRun(`ministack needs Python 3.10, its venv, and PyPI: ${lastLineOf(error)}`);
  }
}
