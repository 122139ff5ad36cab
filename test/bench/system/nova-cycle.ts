// The requests of Nova for a server with accelerators, from create to delete.

import { setTimeout as sleep } from 'node:timers/promises';
import { bindPatch } from '#test/support/bind-patch.ts';
import { type Api, expectAnswer } from './api.ts';

export const callNames = [
  'GET profile',
  'POST',
  'PATCH',
  'GET ?instance=',
  'DELETE ?instance=',
] as const;
export type CallName = (typeof callNames)[number];

/** The host and provider of a server, and its profile. */
export interface Place {
  readonly hostname: string;
  readonly providerUuid: string;
  readonly profileName: string;
  /** A server that Nova knows; without it, each cycle uses a new uuid that Nova does not know. */
  readonly instanceUuid?: string;
}

export interface Step {
  readonly call: CallName;
  /** Returns the milliseconds that the request took. @throws Error for an unexpected answer */
  run(): Promise<number>;
}

interface NovaCycle {
  readonly steps: readonly Step[];
  /** Releases what an unfinished cycle holds, as far as possible. */
  abandon(): Promise<void>;
}

interface Arq {
  readonly uuid: string;
  readonly state: string;
}

/** Nova waits 300 s for a bind; a slower server is not measured. */
const bindSecondsMax = 300;

export function novaCycle(api: Api, place: Place): NovaCycle {
  const instance = place.instanceUuid ?? crypto.randomUUID();
  const byInstance = `/accelerator_requests?instance=${instance}`;
  let uuids: string[] = [];
  const steps: Step[] = [
    {
      call: 'GET profile',
      run: async () => {
        const name = encodeURIComponent(place.profileName);
        return (await expectAnswer(api, 200, 'GET', `/device_profiles?name=${name}`)).ms;
      },
    },
    {
      call: 'POST',
      run: async () => {
        const body = { device_profile_name: place.profileName };
        const { text, ms } = await expectAnswer(api, 201, 'POST', '/accelerator_requests', body);
        uuids = arqsIn(text).map(({ uuid }) => uuid);
        return ms;
      },
    },
    {
      call: 'PATCH',
      run: async () => {
        const { hostname, providerUuid } = place;
        const target = { hostname, device_rp_uuid: providerUuid, instance_uuid: instance };
        const patch = bindPatch(target);
        const body = Object.fromEntries(uuids.map((uuid) => [uuid, patch]));
        return (await expectAnswer(api, 202, 'PATCH', '/accelerator_requests', body)).ms;
      },
    },
    {
      call: 'GET ?instance=',
      run: async () => {
        const { text, ms } = await expectAnswer(api, 200, 'GET', byInstance);
        await untilBound(api, byInstance, arqsIn(text), uuids.length);
        return ms;
      },
    },
    {
      call: 'DELETE ?instance=',
      run: async () => (await expectAnswer(api, 204, 'DELETE', byInstance)).ms,
    },
  ];
  return {
    steps,
    abandon: async () => {
      await api.ask('DELETE', byInstance).catch(() => {});
      const left = `/accelerator_requests?arqs=${uuids.join(',')}`;
      if (uuids.length > 0) await api.ask('DELETE', left).catch(() => {});
    },
  };
}

function arqsIn(text: string): readonly Arq[] {
  return (JSON.parse(text) as { arqs: Arq[] }).arqs;
}

/**
 * Deployed Cyborg may answer the PATCH before the bind; an ARQ cannot be deleted during its bind.
 */
async function untilBound(
  api: Api,
  byInstance: string,
  found: readonly Arq[],
  count: number,
): Promise<void> {
  const until = Date.now() + bindSecondsMax * 1000;
  let arqs = found;
  while (arqs.length !== count || arqs.some(({ state }) => state !== 'Bound')) {
    const states = arqs.map(({ state }) => state).join(', ');
    if (states.includes('BindFailed') || Date.now() > until) {
      throw new Error(`expected ${count} Bound ARQs; the states are: ${states || 'none'}.`);
    }
    await sleep(5);
    const { status, text } = await api.ask('GET', `${byInstance}&bind_state=resolved`);
    if (status === 200) arqs = arqsIn(text);
    // 423: not resolved yet.
    else if (status !== 423) throw new Error(`GET ${byInstance} answered ${status}: ${text}`);
  }
}
