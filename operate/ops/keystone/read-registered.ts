// Keystone's entries of the deployment: its service, endpoints and service user.

import * as z from 'zod';
import { hasRole } from '#core/domain/roles.ts';
import type { Keystone } from '#operate/ops/sign-in/keystone.ts';
import { CommandFailed, exitCodes, wrongUsage } from '#operate/ops/verb.ts';
import { type Registered, roleNames, serviceType } from './plan-registration.ts';

const registeredEntry = z.looseObject({ id: z.string(), enabled: z.boolean().optional() });
const named = registeredEntry.extend({ name: z.string() });
const endpoint = registeredEntry.extend({
  interface: z.string(),
  url: z.string(),
  service_id: z.string(),
  region_id: z.string().nullish(),
});

export interface Place {
  readonly region: string;
  readonly userDomainId: string;
  readonly projectDomainId: string;
}

/** @throws CommandFailed where Keystone has no such region or domain */
export async function findPlace(
  keystone: Keystone,
  request: {
    readonly region: string | undefined;
    readonly userDomain: string;
    readonly projectDomain: string;
  },
): Promise<Place> {
  const regions = await list(keystone, 'regions', {}, registeredEntry);
  const ids = regions.map(({ id }) => id);
  const [only] = ids;
  const region = request.region ?? (ids.length === 1 ? only : undefined);
  if (region === undefined || !ids.includes(region)) {
    const has = ids.length === 0 ? 'has none yet' : `has ${ids.join(', ')}`;
    const fault =
      region === undefined ? 'OS_REGION_NAME is missing' : `There is no region ${region}`;
    throw wrongUsage(`${fault}: Keystone ${has}, and OS_REGION_NAME must be one of its regions.`);
  }
  return {
    region,
    userDomainId: await domainId(keystone, request.userDomain),
    projectDomainId: await domainId(keystone, request.projectDomain),
  };
}

async function domainId(keystone: Keystone, name: string): Promise<string> {
  const all = await list(keystone, 'domains', {}, named);
  const registered = all.find((each) => each.name === name);
  if (registered) return registered.id;
  const names = all.map((each) => each.name).join(', ');
  throw wrongUsage(`Keystone has no domain ${name}: it must be one of ${names}.`);
}

export interface Names extends Place {
  readonly username: string;
  readonly projectName: string;
}

export async function readRegistered(keystone: Keystone, names: Names): Promise<Registered> {
  const { username, projectName, userDomainId, projectDomainId, region } = names;
  const services = await list(keystone, 'services', { type: serviceType }, registeredEntry);
  const [service] = services;
  const endpoints = service
    ? await list(keystone, 'endpoints', { service_id: service.id, region_id: region }, endpoint)
    : [];
  const one = async (kind: string, query: Readonly<Record<string, string>>) =>
    (await list(keystone, kind, query, named))[0];
  const project = await one('projects', { name: projectName, domain_id: projectDomainId });
  const user = await one('users', { name: username, domain_id: userDomainId });
  // Keystone's filter by name minds the case on some databases.
  const existing = await list(keystone, 'roles', {}, named);
  const roles = new Map<string, string>();
  for (const name of roleNames) {
    const role = existing.find((each) => hasRole([each.name], [name]));
    if (role) roles.set(name, role.id);
  }
  return { services, endpoints, project, user, roles, held: await heldBy(keystone, project, user) };
}

type Named = z.infer<typeof named>;

async function heldBy(keystone: Keystone, project: Named | undefined, user: Named | undefined) {
  if (!project || !user) return new Set<string>();
  const { roles } = await keystone.ask({
    method: 'GET',
    path: `/projects/${project.id}/users/${user.id}/roles`,
    doing: "list the service user's roles",
    schema: z.looseObject({ roles: z.array(named) }),
  });
  const held = roles.map(({ name }) => name);
  return new Set(roleNames.filter((name) => hasRole(held, [name])));
}

/** @throws CommandFailed where Keystone gives a part of the list only */
async function list<Row>(
  keystone: Keystone,
  kind: string,
  query: Readonly<Record<string, string>>,
  row: z.ZodType<Row>,
): Promise<readonly Row[]> {
  const parameters = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`;
  const body = await keystone.ask({
    method: 'GET',
    path: `/${kind}${parameters}`,
    doing: `list ${kind}`,
    schema: z.looseObject({ [kind]: z.array(row), truncated: z.boolean().optional() }),
  });
  if (body.truncated === true) {
    const fault = `Keystone lists a part of its ${kind} only`;
    throw new CommandFailed(exitCodes.failed, `${fault}: its list_limit is too small for them.`);
  }
  return body[kind] as readonly Row[];
}
