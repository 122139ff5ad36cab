// Host aggregates of the fake Nova: those that a test creates, with their hosts.

import * as z from 'zod';
import { type Answer, type Ask, Refusal } from '#local/openstack/http-service.ts';
import { read } from './bodies.ts';
import type { NovaState } from './state.ts';

const aggregateBody = z.object({
  aggregate: z.object({
    name: z.string().min(1).max(255),
    availability_zone: z.string().min(1).max(255).nullish(),
  }),
});
const addHostBody = z.object({ add_host: z.object({ host: z.string() }) });

export function listAggregates({ aggregates }: NovaState): Answer {
  return { status: 200, body: { aggregates } };
}

export function createAggregate(ask: Ask, { aggregates }: NovaState): Answer {
  const { name, availability_zone = null } = read(aggregateBody, ask).aggregate;
  if (aggregates.some((each) => each.name === name)) {
    throw new Refusal(409, `Aggregate ${name} already exists.`);
  }
  const aggregate = { id: aggregates.length + 1, name, availability_zone, hosts: [] };
  aggregates.push(aggregate);
  return { status: 200, body: { aggregate } };
}

export function addHost(ask: Ask, { aggregates }: NovaState): Answer {
  const aggregate = aggregates.find(({ id }) => String(id) === ask.params.id);
  if (!aggregate) throw new Refusal(404, `Aggregate ${ask.params.id} could not be found.`);
  aggregate.hosts.push(read(addHostBody, ask).add_host.host);
  return { status: 200, body: { aggregate } };
}
