// Looks an id or an address up, by requests that answer for one thing each.

import type { Arq, Device, Host, HostDetail } from '#console/api/answers.ts';
import type { Api, Query } from '#console/api/client.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { hostsWith } from '#console/hosts/search.ts';
import { hostPath } from '#console/parts/names/host-path.ts';
import { addressOf } from '#console/routes.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import type { Term } from './term.ts';

export interface Found {
  readonly kind: string;
  readonly title: string;
  readonly note?: string;
  readonly href: string;
}

interface Looking {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly isOperator: boolean;
}

export async function findId({ uuid, keystoneId }: Term, looking: Looking): Promise<Found[]> {
  const results = await Promise.all([
    uuid ? findThings(uuid, looking) : [],
    keystoneId ? findProject(keystoneId, looking) : [],
  ]);
  return results.flat();
}

async function findThings(uuid: string, looking: Looking): Promise<Found[]> {
  const [device, isServer, arq] = await Promise.all([
    looking.isOperator ? ask<Device>(looking, `/v2/devices/${uuid}`) : undefined,
    hasRows({ instance: uuid }, looking),
    ask<Arq>(looking, `/v2/accelerator_requests/${uuid}`),
  ]);
  return [
    ...(device ? [deviceFound(device.uuid, uuid, device.hostname)] : []),
    ...(isServer ? [{ kind: 'Servers', title: uuid, href: addressOf('servers', uuid) }] : []),
    ...(arq
      ? [{ kind: 'Requests', title: uuid, note: arq.state, href: addressOf('requests', uuid) }]
      : []),
  ];
}

async function findProject(id: string, looking: Looking): Promise<Found[]> {
  const by = (user: Found): Found[] => (looking.isOperator ? [user] : []);
  const isProject = await hasRows({ project: id }, looking);
  const project = { kind: 'Projects', title: id };
  return [
    ...(isProject
      ? [
          { ...project, note: 'usage', href: addressOf('usage', undefined, { project: id }) },
          { ...project, note: 'history', href: addressOf('history', undefined, { project: id }) },
        ]
      : by({
          kind: 'Users',
          title: id,
          note: 'what this user has asked for',
          href: addressOf('history', undefined, { user: id }),
        })),
  ];
}

/** Whether anything has, or had, an accelerator for it. */
async function hasRows(query: Query, looking: Looking): Promise<boolean> {
  const answers = await Promise.all(
    [lists.assignments.path, lists.history.path].map((path) =>
      ask<Record<string, unknown[]>>(looking, path, { ...query, limit: 1 }),
    ),
  );
  return answers.some((answer) => answer && (Object.values(answer)[0]?.length ?? 0) > 0);
}

/** Undefined where there is no such thing, or none that the user may see. @throws ApiFailure */
async function ask<T>(
  { api, signal }: Looking,
  path: string,
  query: Query = {},
): Promise<T | undefined> {
  try {
    return await api.ask<T>('GET', path, { query, signal });
  } catch (error) {
    if (error instanceof ApiFailure && !error.isPassing && error.kind !== 'signed-out') {
      return undefined;
    }
    throw error;
  }
}

/** No list has devices by address or serial number, so hosts are asked, some of them at a time. */
export const hostsAskedMax = 50;
const hostsAtOnce = 8;

export async function findDevices(
  { address, serial, host = '' }: Term,
  hosts: readonly Host[],
  looking: Looking,
): Promise<Found[]> {
  const results: Found[] = [];
  const candidates = hostsWith(hosts, host).slice(0, hostsAskedMax);
  for (let at = 0; at < candidates.length; at += hostsAtOnce) {
    const some = candidates.slice(at, at + hostsAtOnce);
    const details = await Promise.all(
      some.map(({ hostname }) => ask<HostDetail>(looking, hostPath(hostname))),
    );
    for (const detail of details) {
      for (const device of detail?.devices ?? []) {
        const held = serial === undefined ? device.address : device.identity?.toLowerCase();
        if (!held?.includes(serial ?? address ?? '')) continue;
        results.push(deviceFound(device.uuid, device.address, detail?.hostname ?? ''));
      }
    }
  }
  return results;
}

function deviceFound(uuid: string, title: string, hostname: string): Found {
  return { kind: 'Devices', title, note: `on ${hostname}`, href: addressOf('devices', uuid) };
}
