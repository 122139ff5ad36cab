// The whole system on one machine: every part in a process of its own, as in the cloud, so that
// each can be killed and restarted while the others continue.

import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { thingName } from '#core/contracts/topics.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { startDynamoDb } from '#local/aws/dynamodb/dynamodb-engine.ts';
import { bundleProcesses } from './bundle.ts';
import { environmentOf, host, type Layout, type PortName, portVariable, urlOf } from './layout.ts';
import { certificateDirectory, engineFile, type PartName, partNames, setupName } from './parts.ts';
import { type Launched, type Supervised, supervise } from './supervisor.ts';

export interface AgentOptions {
  readonly hostname: string;
  readonly drivers: string;
  readonly sysfsRoot?: string;
  /** Name of a driver → its settings; also a text for a setting of the agent. */
  readonly settings?: Readonly<Record<string, object | string>>;
  readonly intervalSeconds?: number;
  /** Only {@link System.start} starts it. */
  readonly startsLater?: boolean;
}

/** Called with each JSON line that a part writes. */
type LineListener = (part: string, line: Readonly<Record<string, unknown>>) => void;

interface SystemOptions {
  readonly layout: Layout;
  readonly agents: readonly AgentOptions[];
  /** Whether a part that dies is restarted, as by AWS. */
  readonly restart: boolean;
  readonly onLine?: LineListener;
  /** Called when a process has died and is restarted. */
  readonly onRestart?: (name: ProcessName) => void;
  /** Called at each step of the start, with a clause. */
  readonly onProgress?: (reached: string) => void;
  /** Variables in addition to the layout's. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** `dynamodb`, the name of a part, or `agent-<hostname>`. */
type ProcessName = string;

export interface System {
  readonly layout: Layout;
  readonly processes: readonly ProcessName[];
  /** Kills the process at once, as a crash would. */
  kill(name: ProcessName): Promise<void>;
  start(name: ProcessName): Promise<void>;
  stop(): Promise<void>;
}

/** With 1 MB a boot costs a fifth more CPU, and idle processes need as much memory. */
const heapFlags = ['--max-semi-space-size=16'];
/**
 * glibc gives each thread a heap of its own and keeps freed buffers. With these settings it
 * returns them to the kernel.
 */
const allocator = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

/** @throws EngineUnavailable, PortTaken, or what a part failed with */
export async function startSystem(options: SystemOptions): Promise<System> {
  const { layout, onProgress = () => {} } = options;
  mkdirSync(layout.logDirectory, { recursive: true });
  // AWS clients of this process use the engines, too.
  Object.assign(process.env, environmentOf(layout));
  const environment = { ...allocator, ...environmentOf(layout), ...options.variables };
  let isStopping = false;
  const processes = new Map<ProcessName, Supervised>();
  const add = (name: ProcessName, launch: () => Launched) =>
    processes.set(
      name,
      supervise(launch, {
        mayRestart: () => options.restart && !isStopping,
        onRestart: () => options.onRestart?.(name),
      }),
    );
  const addChild = (name: ProcessName, command: readonly string[], variables = environment) => {
    const log = createWriteStream(join(layout.logDirectory, `${name}.log`), { flags: 'a' });
    const { onLine } = options;
    add(name, () => child({ name, command, environment: variables, layout, log, onLine }));
  };

  onProgress('compiling the parts');
  const isOurs = (name: PortName) => !layout.replaced.includes(name);
  if (isOurs('dynamodb')) add('dynamodb', () => engine(layout));
  // The engine starts in parallel. Its error is reported where the start waits for it.
  processes
    .get('dynamodb')
    ?.start()
    .catch(() => {});
  const bundles = await bundleProcesses(join(layout.directory, 'bundle'));
  const command = (name: string) => [bundles.part, name, JSON.stringify(layout)];
  const replaceable: Readonly<Partial<Record<PartName, PortName>>> = {
    queues: 'sqs',
    s3: 's3',
    events: 'events',
  };
  for (const name of partNames) {
    const port = replaceable[name];
    if (port === undefined || isOurs(port)) addChild(name, command(name));
  }
  for (const agent of options.agents) {
    const variables = agentEnvironment(layout, agent);
    addChild(agentName(agent), [bundles.agent], { ...environment, ...variables });
  }
  const named = (name: ProcessName): Supervised => {
    const child = processes.get(name);
    if (!child)
      throw new Error(`Unknown process ${name}; known are ${[...processes.keys()].join(', ')}.`);
    return child;
  };
  const system: System = {
    layout,
    processes: [...processes.keys()],
    kill: (name) => named(name).kill(),
    start: (name) => named(name).start(),
    stop: async () => {
      isStopping = true;
      // Stop the sources of work first, the engines last.
      const order = [...processes.keys()].reverse();
      for (const name of order) await named(name).kill('SIGTERM');
    },
  };
  const startAll = (isChosen: (name: ProcessName) => boolean) =>
    Promise.all(
      [...processes.keys()].filter(isChosen).map(async (name) => {
        await system.start(name);
        onProgress(`${name} is up`);
      }),
    );
  try {
    // Parts that need tables and queues start after them.
    const engines = ['dynamodb', 'queues'];
    const isAgent = (name: ProcessName) => name.startsWith('agent-');
    await Promise.all([
      startAll((name) => !engines.includes(name) && !isAgent(name) && name !== 'consumers'),
      startAll((name) => engines.includes(name))
        .then(() => setUp(layout, command(setupName), environment))
        .then(() => onProgress('tables and queues are there'))
        .then(() => startAll((name) => name === 'consumers')),
    ]);
    const later = options.agents.filter((each) => each.startsLater).map(agentName);
    await startAll((name) => isAgent(name) && !later.includes(name));
  } catch (error) {
    await system.stop();
    throw error;
  }
  return system;
}

function agentName({ hostname }: AgentOptions): ProcessName {
  return `agent-${hostname}`;
}

/** Runs in a process of its own, which frees the memory of the AWS clients when it ends. */
async function setUp(
  layout: Layout,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const log = createWriteStream(join(layout.logDirectory, `${setupName}.log`), { flags: 'a' });
  const options = { name: setupName, command, environment, layout, log, onLine: undefined };
  const launched = child(options);
  await launched.ready;
  await launched.end('SIGTERM');
}

function engine(layout: Layout): Launched {
  const started = startDynamoDb({
    host,
    port: layout.ports.dynamodb,
    variable: portVariable('dynamodb'),
    file: engineFile(layout),
  });
  return {
    ready: started.then(() => {}),
    // The guard must end as well, before a restart.
    ended: started.then(
      async ({ ended, stop }) => {
        await ended;
        await stop();
      },
      () => {},
    ),
    end: () =>
      started.then(
        ({ stop }) => stop(),
        () => {},
      ),
  };
}

/** The variables of an agent of this system. */
export function agentEnvironment(layout: Layout, agent: AgentOptions): Record<string, string> {
  const certificates = openCertificates(certificateDirectory(layout));
  const files = certificates.issueHostCertificate(thingName(layout.stage, agent.hostname));
  const images = environmentOf(layout).AWS_ENDPOINT_URL_S3 ?? urlOf(layout, 's3');
  return {
    CYBORG_AGENT_HOSTNAME: agent.hostname,
    CYBORG_AGENT_STAGE: layout.stage,
    CYBORG_AGENT_ENDPOINT: `${host}:${layout.ports.mqtt}`,
    CYBORG_AGENT_CERTIFICATE: files.certificateFile,
    CYBORG_AGENT_KEY: files.keyFile,
    CYBORG_AGENT_CA: files.authorityFile,
    CYBORG_AGENT_IMAGE_SOURCE: new URL('/', images).href,
    CYBORG_AGENT_DRIVERS: agent.drivers,
    CYBORG_AGENT_STATE_DIR: join(layout.directory, 'agents', agent.hostname),
    ...(agent.sysfsRoot && { CYBORG_AGENT_SYSFS_ROOT: agent.sysfsRoot }),
    ...Object.fromEntries(
      Object.entries(agent.settings ?? {}).map(([driver, settings]) => [
        `CYBORG_AGENT_${driver.toUpperCase()}`,
        typeof settings === 'string' ? settings : JSON.stringify(settings),
      ]),
    ),
    ...(agent.intervalSeconds && {
      CYBORG_AGENT_INTERVAL_SECONDS: String(agent.intervalSeconds),
    }),
  };
}

interface ChildOptions {
  readonly name: ProcessName;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly layout: Layout;
  readonly log: WriteStream;
  readonly onLine: LineListener | undefined;
}

function child({ name, command, environment, layout, log, onLine }: ChildOptions): Launched {
  const started = spawn(process.execPath, [...heapFlags, ...command], {
    cwd: join(import.meta.dirname, '../..'),
    // Compiled modules are cached between starts.
    env: { NODE_COMPILE_CACHE: join(layout.directory, 'compiled'), ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  if (started.stdout) {
    createInterface(started.stdout).on('line', (line) => {
      log.write(`${line}\n`);
      const parsed = onLine && parseJson(line);
      if (parsed) onLine?.(name, parsed as Record<string, unknown>);
    });
  }
  started.stderr?.on('data', (text) => log.write(text));
  const ended = new Promise<void>((resolve) => {
    started.once('exit', () => resolve());
    // The process could not be started.
    started.once('error', () => resolve());
  });
  return {
    // An agent has no parent to tell; it is ready when its host reports.
    ready: name.startsWith('agent-') ? Promise.resolve() : readyMessage(started, name),
    ended,
    end: async (signal) => {
      started.kill(signal);
      await ended;
    },
  };
}

function readyMessage(started: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    started.once('message', (message: { ready?: string; failed?: string }) => {
      if (message.failed === undefined) resolve();
      else reject(new Error(message.failed));
    });
    started.once('error', reject);
    started.once('exit', (code) => reject(new Error(`${name} ended during its start (${code}).`)));
  });
}
