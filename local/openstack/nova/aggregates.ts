// Host aggregates of the fake Nova: those that a test creates, with their hosts.

import * as z from 'zod';
import type { TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import { Refusal, type Routes } from '#local/openstack/http-service.ts';
import type { State } from '#local/openstack/state-file.ts';
import { allow, read } from './bodies.ts';
import type { NovaState } from './state.ts';

const aggregateBody = z.object({
  aggregate: z.object({
    name: z.string().min(1).max(255),
    availability_zone: z.string().min(1).max(255).nullish(),
  }),
});
const addHostBody = z.object({ add_host: z.object({ host: z.string() }) });

interface Context {
  readonly caller: TokenIdentity;
  readonly state: State<NovaState>;
}

export const aggregateRoutes: Routes<Context> = {
  'GET /os-aggregates': (_ask, { caller, state }) => {
    allow(caller, ['admin'], 'os-aggregates:index');
    return { status: 200, body: { aggregates: state.now.aggregates } };
  },
  'POST /os-aggregates': (ask, { caller, state }) => {
    allow(caller, ['admin'], 'os-aggregates:create');
    const { aggregates } = state.now;
    const { name, availability_zone = null } = read(aggregateBody, ask).aggregate;
    if (aggregates.some((each) => each.name === name)) {
      throw new Refusal(409, `Aggregate ${name} already exists.`);
    }
    const aggregate = { id: aggregates.length + 1, name, availability_zone, hosts: [] };
    aggregates.push(aggregate);
    state.save();
    return { status: 200, body: { aggregate } };
  },
  'POST /os-aggregates/{id}/action': (ask, { caller, state }) => {
    allow(caller, ['admin'], 'os-aggregates:add_host');
    const aggregate = state.now.aggregates.find(({ id }) => String(id) === ask.params.id);
    if (!aggregate) throw new Refusal(404, `Aggregate ${ask.params.id} could not be found.`);
    aggregate.hosts.push(read(addHostBody, ask).add_host.host);
    state.save();
    return { status: 200, body: { aggregate } };
  },
};
