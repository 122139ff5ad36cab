// The whole system on one machine: every part in a process of its own, as in the cloud, so that each
// can be killed and started again while the others go on.

import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { thingName } from '#core/contracts/topics.ts';
import { openCertificates } from './certificates.ts';
import { createTables, type LocalDynamoDb, startDynamoDb } from './dynamodb.ts';
import { environmentOf, host, type Layout, portVariable, urlOf } from './layout.ts';
import { certificateDirectory, engineFile, type PartName, partNames } from './parts.ts';
import { createQueues } from './queues.ts';

export interface AgentOptions {
  readonly hostname: string;
  readonly drivers: string;
  readonly sysfsRoot?: string;
  readonly pciAllowList?: unknown;
  readonly intervalSeconds?: number;
}

/** A JSON line that a part has written. */
export type LineListener = (part: string, line: Readonly<Record<string, unknown>>) => void;

export interface SystemOptions {
  readonly layout: Layout;
  readonly agents: readonly AgentOptions[];
  /** Start a part again that has died, as AWS would. */
  readonly restart: boolean;
  readonly onLine?: LineListener;
  /** A process has died and is started again. */
  readonly onRestart?: (name: ProcessName) => void;
  /** Beside those that the layout gives. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** `dynamodb`, the name of a part, or `agent-<hostname>`. */
export type ProcessName = string;

export interface System {
  readonly layout: Layout;
  readonly processes: readonly ProcessName[];
  /** Kills at once, as a crash would. */
  kill(name: ProcessName): Promise<void>;
  start(name: ProcessName): Promise<void>;
  stop(): Promise<void>;
}

/** @throws EngineUnavailable, PortTaken, or what a part failed with */
export async function startSystem(options: SystemOptions): Promise<System> {
  const { layout } = options;
  mkdirSync(layout.logDirectory, { recursive: true });
  // Our own clients, which make tables and queues, speak to the engines themselves.
  Object.assign(process.env, environmentOf(layout));
  const environment = { ...environmentOf(layout), ...options.variables };
  const processes = new Map<ProcessName, Startable>();
  if (!layout.replaced.includes('dynamodb')) processes.set('dynamodb', engine(layout, options));
  for (const name of partNames) {
    if (name === 'queues' && layout.replaced.includes('sqs')) continue;
    if (name === 's3' && layout.replaced.includes('s3')) continue;
    if (name === 'events' && layout.replaced.includes('events')) continue;
    processes.set(name, child(name, partCommand(name, layout), environment, options));
  }
  for (const agent of options.agents) {
    const name = `agent-${agent.hostname}`;
    const variables = agentEnvironment(layout, agent);
    processes.set(
      name,
      child(name, ['edge-agent/main.ts'], { ...environment, ...variables }, options),
    );
  }
  const named = (name: ProcessName): Startable => {
    const found = processes.get(name);
    if (!found)
      throw new Error(`There is no ${name}; there are ${[...processes.keys()].join(', ')}.`);
    return found;
  };
  const system: System = {
    layout,
    processes: [...processes.keys()],
    kill: (name) => named(name).kill(),
    start: (name) => named(name).start(),
    stop: async () => {
      // Those that make work first, the engines last.
      const order = [...processes.keys()].reverse();
      for (const name of order) await named(name).kill('SIGTERM');
    },
  };
  try {
    // The engines first: what comes then finds its tables and queues.
    const engines = ['dynamodb', 'queues'];
    await Promise.all(engines.map((name) => processes.get(name)?.start()));
    const startAll = (wanted: (name: ProcessName) => boolean) =>
      Promise.all([...processes].filter(([name]) => wanted(name)).map(([, each]) => each.start()));
    const isAgent = (name: ProcessName) => name.startsWith('agent-');
    await Promise.all([createTablesOf(layout), createQueuesOf(layout)]);
    await startAll((name) => !engines.includes(name) && !isAgent(name));
    await startAll(isAgent);
  } catch (error) {
    await system.stop();
    throw error;
  }
  return system;
}

interface Startable {
  start(): Promise<void>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

function engine(layout: Layout, options: SystemOptions): Startable {
  let running: LocalDynamoDb | undefined;
  let isWanted = false;

  async function start(): Promise<void> {
    isWanted = true;
    const started = await startDynamoDb({
      host,
      port: layout.ports.dynamodb,
      variable: portVariable('dynamodb'),
      file: engineFile(layout),
    });
    running = started;
    void started.ended.then(async () => {
      if (!isWanted || !options.restart) return;
      options.onRestart?.('dynamodb');
      await started.stop();
      restart();
    });
  }

  function restart(): void {
    if (isWanted) start().catch(() => setTimeout(restart, restartDelayMs));
  }

  return {
    start,
    kill: async () => {
      isWanted = false;
      await running?.stop();
    },
  };
}

function partCommand(name: PartName, layout: Layout): string[] {
  return ['local/part.ts', name, JSON.stringify(layout)];
}

function agentEnvironment(layout: Layout, agent: AgentOptions): Record<string, string> {
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
    ...(agent.pciAllowList !== undefined && {
      CYBORG_AGENT_PCI_ALLOW_LIST: JSON.stringify(agent.pciAllowList),
    }),
    ...(agent.intervalSeconds && {
      CYBORG_AGENT_INTERVAL_SECONDS: String(agent.intervalSeconds),
    }),
  };
}

const restartDelayMs = 500;

function child(
  name: ProcessName,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  options: SystemOptions,
): Startable {
  let running: ChildProcess | undefined;
  let isWanted = false;
  let isReady = false;
  const log = createWriteStream(join(options.layout.logDirectory, `${name}.log`), { flags: 'a' });

  async function start(): Promise<void> {
    isWanted = true;
    const started = spawn(process.execPath, command, {
      cwd: join(import.meta.dirname, '..'),
      // Compiled modules are kept between starts.
      env: { NODE_COMPILE_CACHE: join(options.layout.directory, 'compiled'), ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    running = started;
    if (started.stdout) {
      createInterface(started.stdout).on('line', (line) => {
        log.write(`${line}\n`);
        const parsed = options.onLine && parseLine(line);
        if (parsed) options.onLine?.(name, parsed);
      });
    }
    started.stderr?.on('data', (text) => log.write(text));
    started.once('exit', () => {
      if (running === started) running = undefined;
      if (!isWanted || !isReady || !options.restart) return;
      options.onRestart?.(name);
      setTimeout(restart, restartDelayMs);
    });
    // An agent has no parent to tell; it is ready when its host reports.
    if (!name.startsWith('agent-')) await readyMessage(started, name);
    isReady = true;
  }

  /** Again and again: what it needs may be away, too. */
  function restart(): void {
    if (isWanted) start().catch(() => setTimeout(restart, restartDelayMs));
  }

  return {
    start,
    kill: async (signal = 'SIGKILL') => {
      isWanted = false;
      const dying = running;
      if (!dying || dying.exitCode !== null || dying.signalCode !== null) return;
      const ended = new Promise((resolve) => dying.once('exit', resolve));
      dying.kill(signal);
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
    started.once('exit', (code) => reject(new Error(`${name} ended at start (${code}).`)));
  });
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

async function createTablesOf(layout: Layout): Promise<void> {
  const client = new DynamoDBClient();
  await createTables(client, layout.stage);
  client.destroy();
}

async function createQueuesOf(layout: Layout): Promise<void> {
  const client = new SQSClient();
  await createQueues(client, layout.stage);
  client.destroy();
}
