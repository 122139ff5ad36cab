// LocalStack without Docker, from PyPI: its SQS and S3. Its DynamoDB is Amazon's DynamoDB Local,
// and its free edition has no AWS IoT.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Running } from '#local/ports.ts';
import { openProcesses } from '#test/openstack/install/processes.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';
import { folderOf, lastLineOf, versionIn } from './install.ts';

const host = '127.0.0.1';
/** It and all that it needs, with their versions. */
const versions = 'localstack.txt';
const version = versionIn(versions, /^localstack-core==(.+)$/m);

export interface LocalStack extends Running {
  readonly name: string;
  /** All its services have this address. */
  readonly url: string;
}

/** @param directory for its logs and its state @throws CannotRun */
export async function startLocalStack(directory: string): Promise<LocalStack> {
  const programs = install();
  mkdirSync(directory, { recursive: true });
  const processes = openProcesses(directory);
  const port = await freePort({ host, port: 0 });
  const url = `http://${host}:${port}`;
  processes.start({
    name: 'localstack',
    command: [join(programs, 'python'), '-m', 'localstack.runtime.main'],
    variables: {
      GATEWAY_LISTEN: `${host}:${port}`,
      SERVICES: 'sqs,s3',
      // Queue URLs have the host of the requests.
      SQS_ENDPOINT_STRATEGY: 'dynamic',
      LOCALSTACK_VOLUME_DIR: directory,
      // It asks nothing of the network: no events to its makers, no certificate, no DNS.
      DISABLE_EVENTS: '1',
      SKIP_SSL_CERT_DOWNLOAD: '1',
      DNS_ADDRESS: '0',
    },
  });
  try {
    await processes.listening('localstack', port);
    await eventually(() => isReady(url), Boolean, 120);
  } catch (error) {
    await processes.stop();
    throw error;
  }
  return { name: `LocalStack ${version}`, url, stop: () => processes.stop() };
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/_localstack/health`).catch(() => undefined);
  return answer?.ok === true;
}

function install(): string {
  const directory = folderOf('localstack', version);
  try {
    return ensureEnvironment(directory, join(import.meta.dirname, versions));
  } catch (error) {
    throw new CannotRun(`LocalStack needs Python 3.11, its venv, and PyPI: ${lastLineOf(error)}`);
  }
}
