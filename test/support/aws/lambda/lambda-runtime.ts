// Runs bundles as Lambda does: a process for each function, which asks the Runtime API for its
// next event.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { FunctionName } from '#infra/access.ts';
import { aliasesOf, bundling } from '#infra/bundle/bundling.ts';

const bootstrap = fileURLToPath(new URL('lambda-bootstrap.mjs', import.meta.url));
const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** The bundle of a function, as it is deployed. */
export async function makeBundle(name: FunctionName, entry: string, into: string): Promise<string> {
  const outfile = join(into, `${name}.mjs`);
  const { minify, mainFields, banner } = bundling;
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    logLevel: 'warning',
    minify,
    mainFields,
    banner: { js: banner },
    alias: aliasesOf(name),
  });
  return outfile;
}

export interface Runtime {
  /** What the function answers. @throws Error with what it throws */
  invoke(event: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

interface Invocation {
  readonly event: unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Lambda's own variables; the function has no others of the process that starts it. */
function environmentOf(name: string, api: string, bundle: string) {
  return {
    AWS_LAMBDA_RUNTIME_API: api,
    AWS_LAMBDA_FUNCTION_NAME: `test-${name}`,
    AWS_LAMBDA_LOG_LEVEL: 'INFO',
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    TEST_BUNDLE: pathToFileURL(bundle).href,
  };
}

export async function startRuntime(
  name: string,
  bundle: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Runtime> {
  const queue: Invocation[] = [];
  const underWay = new Map<string, Invocation>();
  let waiting: ServerResponse | undefined;
  let output = '';

  function hand(): void {
    if (!waiting || queue.length === 0) return;
    const invocation = queue.shift() as Invocation;
    const id = crypto.randomUUID();
    underWay.set(id, invocation);
    waiting
      .writeHead(200, {
        'lambda-runtime-aws-request-id': id,
        'lambda-runtime-deadline-ms': `${Date.now() + 29_000}`,
        'lambda-runtime-invoked-function-arn': `arn:aws:lambda:us-east-1:000000000000:function:test-${name}`,
        'lambda-runtime-trace-id': 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0',
      })
      .end(JSON.stringify(invocation.event));
    waiting = undefined;
  }

  const server = createServer(async (request, response) => {
    if (request.url?.endsWith('/invocation/next')) {
      waiting = response;
      hand();
      return;
    }
    let body = '';
    for await (const part of request) body += part;
    response.writeHead(202).end('{}');
    const [, id = '', end] = /invocation\/([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? [];
    const invocation = underWay.get(id);
    underWay.delete(id);
    if (end === 'response') invocation?.resolve(JSON.parse(body));
    else invocation?.reject(new Error(`${name}: ${body}\n${output}`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child: ChildProcess = spawn(process.execPath, [bootstrap], {
    env: { ...env, ...environmentOf(name, api, bundle) },
  });
  const note = (part: Buffer) => {
    output += part;
  };
  child.stdout?.on('data', note);
  child.stderr?.on('data', note);
  const exited = once(child, 'exit');
  void exited.then(() => {
    for (const each of [...queue, ...underWay.values()]) {
      each.reject(new Error(`${name} has ended: ${output}`));
    }
  });

  return {
    invoke: (event) =>
      new Promise((resolve, reject) => {
        queue.push({ event, resolve, reject });
        hand();
      }),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      server.closeAllConnections();
      server.close();
    },
  };
}
