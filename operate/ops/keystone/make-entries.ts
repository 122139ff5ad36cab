// Makes in Keystone what a plan lacks, one thing after the other. A run that dies on the way is
// finished by the next one.

import * as z from 'zod';
import type { Keystone } from '#operate/ops/sign-in/keystone.ts';
import { type Entry, type Kind, serviceType } from './plan-registration.ts';
import type { Names } from './read-registered.ts';

export interface Making {
  readonly keystone: Keystone;
  readonly names: Names;
  /** Undefined where the user exists already. */
  readonly password: string | undefined;
  /** An endpoint that differs is moved. */
  readonly isUpdate: boolean;
}

export type Outcome = Entry['state'] | 'made' | 'updated';

export function outcomeOf(entry: Entry, { isUpdate }: Pick<Making, 'isUpdate'>): Outcome {
  if (entry.state === 'missing') return 'made';
  return entry.state === 'differs' && isUpdate ? 'updated' : entry.state;
}

/** @throws CommandFailed, ServiceUnavailable */
export async function makeEntries(entries: readonly Entry[], making: Making): Promise<void> {
  const ids = new Map<string, string>();
  for (const { kind, name, id } of entries) if (id !== undefined) ids.set(`${kind} ${name}`, id);
  for (const entry of entries) {
    const outcome = outcomeOf(entry, making);
    if (outcome === 'made') await make(entry, making, ids);
    if (outcome === 'updated') await moveEndpoint(entry, making.keystone);
  }
}

type Ids = Map<string, string>;

async function make(entry: Entry, { keystone, names, password }: Making, ids: Ids) {
  const { kind, name, face, url } = entry;
  const idOf = (kind: Kind, name: string) => {
    const id = ids.get(`${kind} ${name}`);
    if (id === undefined)
      throw new Error(`The plan has no ${kind} ${name} before ${kind} ${name}.`);
    return id;
  };
  if (kind === 'grant') {
    const user = idOf('user', names.username);
    const project = idOf('project', names.projectName);
    await keystone.ask({
      method: 'PUT',
      path: `/projects/${project}/users/${user}/roles/${idOf('role', name)}`,
      doing: `give ${names.username} the role ${name}`,
      schema: z.unknown(),
    });
    return;
  }
  const bodies: Readonly<Record<Exclude<Kind, 'grant'>, () => object>> = {
    project: () => ({ name, domain_id: names.projectDomainId }),
    role: () => ({ name }),
    user: () => ({ name, domain_id: names.userDomainId, password }),
    service: () => ({ type: serviceType, name: 'cyborg', description: 'Accelerators' }),
    endpoint: () => ({
      service_id: idOf('service', serviceType),
      interface: face,
      url,
      region_id: names.region,
    }),
  };
  const answer = await keystone.ask({
    method: 'POST',
    path: `/${kind}s`,
    doing: `make the ${kind} ${name}`,
    schema: z.looseObject({ [kind]: z.looseObject({ id: z.string() }) }),
    body: { [kind]: bodies[kind]() },
    ...(kind === 'user' && password !== undefined && { secret: password }),
  });
  ids.set(`${kind} ${name}`, (answer[kind] as { readonly id: string }).id);
}

async function moveEndpoint({ id, name, url }: Entry, keystone: Keystone): Promise<void> {
  await keystone.ask({
    method: 'PATCH',
    path: `/endpoints/${id}`,
    doing: `move the endpoint ${name}`,
    schema: z.unknown(),
    body: { endpoint: { url } },
  });
}
