// The calls that each credential makes: two of ours beside two of Nova's for a project, and two
// for operators. All that a credential may do here changes nothing.

import { connect } from 'node:net';
import { flavorNamed } from '#test/openstack/servers.ts';
import { acceleratorUrl, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

/** Headers as they are sent; a name may occur twice. */
export type Headers = readonly (readonly [string, string])[];

export const userToken = (token: string): Headers => [['X-Auth-Token', token]];

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

interface Pair {
  readonly nova: Call;
  readonly ours: Call;
}

const server = {
  name: 'refused',
  flavorRef: 'no-such-flavor',
  imageRef: '70a599e0-31e7-49b7-b260-868f441e862b',
  networks: 'none',
};

const pairs: readonly Pair[] = [
  {
    nova: { method: 'GET', path: '/servers' },
    ours: { method: 'GET', path: '/accelerator_requests' },
  },
  {
    nova: { method: 'POST', path: '/servers', body: { server } },
    ours: {
      method: 'POST',
      path: '/accelerator_requests',
      body: { device_profile_name: 'no-such-profile' },
    },
  },
  {
    nova: { method: 'GET', path: '/os-services' },
    ours: { method: 'GET', path: '/devices' },
  },
  {
    // Both exist already.
    nova: { method: 'POST', path: '/flavors', body: flavorNamed('fpga') },
    ours: {
      method: 'POST',
      path: '/device_profiles',
      body: [{ name: 'fpga', groups: [{ 'resources:FPGA': '1' }] }],
    },
  },
];

/** The statuses of Nova and of ours, as `200/200`, for each pair. */
export async function answersTo(stage: Stage, headers: Headers): Promise<readonly string[]> {
  const atNova = `http://127.0.0.1:${stage.cloud.plan.ports.nova}/v2.1`;
  const asNova: Headers = [...headers, ['OpenStack-API-Version', 'compute 2.82']];
  const [atFirst, ours] = await Promise.all([
    Promise.all(pairs.map(({ nova }) => send(atNova, nova, asNova))),
    ourAnswersTo(stage, headers),
  ]);
  return atFirst.map((status, index) => `${status}/${ours[index]}`);
}

/**
 * Our status for each pair, whose request is sent twice at once: a second answer that differs is
 * in it, too.
 */
export function ourAnswersTo({ layout }: Stage, headers: Headers): Promise<readonly string[]> {
  const asOurs: Headers = [...headers, ['OpenStack-API-Version', 'accelerator 2.3']];
  return Promise.all(
    pairs.map(async ({ ours }) => {
      // 503 says that Keystone was too slow for us, and nothing about a credential.
      const sendOne = () =>
        eventually(
          () => send(acceleratorUrl(layout), ours, asOurs),
          (status) => status !== 503,
        );
      return [...new Set(await Promise.all([sendOne(), sendOne()]))].join(' or ');
    }),
  );
}

/** Not with `fetch`, which sends no control characters and merges headers of one name. */
function send(base: string, { method, path, body }: Call, headers: Headers): Promise<number> {
  const { hostname, port, pathname } = new URL(`${base}${path}`);
  const content = body === undefined ? '' : JSON.stringify(body);
  const all: Headers = [
    ['Host', `${hostname}:${port}`],
    ['Connection', 'close'],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(Buffer.byteLength(content))],
    ...headers,
  ];
  const lines = [`${method} ${pathname} HTTP/1.1`, ...all.map((pair) => pair.join(': '))];
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 60_000 });
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('timeout', () => socket.destroy(new Error(`${method} ${path}: no answer`)));
    socket.on('error', reject);
    socket.on('close', () => {
      const [, status] = /^HTTP\/1\.\d (\d{3})/.exec(Buffer.concat(parts).toString('latin1')) ?? [];
      if (status === undefined) reject(new Error(`${method} ${path}: closed without an answer`));
      else resolve(Number(status));
    });
    socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`, 'latin1'));
  });
}
