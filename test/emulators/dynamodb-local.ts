// Amazon's DynamoDB Local, from Maven's central repository: tables and their streams on one port.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Running } from '#local/ports.ts';
import { openProcesses } from '#test/openstack/install/processes.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { folderOf, lastLineOf, versionIn } from './install.ts';

const host = '127.0.0.1';
const project = 'dynamodb-local.xml';
const version = versionIn(project, /<artifactId>DynamoDBLocal<\/artifactId>\s*<version>(.+)</);
/** The plugin's version, too: Maven would take the newest. */
const copy = 'org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies';

interface DynamoDbLocal extends Running {
  readonly name: string;
  readonly url: string;
}

/** @param directory for its logs @throws CannotRun */
export async function startDynamoDbLocal(directory: string): Promise<DynamoDbLocal> {
  const library = install();
  mkdirSync(directory, { recursive: true });
  const processes = openProcesses(directory);
  const port = await freePort({ host, port: 0 });
  const server = 'com.amazonaws.services.dynamodbv2.local.main.ServerRunner';
  processes.start({
    name: 'dynamodb-local',
    command: [
      ...['java', '-Xmx1g', '-cp', `${library}/*`, server],
      ...['-inMemory', '-sharedDb', '-disableTelemetry', '-port', String(port)],
    ],
    variables: {
      PATH: process.env.PATH ?? '',
      JAVA_HOME: process.env.JAVA_HOME ?? '',
      // Java looks for the engine's native code there.
      LD_LIBRARY_PATH: library,
    },
  });
  try {
    await processes.listening('dynamodb-local', port);
  } catch (error) {
    await processes.stop();
    throw error;
  }
  return {
    name: `DynamoDB Local ${version}`,
    url: `http://${host}:${port}`,
    stop: () => processes.stop(),
  };
}

/** Returns the folder of its libraries. */
function install(): string {
  for (const tool of ['java', 'mvn']) if (!isThere(tool)) throw new CannotRun(`no ${tool} is here`);
  const directory = folderOf('dynamodb-local', version);
  const library = join(directory, 'lib');
  // The mark is written last: an interrupted installation starts from the beginning.
  const mark = join(directory, 'installed');
  if (existsSync(mark)) return library;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const file = join(import.meta.dirname, project);
  const options = ['--quiet', '--batch-mode', '--file', file, `-DoutputDirectory=${library}`];
  try {
    execFileSync('mvn', [...options, '-DincludeScope=runtime', copy], { stdio: 'pipe' });
  } catch (error) {
    throw new CannotRun(`Maven cannot get its libraries: ${lastLineOf(error)}`);
  }
  writeFileSync(mark, '');
  return library;
}

function isThere(tool: string): boolean {
  try {
    execFileSync(tool, ['-version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
