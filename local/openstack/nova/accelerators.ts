// Nova's requests to the accelerator API (nova/accelerator/cyborg.py), as recorded from a real
// Nova: the URL of the catalog, no microversion, the user's token beside Nova's service token on
// every request, and no retries.

import * as z from 'zod';
import type { Keystone } from '#core/clients/openstack/keystone/keystone.ts';
import { type HttpAnswer, send } from '#local/http-call.ts';
import { type Arq, arq } from './state.ts';

/** The Nova service that calls; the User-Agent starts with it. */
type NovaService = 'nova-api' | 'nova-conductor' | 'nova-compute';

export interface Binding {
  readonly hostname: string;
  readonly device_rp_uuid: string;
  readonly instance_uuid: string;
}

/** Nova's error for an answer of 400 or more, or for no answer. The message is Nova's own. */
export class AcceleratorCallFailed extends Error {
  override readonly name = 'AcceleratorCallFailed';
}

export type ProfileGroup = Readonly<Record<string, string>>;

export interface AcceleratorApi {
  profileGroups(by: NovaService, name: string): Promise<ProfileGroup[]>;
  createArqs(by: NovaService, name: string): Promise<Arq[]>;
  bindArqs(by: NovaService, bindings: Readonly<Record<string, Binding>>): Promise<void>;
  arqsOf(by: NovaService, instanceUuid: string): Promise<Arq[]>;
  deleteByInstance(by: NovaService, instanceUuid: string): Promise<void>;
  deleteByUuids(by: NovaService, uuids: readonly string[]): Promise<void>;
}

/** Calls in the name of the user who called Nova. */
export function createAcceleratorApi(keystone: Keystone, userToken: string): AcceleratorApi {
  async function call(by: NovaService, method: string, path: string, body?: unknown) {
    let answer: HttpAnswer;
    try {
      const url = `${await keystone.endpoint('accelerator')}${path}`;
      const headers = {
        'User-Agent': `${by} keystoneauth1/5.0.0 python-requests/2.28.1 CPython/3.11.2`,
        Accept: '*/*',
        'X-Auth-Token': userToken,
        'X-Service-Token': await keystone.ownToken(),
      };
      answer = await send({ method, url, headers, body });
    } catch {
      throw new AcceleratorCallFailed('Could not communicate with Cyborg.');
    }
    if (answer.status < 400) return answer.text;
    throw new AcceleratorCallFailed(`Invalid response from Cyborg: <Response [${answer.status}]>`);
  }

  return {
    profileGroups: async (by, name) => {
      const text = await call(by, 'GET', `/device_profiles?name=${encodeURIComponent(name)}`);
      const { device_profiles } = z
        .object({ device_profiles: z.array(profile) })
        .parse(parsed(text));
      const [namesake, another] = device_profiles;
      if (namesake && !another) return namesake.groups;
      const number = another ? device_profiles.length : 'nothing';
      throw new AcceleratorCallFailed(`Expected 1 device profile but got ${number}.`);
    },
    createArqs: async (by, name) => {
      const body = { device_profile_name: name };
      const { arqs } = arqList.parse(parsed(await call(by, 'POST', '/accelerator_requests', body)));
      if (arqs.length === 0) throw new AcceleratorCallFailed(`device profile name ${name}`);
      return arqs;
    },
    bindArqs: async (by, bindings) => {
      // Always these three, in this order. There is no /project_id, which needs 2.1.
      const patch = (binding: Binding) =>
        (['hostname', 'device_rp_uuid', 'instance_uuid'] as const).map((field) => {
          return { path: `/${field}`, op: 'add', value: binding[field] };
        });
      const entries = Object.entries(bindings).map(([uuid, each]) => [uuid, patch(each)]);
      try {
        await call(by, 'PATCH', '/accelerator_requests', Object.fromEntries(entries));
      } catch (error) {
        if (!(error instanceof AcceleratorCallFailed)) throw error;
        const which = ` Binding failed for ARQ UUIDs: ${Object.keys(bindings).join(',')}`;
        throw new AcceleratorCallFailed(error.message + which);
      }
    },
    arqsOf: async (by, instanceUuid) => {
      const text = await call(by, 'GET', `/accelerator_requests?instance=${instanceUuid}`);
      const { arqs } = arqList.parse(parsed(text));
      if (arqs.length > 0) return arqs;
      const reason = `Cyborg returned no accelerator requests for instance ${instanceUuid}`;
      throw new AcceleratorCallFailed(reason);
    },
    deleteByInstance: async (by, instanceUuid) => {
      await call(by, 'DELETE', `/accelerator_requests?instance=${instanceUuid}`);
    },
    deleteByUuids: async (by, uuids) => {
      const list = encodeURIComponent(uuids.join(','));
      await call(by, 'DELETE', `/accelerator_requests?arqs=${list}`);
    },
  };
}

const profile = z.looseObject({ groups: z.array(z.record(z.string(), z.string())) });
const arqList = z.object({ arqs: z.array(arq) });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AcceleratorCallFailed('Could not communicate with Cyborg.');
  }
}
