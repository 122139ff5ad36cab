// The metrics of the cloud for Prometheus, which cannot sign in at Keystone: this command does.

import { once } from 'node:events';
import { createServer } from 'node:http';
import * as z from 'zod';
import { oneLine } from '#core/command-line/print.ts';
import { namesServer } from '#core/contracts/host-header.ts';
import type { Api } from '#operate/ops/api.ts';
import { optionOf } from '#operate/ops/arguments/options.ts';
import {
  type ApiVerb,
  CommandFailed,
  exitCodes,
  type Waiting,
  wrongUsage,
} from '#operate/ops/verb.ts';

const path = '/operator/v1/metrics';
/** Every release of Prometheus reads it, and node_exporter's files have no other form. */
const accept = 'text/plain; version=0.0.4';

export const metricsVerb: ApiVerb = {
  path: ['metrics'],
  summary: 'metrics as Prometheus reads them: printed once, or answered at an address',
  options: { listen: optionOf('address', 'answers scrapes at host:port until it is ended') },
  example: 'cyborg-ops metrics --listen 127.0.0.1:9464',
  async ask(api, input, waiting) {
    const address = input.text('listen');
    if (address !== undefined) await serve(api, parseAddress(address), waiting);
    const metrics = await read(api);
    return { json: { metrics }, lines: () => metrics.trimEnd().split('\n') };
  },
};

function read(api: Api): Promise<string> {
  return api.ask('GET', path, z.string(), { accept });
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function parseAddress(text: string): Address {
  const [, v6, host = v6, port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  if (host !== undefined && Number(port) < 65_536) return { host, port: Number(port) };
  throw wrongUsage(`--listen must be an address and a port, such as 127.0.0.1:9464, not ${text}.`);
}

/** Each scrape asks the API, and scrapes at once are one request. Ends with the process. */
async function serve(api: Api, { host, port }: Address, { say }: Waiting): Promise<void> {
  let reading: Promise<string> | undefined;
  const readOnce = () => {
    reading ??= read(api).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const server = createServer(async (request, response) => {
    const end = (status: number, text: string) =>
      response.writeHead(status, { 'Content-Type': `${accept}; charset=utf-8` }).end(text);
    if (!namesServer(request.headers.host, host)) {
      end(421, `The metrics are not at ${request.headers.host}.\n`);
      return;
    }
    if (request.method !== 'GET' || request.url !== '/metrics') {
      end(404, 'The metrics are at GET /metrics.\n');
      return;
    }
    try {
      end(200, await readOnce());
    } catch (error) {
      const sentence = oneLine((error as Error).message);
      say(`Metrics not read: ${sentence}`);
      end(502, `${sentence}\n`);
    }
  });
  server.listen(port, host);
  await once(server, 'listening').catch(({ message }: Error) => {
    throw new CommandFailed(exitCodes.failed, `--listen: ${message}.`);
  });
  say(`Metrics at http://${host.includes(':') ? `[${host}]` : host}:${boundPort(server)}/metrics`);
  await once(server, 'close');
}

function boundPort(server: ReturnType<typeof createServer>): number {
  const bound = server.address();
  return typeof bound === 'object' && bound ? bound.port : 0;
}
