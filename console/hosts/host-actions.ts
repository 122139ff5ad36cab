// The actions on a host, as with `cyborg-ops hosts`.

import type { Action } from '#console/parts/dialog/action.ts';
import { hostPath } from '#console/parts/names/host-path.ts';
import { counted } from '#console/parts/time/time-text.ts';
import { present } from '#core/shapes/derive/present.ts';

type DeviceList = Partial<Readonly<Record<'devices' | 'others', readonly string[]>>>;

/** How many devices the answer of an action names. */
function devicesIn(answer: unknown, field: keyof DeviceList = 'devices'): number {
  return (answer as DeviceList | undefined)?.[field]?.length ?? 0;
}

/** What a host that is forgotten takes with it. */
export function serversText(servers = 0): string {
  if (servers === 0) return 'No server holds a device of the host.';
  return `${counted(servers, 'server')} ${servers === 1 ? 'holds' : 'hold'} devices of the host.`;
}

export function hostActions(hostname: string) {
  const path = hostPath(hostname);
  const of = { object: hostname };
  return {
    drain: {
      ...of,
      verb: 'Drain',
      explains:
        'All enabled devices of the host are disabled: new servers get none of them. What is bound stays bound.',
      fields: ['required-reason', 'until'],
      request: ({ reason, until }) => ({
        method: 'POST',
        path: `${path}/drain`,
        body: { reason, ...present({ until }) },
      }),
      done: (answer) => {
        const others = devicesIn(answer, 'others');
        const more = others > 0 ? ` Disabled already: ${others}.` : '';
        return `${hostname}: no new binds on ${counted(devicesIn(answer), 'device')}.${more}`;
      },
    },
    resume: {
      ...of,
      verb: 'Resume',
      explains: 'The devices that the drain disabled are enabled again, and no other.',
      fields: [],
      request: () => ({ method: 'POST', path: `${path}/resume` }),
      done: (answer) => `${hostname}: new binds again on ${counted(devicesIn(answer), 'device')}.`,
    },
    rediscover: {
      ...of,
      verb: 'Rediscover',
      explains: 'The agent of the host reports all its devices within seconds.',
      fields: [],
      request: () => ({ method: 'POST', path: `${path}/rediscover` }),
      done: () => `${hostname}: its agent was asked to report all devices.`,
    },
    forget: {
      ...of,
      verb: 'Forget',
      explains:
        'The host is gone for good: its devices leave the inventory and Placement. Evacuate or delete its servers first.',
      fields: [],
      isFinal: true,
      hits: { path, text: (answer) => serversText((answer as { servers?: number }).servers) },
      request: () => ({ method: 'DELETE', path }),
      done: () => `${hostname} is forgotten.`,
    },
    reconcile: {
      ...of,
      verb: 'Reconcile',
      explains:
        'What is stored of the devices of the host is written to Placement. A provider that is not ours stays.',
      fields: [],
      request: () => ({
        method: 'POST',
        path: '/operator/v1/reconcile',
        body: { host: hostname, dry_run: false },
      }),
      done: () => `${hostname}: its devices are written to Placement soon.`,
    },
  } as const satisfies Readonly<Record<string, Action>>;
}

/** Two agents report as the host; the agent of this boot is the host's own. */
export function settleAction(hostname: string, bootId: string): Action {
  return {
    verb: 'Settle',
    object: `${hostname} by boot ${bootId}`,
    explains:
      'This boot is that of the host itself: its next report ends the conflict. Stop the other agent first, or enrol it under its own name.',
    fields: [],
    isFinal: true,
    request: () => ({
      method: 'POST',
      path: `${hostPath(hostname)}/settle`,
      body: { boot_id: bootId },
    }),
    done: () => `${hostname}: the next report of boot ${bootId} ends the conflict.`,
  };
}
