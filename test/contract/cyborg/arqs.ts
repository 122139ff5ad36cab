// Requests for accelerator requests.

import * as z from 'zod';
import { providerUuid } from '#core/domain/ids.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { admin, by, fresh, freshInstance, instances, member, nova, type Pair } from './pair.ts';
import { arq, arqList, refusal, shownArq } from './shapes.ts';

const arqs = '/v2/accelerator_requests';
const otherProject = '8934fbea7b3f4685bd8ee7cf166a4c09';

const patch = (instance: string, ...more: readonly object[]) => [
  ...bindPatch({
    hostname: 'cmp1',
    device_rp_uuid: providerUuid('cmp1_FakeDevice'),
    instance_uuid: instance,
  }),
  ...more,
];
const unbind = ['hostname', 'device_rp_uuid', 'instance_uuid'].map((name) => {
  return { op: 'remove', path: `/${name}`, value: '' };
});
const ofProject = (value: string) => ({ op: 'add', path: '/project_id', value });

export const arqPairs: readonly Pair[] = [
  {
    name: 'one by uuid',
    request: (at) => ['GET', `${arqs}/${at.known.bound}`],
    status: 200,
    shape: shownArq,
  },
  {
    name: 'one of the own project',
    request: async (at) => ['GET', `${arqs}/${await at.unbound()}`, member],
    status: 200,
    shape: shownArq,
  },
  {
    name: 'one of another project',
    request: (at) => ['GET', `${arqs}/${at.known.bound}`, { token: 'alt-token' }],
    status: 404,
    shape: refusal,
  },
  { name: 'all as admin', request: () => ['GET', arqs], status: 200, shape: arqList },
  { name: 'all of a project', request: () => ['GET', arqs, member], status: 200, shape: arqList },
  {
    name: 'of an instance',
    request: () => ['GET', `${arqs}?instance=${instances.bound}`],
    status: 200,
    shape: arqList,
  },
  {
    name: 'of an instance, resolved',
    request: () => ['GET', `${arqs}?instance=${instances.bound}&bind_state=resolved`],
    status: 200,
    shape: arqList,
  },
  {
    name: 'of an instance, not all resolved',
    request: () => ['GET', `${arqs}?instance=${instances.unresolved}&bind_state=resolved`],
    status: 423,
  },
  {
    name: 'resolved',
    request: () => ['GET', `${arqs}?bind_state=resolved`],
    status: 200,
    shape: arqList,
  },
  {
    name: 'in another bind_state',
    request: () => ['GET', `${arqs}?bind_state=started`],
    status: 500,
    shape: refusal,
    here: [400, 'bad input that Cyborg answers 500'],
  },
  {
    name: 'of an instance, in another bind_state',
    request: () => ['GET', `${arqs}?instance=${instances.bound}&bind_state=started`],
    status: 500,
    shape: refusal,
    here: [400, 'bad input that Cyborg answers 500'],
  },
  {
    name: 'create',
    request: () => ['POST', arqs, { ...member, body: { device_profile_name: 'pairs' } }],
    // One of the first group, two of the second.
    status: 201,
    shape: z.object({ arqs: z.array(arq).length(3) }),
  },
  {
    name: 'create by a profile of a Xilinx FPGA',
    request: async (at) => {
      const name = fresh('xilinx');
      const group = { 'resources:FPGA': '1', 'trait:CUSTOM_FPGA_XILINX': 'required' };
      await at.world.createProfile(name, group);
      return ['POST', arqs, { ...member, body: { device_profile_name: name } }];
    },
    // Cyborg: two, one for each physical function.
    status: 201,
    shape: z.object({ arqs: z.array(arq).length(2) }),
  },
  {
    name: 'create by an unknown profile',
    request: () => ['POST', arqs, { ...member, body: { device_profile_name: 'unknown' } }],
    status: 404,
    shape: refusal,
  },
  {
    name: 'bind',
    request: async (at) => {
      return ['PATCH', arqs, { ...nova, body: { [await at.unbound()]: patch(freshInstance()) } }];
    },
    status: 202,
  },
  {
    name: 'bind of a project at 2.1, as in the reference',
    request: async (at) => {
      const body = { [await at.unbound()]: patch(freshInstance(), ofProject(otherProject)) };
      return ['PATCH', arqs, by({ ...admin, serviceToken: 'nova-token' }, '2.1', body)];
    },
    status: 202,
  },
  {
    name: 'bind of a project at 2.0',
    request: async (at) => {
      const body = { [await at.unbound()]: patch(freshInstance(), ofProject(otherProject)) };
      return ['PATCH', arqs, by({ ...admin, serviceToken: 'nova-token' }, '2.0', body)];
    },
    status: 406,
    shape: refusal,
  },
  {
    name: 'bind of another project by a member',
    request: async (at) => {
      const body = { [await at.unbound()]: patch(freshInstance(), ofProject(otherProject)) };
      return ['PATCH', arqs, by(nova, '2.1', body)];
    },
    status: 403,
    shape: refusal,
  },
  {
    name: 'bind of the own project by a member who names it',
    request: async (at) => {
      const { json } = await at.world.ask('GET', `${arqs}/${at.known.bound}`);
      const own = ofProject(shownArq.parse(json).project_id ?? '');
      return [
        'PATCH',
        arqs,
        by(nova, '2.1', { [await at.unbound()]: patch(freshInstance(), own) }),
      ];
    },
    status: 403,
    shape: refusal,
  },
  {
    name: 'bind of an instance that has an accelerator request',
    request: async (at) => {
      const body = { [await at.unbound()]: patch((await at.bound()).instance) };
      return ['PATCH', arqs, { ...nova, body }];
    },
    status: 400,
    shape: refusal,
  },
  {
    name: 'bind without a service token',
    request: async (at) => {
      return ['PATCH', arqs, { ...member, body: { [await at.unbound()]: patch(freshInstance()) } }];
    },
    status: 403,
    shape: refusal,
  },
  {
    name: 'unbind',
    request: async (at) => [
      'PATCH',
      arqs,
      { ...nova, body: { [(await at.bound()).uuid]: unbind } },
    ],
    status: 202,
  },
  {
    name: 'unbind without a service token',
    request: (at) => ['PATCH', arqs, { ...member, body: { [at.known.bound]: unbind } }],
    status: 403,
    shape: refusal,
  },
  {
    name: 'delete unbound',
    request: async (at) => ['DELETE', `${arqs}?arqs=${await at.unbound()}`, member],
    status: 204,
  },
  {
    name: 'delete bound',
    request: async (at) => ['DELETE', `${arqs}?arqs=${(await at.bound()).uuid}`, nova],
    status: 204,
  },
  {
    name: 'delete bound, without a service token',
    request: (at) => ['DELETE', `${arqs}?arqs=${at.known.bound}`, member],
    status: 403,
    shape: refusal,
  },
  {
    name: 'delete of an instance',
    request: async (at) => ['DELETE', `${arqs}?instance=${(await at.bound()).instance}`, nova],
    status: 204,
  },
  {
    name: 'delete of an instance, without a service token',
    request: () => ['DELETE', `${arqs}?instance=${instances.bound}`, member],
    status: 403,
    shape: refusal,
  },
  {
    name: 'delete of an instance by an admin, without a service token',
    request: () => ['DELETE', `${arqs}?instance=${instances.bound}`, admin],
    status: 403,
    here: [204, 'An admin may delete, without a service token'],
  },
];
