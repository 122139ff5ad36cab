// A local DynamoDB: the dynoxide engine from its npm platform package, in a process of its own.
// This file loads no AWS client: the process that supervises the engine needs none.
//
// With a file, items and stream records are in one SQLite database and are committed together:
// both survive the death of the engine at any moment. Without a file, both live as long as the
// engine.

import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startGuarded } from '#local/child-process.ts';
import { freePort, type HttpEngine, type ListenOptions } from '#local/ports.ts';
import { type EngineFile, openEngineFile } from './dynamodb-file.ts';
import type { EngineWrites } from './dynamodb-writes.ts';

/** The engine was measured to start in 13 to 90 ms; a busy machine needs longer. */
const readyWithinMs = 60_000;

export interface DynamoDbOptions extends Partial<ListenOptions> {
  /** SQLite file; its directory is created. Without a file all is in memory, for short tests. */
  readonly file?: string;
}

export interface LocalDynamoDb extends HttpEngine {
  /** Notifies the readers of the streams of writes. Only with a file. */
  readonly writes?: EngineWrites;
  /** Resolves when the engine has ended, for any reason. */
  readonly ended: Promise<void>;
}

/**
 * The platform has no engine, or the engine did not start. The message is one line for the user.
 */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}

/** @throws EngineUnavailable, PortTaken */
export async function startDynamoDb(options: DynamoDbOptions = {}): Promise<LocalDynamoDb> {
  const { file, host = '127.0.0.1' } = options;
  const binary = engineBinary();
  const port = await freePort({ ...options, port: options.port ?? 0, host });
  const url = `http://${host}:${port}`;
  if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
  if (file !== undefined && existsSync(file)) {
    const before = openEngineFile(file);
    before.trim();
    before.close();
  }

  const fileArgs = file === undefined ? [] : ['--db-path', file];
  const engine = startGuarded(binary, ['serve', '--host', host, '--port', `${port}`, ...fileArgs]);
  let engineFile: EngineFile | undefined;
  const stop = async () => {
    engineFile?.close();
    await engine.kill();
  };
  try {
    await untilAnswering(url, engine);
    const { ended } = engine;
    if (file === undefined) return { url, port, stop, ended };
    engineFile = openEngineFile(file);
    engineFile.addIndex();
    return { url, port, stop, ended, writes: engineFile.writes };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Path of the engine for this platform: Linux or macOS. Other platforms need another DynamoDB. */
export function engineBinary(platform = `${process.platform}-${process.arch}`): string {
  const name = `@dynoxide/${platform}`;
  try {
    const packageJson = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(packageJson), 'dynoxide');
  } catch {
    throw new EngineUnavailable(
      `No DynamoDB engine for this platform (npm package ${name}): install it, or set ` +
        'AWS_ENDPOINT_URL_DYNAMODB to a running DynamoDB.',
    );
  }
}

async function untilAnswering(
  url: string,
  engine: { hasEnded(): boolean; complaint(): string },
): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  while (Date.now() < deadline) {
    if (engine.hasEnded()) break;
    try {
      await fetch(url, { signal: AbortSignal.timeout(1000) });
      return;
    } catch {
      await delay(5);
    }
  }
  throw new EngineUnavailable(`The DynamoDB engine did not start. ${engine.complaint()}`.trim());
}
