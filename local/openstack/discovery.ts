// The version documents of the services. Clients read them before they have a token; without them
// `openstack server list` and `image list` send no request.

import type { Answer, Ask } from './http-service.ts';

interface Discovery {
  /** The paths of the list of versions, with the status of each. */
  readonly lists: Readonly<Record<string, number>>;
  /** Path of the version's own document; undefined for a service without one. */
  readonly ownDocument?: string;
  readonly version: Readonly<Record<string, unknown>>;
  /** The root path of the version. */
  readonly root: string;
}

/** The latest microversion of the fake Nova. */
export const computeMinorMax = 93;

export const computeDiscovery: Discovery = {
  lists: { '/': 200 },
  ownDocument: '/v2.1',
  root: '/v2.1/',
  version: {
    id: 'v2.1',
    status: 'CURRENT',
    version: `2.${computeMinorMax}`,
    min_version: '2.1',
    updated: '2013-07-23T11:33:21Z',
  },
};

export const imageDiscovery: Discovery = {
  // Glance answers its root with 300.
  lists: { '/': 300, '/versions': 200 },
  root: '/v2/',
  version: { id: 'v2.9', status: 'CURRENT' },
};

/** Undefined for a request that is not for a version document. */
export function discoveryAnswer(discovery: Discovery, ask: Ask): Answer | undefined {
  if (ask.method !== 'GET' && ask.method !== 'HEAD') return undefined;
  const href = `http://${ask.headers.host}${discovery.root}`;
  const version = { ...discovery.version, links: [{ rel: 'self', href }] };
  const status = discovery.lists[ask.path];
  if (status !== undefined) return { status, body: { versions: [version] } };
  return ask.path === discovery.ownDocument ? { status: 200, body: { version } } : undefined;
}
