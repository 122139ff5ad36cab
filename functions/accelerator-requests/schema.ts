import * as z from 'zod';
import { isHostname } from '#core/contracts/topics.ts';
import type { BindTarget } from '#core/domain/arq/bind-plan.ts';
import { InvalidInput, NotAcceptable } from '#core/domain/errors.ts';
import type { ArqUuid, InstanceUuid, ProviderUuid } from '#core/domain/ids.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { isAtLeast, type Microversion } from '#functions/http/request/microversion.ts';
import { commaList, pageQuery } from '#functions/http/request/query.ts';

export const listQuery = z.strictObject({
  instance: z.guid().optional(),
  bind_state: z.literal('resolved', "must be 'resolved'").optional(),
  ...pageQuery,
});

/** Other keys are ignored: the command line client sends some. */
export const createBody = z.object({
  device_profile_name: z.string(),
  /** The image of the server, in Glance. */
  image_uuid: z.guid().nullish(),
});

export const deleteQuery = z.strictObject({
  arqs: commaList(z.string()).optional(),
  instance: z.guid().optional(),
});

const operation = z.object({
  op: z.enum(['add', 'remove']),
  path: z.string().max(64),
  value: z.string().max(255).nullish(),
});
type Operation = z.infer<typeof operation>;

const bindPaths = ['/hostname', '/device_rp_uuid', '/instance_uuid'] as const;

/** The number of ARQs that fit into one transaction with their handles and the instance's row. */
const arqsMax = 49;

/** ARQ uuid → JSON patch. */
export const updateBody = z.record(z.string(), z.array(operation).min(1).max(16));
/** The body in the OpenAPI document: the rules of `readUpdate` that JSON Schema can express. */
export const documentedUpdate = z
  .record(
    z.guid(),
    z
      .array(operation.extend({ path: z.enum([...bindPaths, '/project_id']) }))
      .min(1)
      .max(bindPaths.length + 1),
  )
  .meta({ minProperties: 1, maxProperties: arqsMax });
type UpdateBody = z.infer<typeof updateBody>;

export type Update =
  | { readonly kind: 'bind'; readonly targets: readonly BindTarget[] }
  | { readonly kind: 'unbind'; readonly arqUuids: readonly ArqUuid[] };

/** Uuids are stored in lower case. */
export function arqUuid(text: string): ArqUuid {
  if (!isUuid(text)) throw new InvalidInput(`${JSON.stringify(text)} is not the uuid of an ARQ.`);
  return text.toLowerCase() as ArqUuid;
}

/** @throws InvalidInput, NotAcceptable */
export function readUpdate(body: UpdateBody, microversion: Microversion): Update {
  // Checked first: comparing all patches of a body of 1 MiB takes a second.
  if (Object.keys(body).length > arqsMax) {
    throw new InvalidInput(`One request changes at most ${arqsMax} accelerator requests.`);
  }
  const patches = Object.entries(body).map(
    ([uuid, operations]) => [arqUuid(uuid), operations] as const,
  );
  const twice = patches.find(
    ([uuid], index) => patches.findIndex(([each]) => each === uuid) < index,
  );
  if (twice) throw new InvalidInput(`Duplicate ARQ ${twice[0]}, in two spellings.`);
  if (patches.length === 0) throw new InvalidInput('The body names no accelerator request.');
  for (const [uuid, operations] of patches) checkPaths(uuid, operations, microversion);
  const kinds = new Set(patches.flatMap(([, operations]) => operations.map(({ op }) => op)));
  if (kinds.size > 1) {
    throw new InvalidInput(
      "A request binds or unbinds: all operations are 'add', or all 'remove'.",
    );
  }
  return kinds.has('add')
    ? { kind: 'bind', targets: patches.map(([uuid, operations]) => readTarget(uuid, operations)) }
    : { kind: 'unbind', arqUuids: patches.map(([uuid]) => uuid) };
}

function checkPaths(uuid: ArqUuid, operations: readonly Operation[], microversion: Microversion) {
  for (const { path } of operations) {
    if (path === '/project_id') {
      if (isAtLeast(microversion, '2.1')) continue;
      throw new NotAcceptable('/project_id is known from microversion 2.1 on.');
    }
    if (!bindPaths.some((bindPath) => bindPath === path)) {
      throw new InvalidInput(
        `${uuid}: ${JSON.stringify(path)} is none of ${bindPaths.join(', ')}.`,
      );
    }
  }
  const twice = operations.find(({ path }, index) =>
    operations.slice(index + 1).some((other) => other.path === path),
  );
  if (twice) throw new InvalidInput(`${uuid}: duplicate path ${twice.path}.`);
}

function readTarget(uuid: ArqUuid, operations: readonly Operation[]): BindTarget {
  const givenAt = (path: (typeof bindPaths)[number]) => {
    const value = operations.find((each) => each.path === path)?.value;
    if (value == null || value === '') throw new InvalidInput(`${uuid}: ${path} needs a value.`);
    return value;
  };
  const uuidOf = (path: (typeof bindPaths)[number]) => {
    const value = givenAt(path);
    if (!isUuid(value)) throw new InvalidInput(`${uuid}: ${path} is not a uuid.`);
    return value.toLowerCase();
  };
  const hostname = givenAt('/hostname');
  if (!isHostname(hostname)) throw new InvalidInput(`${uuid}: /hostname is not a host name.`);
  return {
    arqUuid: uuid,
    hostname,
    providerUuid: uuidOf('/device_rp_uuid') as ProviderUuid,
    instanceUuid: uuidOf('/instance_uuid') as InstanceUuid,
  };
}

/** Paths by which an admin's patch names the project of the ARQ. */
export function namesProject(body: UpdateBody): boolean {
  return Object.values(body).some((patch) => patch.some(({ path }) => path === '/project_id'));
}
