// The agent as its own process, as on a compute node: a test can kill it as a machine would.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LocalBroker } from '#local/aws/broker.ts';
import type { CertificateFiles } from '#local/aws/certificates.ts';

interface AgentGiven {
  readonly directory: string;
  readonly broker: LocalBroker;
  readonly certificate: CertificateFiles;
  readonly settings?: Readonly<Record<string, string>>;
  /** The agent's program; by default its source. */
  readonly program?: string;
}

export interface AgentProcess {
  /** All output so far, of both streams. */
  output(): string;
  /** SIGKILL: no handler runs, nothing is flushed. */
  killHard(): Promise<void>;
  /** @returns the exit code */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  exited(): Promise<number | null>;
}

export function startAgent(given: AgentGiven): AgentProcess {
  const { directory, broker, certificate, settings, program = 'edge-agent/main.ts' } = given;
  return run(program, {
    CYBORG_AGENT_HOSTNAME: 'cmp1.example',
    CYBORG_AGENT_STAGE: 'test',
    CYBORG_AGENT_ENDPOINT: `localhost:${broker.port}`,
    CYBORG_AGENT_CERTIFICATE: certificate.certificateFile,
    CYBORG_AGENT_KEY: certificate.keyFile,
    CYBORG_AGENT_CA: certificate.authorityFile,
    CYBORG_AGENT_DRIVERS: 'fake',
    CYBORG_AGENT_STATE_DIR: join(directory, 'state'),
    CYBORG_AGENT_SYSFS_ROOT: join(directory, 'sys'),
    CYBORG_AGENT_INTERVAL_SECONDS: '1',
    ...settings,
  });
}

/** Starts the agent with these settings and no others. */
export function run(
  program: string,
  settings: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): AgentProcess {
  const child: ChildProcess = spawn(process.execPath, [program, ...options], {
    // What Node has compiled before, which says nothing to the agent.
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return {
    output: () => chunks.join(''),
    killHard: async () => void (await end('SIGKILL')),
    stop: (signal = 'SIGTERM') => end(signal),
    exited: () => ended,
  };
}
