// The registry's actions at the HTTP endpoint of the fake AWS IoT, as far as operate/ needs them.
// restJson1. https://docs.aws.amazon.com/iot/latest/apireference/API_Operations_AWS_IoT.html

import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { ruleStatement, rules } from '#core/contracts/queues/rules.ts';
import { computeNodeName } from '#core/contracts/topics.ts';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';
import { parse, thingPattern } from '#local/aws/iot-jobs/input.ts';
import type { RegisteredCertificate, ThingRegistry } from './registry.ts';

interface RegistryRequest {
  readonly method: string;
  readonly pathname: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface Context extends RegistryRequest {
  readonly registry: ThingRegistry;
  /** The name in the path. */
  readonly name: string;
}

const prefix = 'arn:aws:iot:us-east-1:000000000000:';

const routes: readonly (readonly [method: string, path: RegExp, (context: Context) => object])[] = [
  ['POST', /^\/things\/(?<name>[^/]+)$/, createThing],
  ['GET', /^\/things\/(?<name>[^/]+)$/, describeThing],
  [
    'PATCH',
    /^\/things\/(?<name>[^/]+)$/,
    ({ registry, name, body }) =>
      done(registry.setAttributes(name, parse(thingUpdate, body).attributePayload.attributes)),
  ],
  [
    'DELETE',
    /^\/things\/(?<name>[^/]+)$/,
    ({ registry, name }) => done(registry.deleteThing(name)),
  ],
  [
    'GET',
    /^\/things$/,
    ({ registry, query }) => ({
      things: registry.things(query.get('thingTypeName')).map((name) => ({
        thingName: name,
        thingArn: `${prefix}thing/${name}`,
      })),
    }),
  ],
  [
    'GET',
    /^\/things\/(?<name>[^/]+)\/principals$/,
    ({ registry, name }) => {
      registry.thing(name);
      return { principals: registry.certificatesOf(name).map(({ id }) => certificateArn(id)) };
    },
  ],
  [
    'PUT',
    /^\/things\/(?<name>[^/]+)\/principals$/,
    ({ registry, name, headers }) => done(registry.attachThing(principalOf(headers), name)),
  ],
  [
    'DELETE',
    /^\/things\/(?<name>[^/]+)\/principals$/,
    ({ registry, headers }) => done(registry.detachThing(principalOf(headers))),
  ],
  ['POST', /^\/certificates$/, createCertificate],
  [
    'GET',
    /^\/certificates\/(?<name>[^/]+)$/,
    ({ registry, name }) => ({
      certificateDescription: viewCertificate(registry.certificate(name)),
    }),
  ],
  [
    'PUT',
    /^\/certificates\/(?<name>[^/]+)$/,
    ({ registry, name, query }) =>
      done(registry.setStatus(name, parse(newStatus, query.get('newStatus')))),
  ],
  [
    'DELETE',
    /^\/certificates\/(?<name>[^/]+)$/,
    ({ registry, name }) => done(registry.delete(name)),
  ],
  [
    'PUT',
    /^\/target-policies\/(?<name>[^/]+)$/,
    ({ registry, name, body }) => done(registry.setPolicy(targetOf(body), name)),
  ],
  [
    'POST',
    /^\/target-policies\/(?<name>[^/]+)$/,
    ({ registry, body }) => done(registry.setPolicy(targetOf(body), null)),
  ],
  ['GET', /^\/endpoint$/, () => ({ endpointAddress: 'localhost' })],
  ['GET', /^\/thing-types\/(?<name>[^/]+)$/, (context) => ({ thingTypeName: ours(context) })],
  ['GET', /^\/policies\/(?<name>[^/]+)$/, (context) => ({ policyName: ours(context) })],
  ['GET', /^\/rules\/(?<name>[^/]+)$/, describeRule],
  [
    'GET',
    /^\/event-configurations$/,
    () => ({ eventConfigurations: { JOB_EXECUTION: { Enabled: true } } }),
  ],
];

/** Undefined for a request that is not the registry's. @throws JobsError */
export function performOnRegistry(
  registry: ThingRegistry,
  request: RegistryRequest,
): object | undefined {
  for (const [method, path, action] of routes) {
    const match = method === request.method ? path.exec(request.pathname) : null;
    if (match === null) continue;
    const name = decodeURIComponent(match.groups?.name ?? '');
    return action({ ...request, registry, name });
  }
  return undefined;
}

const newStatus = z.enum(['ACTIVE', 'INACTIVE', 'REVOKED']);
const newThing = z.strictObject({ thingTypeName: z.string().optional() });
const thingUpdate = z.strictObject({
  attributePayload: z.strictObject({
    attributes: z.record(z.string(), z.string()),
    merge: z.literal(true),
  }),
});
const newCertificate = z.strictObject({ certificateSigningRequest: z.string().min(1) });
const policyTarget = z.strictObject({ target: z.string() });

function createThing({ registry, name, body }: Context): object {
  if (!thingPattern.test(name)) throw new JobsError('InvalidRequest', 'thingName is invalid.');
  registry.createThing(name, parse(newThing, body).thingTypeName);
  return { thingName: name, thingArn: `${prefix}thing/${name}` };
}

function describeThing({ registry, name }: Context): object {
  const { type: thingTypeName } = registry.thing(name);
  return {
    thingName: name,
    thingTypeName,
    defaultClientId: name,
    attributes: registry.attributes(name),
  };
}

function createCertificate({ registry, query, body }: Context): object {
  const { certificateSigningRequest } = parse(newCertificate, body);
  const isActive = query.get('setAsActive') === 'true';
  const { id, pem } = registry.issue(certificateSigningRequest, isActive);
  return { certificateArn: certificateArn(id), certificateId: id, certificatePem: pem };
}

function describeRule({ registry, name }: Context): object {
  const rule = rules
    .map((row) => ruleStatement(row, registry.stage))
    .find((each) => each.name === name);
  if (rule === undefined) throw new JobsError('ResourceNotFound', `Rule ${name} not found`);
  return { rule: { ruleName: name, sql: rule.sql, ruleDisabled: false } };
}

function ours({ registry, name }: Context): string {
  if (name === computeNodeName(registry.stage)) return name;
  throw new JobsError('ResourceNotFound', `${name} not found`);
}

function viewCertificate({ id, status, pem, createdAtMs }: RegisteredCertificate): object {
  return {
    certificateArn: certificateArn(id),
    certificateId: id,
    status,
    certificatePem: pem,
    creationDate: createdAtMs / 1000,
  };
}

function certificateArn(id: string): string {
  return `${prefix}cert/${id}`;
}

function principalOf(headers: IncomingHttpHeaders): string {
  return idOf(String(headers['x-amzn-principal']));
}

function targetOf(body: unknown): string {
  return idOf(parse(policyTarget, body).target);
}

function idOf(arn: string): string {
  return arn.slice(arn.lastIndexOf('/') + 1);
}

function done(_result: unknown): object {
  return {};
}
