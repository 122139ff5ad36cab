// The request bodies of the fake Placement, its answers, and the format of its errors.

import * as z from 'zod';
import { type Answer, type Ask, header, Refusal } from '#local/openstack/http-service.ts';
import { type PlacementState, rootOf, type StoredProvider } from './state.ts';

/** The microversions that the fake takes, as far as its routes go. */
export const oldest = '1.0';
export const newest = '1.39';

/** @param minor of the request's microversion */
export function versionHeaders(minor: number) {
  return { 'openstack-api-version': `placement 1.${minor}`, vary: 'openstack-api-version' };
}

/** The minor number of the microversion of a request; without the header 0, as in Placement. */
export function minorOf(ask: Ask): number {
  const entries = (header(ask, 'OpenStack-API-Version') ?? '').split(',');
  const requested = entries
    .flatMap((text) => /^\s*placement\s+(\S+)\s*$/.exec(text)?.[1] ?? [])
    .at(-1);
  const version = requested === 'latest' ? newest : (requested ?? oldest);
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(version) ?? [];
  if (minor === undefined) {
    throw new Refusal(400, `Invalid microversion: invalid version string: ${version}`);
  }
  const [, newestMinor] = newest.split('.');
  if (major === '1' && Number(minor) <= Number(newestMinor)) return Number(minor);
  throw new Refusal(406, `Invalid microversion: Unacceptable version header: ${version}`);
}

const int = z.number().int().max(2_147_483_647);

export const newProvider = z.strictObject({
  uuid: z.guid().optional(),
  name: z.string().max(200),
  parent_provider_uuid: z.guid().nullable().default(null),
});
export const changedProvider = newProvider.omit({ uuid: true }).strict();
export const newInventories = z.strictObject({
  resource_provider_generation: z.number().int(),
  inventories: z.record(
    z.string(),
    z.strictObject({
      total: int.min(1),
      reserved: int.min(0).default(0),
      min_unit: int.min(1).default(1),
      max_unit: int.min(1).default(2_147_483_647),
      step_size: int.min(1).default(1),
      allocation_ratio: z.number().default(1),
    }),
  ),
});
export const newTraits = z.strictObject({
  resource_provider_generation: z.number().int(),
  traits: z.array(z.string().min(1).max(255)),
});
export const newAllocations = z.strictObject({
  allocations: z.record(
    z.guid(),
    z.strictObject({
      resources: z.record(z.string(), int.min(1)),
      generation: z.number().int().optional(),
    }),
  ),
  mappings: z.record(z.string(), z.array(z.guid())).optional(),
  project_id: z.string().min(1).max(255),
  user_id: z.string().min(1).max(255),
  consumer_generation: z.number().int().nullable(),
  consumer_type: z.string().max(255).optional(),
});
/** Before 1.28, nothing compares the consumer's generation. */
export const newAllocationsBefore28 = newAllocations
  .omit({ consumer_generation: true, consumer_type: true })
  .strict();

/** @throws Refusal 400 */
export function read<T>(schema: z.ZodType<T>, ask: Ask): T {
  const parsed = schema.safeParse(ask.body);
  if (parsed.success) return parsed.data;
  throw new Refusal(400, `JSON does not validate: ${z.prettifyError(parsed.error)}`);
}

export function viewProvider(state: PlacementState, provider: StoredProvider): unknown {
  const { uuid, name, generation, parent } = provider;
  const href = `/resource_providers/${uuid}`;
  const parts = ['inventories', 'usages', 'aggregates', 'traits', 'allocations'];
  return {
    uuid,
    name,
    generation,
    links: [{ rel: 'self', href }, ...parts.map((rel) => ({ rel, href: `${href}/${rel}` }))],
    parent_provider_uuid: parent,
    root_provider_uuid: rootOf(state, uuid).uuid,
  };
}

export function inventoriesAnswer({ generation, inventories }: StoredProvider): Answer {
  return { status: 200, body: { resource_provider_generation: generation, inventories } };
}

export function traitsAnswer({ generation, traits }: StoredProvider): Answer {
  return { status: 200, body: { traits, resource_provider_generation: generation } };
}

const meanings: Readonly<Record<number, readonly [title: string, sentence: string]>> = {
  400: [
    'Bad Request',
    'The server could not comply with the request since it is either malformed or otherwise incorrect.',
  ],
  403: ['Forbidden', 'Access was denied to this resource.'],
  404: ['Not Found', 'The resource could not be found.'],
  405: ['Method Not Allowed', 'The method is not allowed for this resource.'],
  406: ['Not Acceptable', 'The resource could not be generated that was acceptable to you.'],
  409: ['Conflict', 'There was a conflict when trying to complete your request.'],
};

export function refusalAnswer(refusal: Refusal, ask: Ask, minor: number): Answer {
  const { status, message, code = 'placement.undefined_code' } = refusal;
  const [title, sentence] = meanings[status] ?? ['Error', ''];
  const isVersionFault = message.startsWith('Invalid microversion');
  const error = {
    status,
    title,
    detail: `${sentence}\n\n ${message}  `,
    ...(!isVersionFault && { code }),
    request_id: ask.requestId,
    ...(status === 406 && { max_version: newest, min_version: oldest }),
  };
  return { status, headers: versionHeaders(minor), body: { errors: [error] } };
}
