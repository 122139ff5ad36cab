// What each of Nova's calls for a server with one PCI device reads, writes and leaves in the
// streams. test/infra/launches.test.ts compares the sums with infra/cost/counted-units.ts.

import type { StreamConsumerName } from '#core/contracts/queues/queues.ts';
import type { Resource } from '#functions/routes.ts';
import type { ArqIndex, Units } from './dynamodb.ts';

/** The keys of a server's rows, as numbers. */
export interface Server {
  readonly arq: number;
  readonly instance: number;
  readonly provider: number;
  readonly host: number;
  readonly project: number;
  readonly profile: number;
  /** The last digits of the ARQ's uuid and of two records' ids, by which rows are sharded. */
  readonly shard: number;
  readonly days: readonly [claimed: number, released: number];
}

export interface StreamRecord {
  readonly table: 'arqs' | 'inventory';
  readonly key: number;
  readonly readers: readonly StreamConsumerName[];
  readonly history: readonly Units[];
  readonly events: number;
  /** `changes` has the server looked at. */
  readonly isLooked: boolean;
}

interface Call {
  readonly function: Resource;
  readonly reads: (server: Server) => readonly Units[];
  /** One transaction. */
  readonly writes: (server: Server) => readonly Units[];
  readonly records: (server: Server) => readonly StreamRecord[];
}

const none = () => [];

/** In their order. */
export const calls = {
  profile: {
    function: 'device-profiles',
    reads: ({ profile }) => [{ place: 'device-profiles', key: profile, units: 1 }],
    writes: none,
    records: none,
  },
  post: {
    function: 'accelerator-requests',
    reads: ({ profile, project }) => [
      { place: 'device-profiles', key: profile, units: 1 },
      { place: 'arqs', key: quotaKey + project, units: 1 },
    ],
    writes: (server) => [
      { place: 'arqs', key: placesKey(server), units: 1 },
      { place: 'arqs', key: server.arq, units: 1 },
      ...inIndexes(server, ['by-kind', 'by-project', 'by-profile', 'by-due']),
    ],
    records: ({ arq }) => [
      { ...recorded, table: 'arqs', key: arq, history: [{ ...record, key: arq }] },
    ],
  },
  patch: {
    function: 'accelerator-requests',
    reads: ({ arq, provider }) => [
      { place: 'arqs', key: arq, units: 1 },
      { place: 'inventory', key: provider, units: 1 },
    ],
    writes: (server) => [...inTransaction(server), ...inIndexes(server, ['by-due'])],
    records: (server) => [bound(server, true), handle(server, server.instance, server.days[0])],
  },
  list: {
    function: 'accelerator-requests',
    reads: ofInstance,
    writes: none,
    records: none,
  },
  delete: {
    function: 'accelerator-requests',
    reads: ofInstance,
    writes: (server) => [
      ...inTransaction(server),
      ...inIndexes(server, ['by-kind', 'by-project', 'by-profile']),
    ],
    records: (server) => [bound(server, false), handle(server, server.arq, server.days[1])],
  },
} as const satisfies Readonly<Record<string, Call>>;

export type CallName = keyof typeof calls;
export const boot = ['profile', 'post', 'patch', 'list'] as const satisfies readonly CallName[];

/** The key of a quota's row is its project's and this; a POST reads it even if none exists. */
const quotaKey = 2 ** 20;
/** The key of one of the four rows that have the places of a project's unbound ARQs. */
const placesKey = ({ project, arq }: Server) => 2 ** 21 + 4 * project + (arq % 4);
const record = { place: 'history', units: 1 } as const;
const recorded = { readers: ['announcements'], events: 0, isLooked: false } as const;

function ofInstance({ arq, instance }: Server): Units[] {
  return [arq, instance].map((key) => ({ place: 'arqs', key, units: 1 }));
}

/** A transaction costs each row twice; of an index it costs a row once. */
function inTransaction({ arq, instance, provider }: Server): Units[] {
  return [
    { place: 'arqs', key: arq, units: 2 },
    { place: 'arqs', key: instance, units: 2 },
    { place: 'inventory', key: provider, units: 2 },
  ];
}

function inIndexes(server: Server, indexes: readonly ArqIndex[]): Units[] {
  const { project, profile, shard } = server;
  const keys: Readonly<Record<ArqIndex, number>> = {
    'by-kind': shard,
    'by-due': shard,
    'by-profile': profile * 16 + shard,
    'by-project': project,
  };
  return indexes.map((name) => ({ place: `arqs/${name}`, key: keys[name], units: 1 }));
}

/** The row of the instance: its bind, or the end of it. */
function bound({ instance }: Server, isLooked: boolean): StreamRecord {
  const readers = ['changes', 'announcements'] as const;
  return { table: 'arqs', key: instance, readers, history: [], events: 1, isLooked };
}

/** The attach handle's claim or release, which the history has four times. */
function handle({ provider, host, project }: Server, own: number, day: number): StreamRecord {
  const history = [own, host, project, day].map((key) => ({ ...record, key }));
  return { ...recorded, table: 'inventory', key: provider, history };
}
