// The actions on a device, as with `cyborg-ops devices`.

import type { Action } from '#console/parts/dialog/action.ts';
import { counted } from '#console/parts/time/time-text.ts';
import { present } from '#core/shapes/derive/present.ts';

type Freed = Partial<Readonly<Record<'attach_handles' | 'cleaning', readonly string[]>>>;

/** The address of a page has the uuid, so it may be any text. */
export function devicePath(uuid: string): string {
  return `/v2/devices/${encodeURIComponent(uuid)}`;
}

export function deviceActions(uuid: string) {
  const path = devicePath(uuid);
  const of = { object: `device ${uuid}` };
  const setStatus = (value: 'enabled' | 'disabled', reason?: string) => ({
    method: 'PATCH' as const,
    path,
    body: [{ op: 'replace', path: '/status', value, ...present({ reason }) }],
  });
  return {
    disable: {
      ...of,
      verb: 'Disable',
      explains: 'New servers do not get the device. What is bound stays bound.',
      fields: ['reason'],
      request: ({ reason }) => setStatus('disabled', reason),
      done: () => `Device ${uuid} is disabled.`,
    },
    enable: {
      ...of,
      verb: 'Enable',
      explains: 'New servers get the device again.',
      fields: [],
      request: () => setStatus('enabled'),
      done: () => `Device ${uuid} is enabled.`,
    },
    reset: {
      ...of,
      verb: 'Reset',
      explains:
        'The host resets the device as after a server, in the way of its driver. Servers that come meanwhile wait. If it fails, the device is out of service, and an incident names it.',
      fields: ['reason'],
      isFinal: true,
      request: ({ reason }) => ({
        method: 'POST',
        path: `/operator/v1/devices/${encodeURIComponent(uuid)}/reset`,
        body: present({ reason }),
      }),
      done: (answer) => {
        const { cleaning = [] } = (answer ?? {}) as Freed;
        return `Device ${uuid} is being reset: ${counted(cleaning.length, 'attach handle')}.`;
      },
    },
    forceRelease: {
      ...of,
      verb: 'Force release',
      explains:
        'Attach handles in quarantine return to the pool once the host has cleaned them. If you have cleaned the device yourself, they return at once: the next tenant gets the device as it is.',
      fields: ['reason', 'cleaned'],
      isFinal: true,
      request: ({ reason, isCleaned }) => ({
        method: 'POST',
        path: `${path}/force_release`,
        body: present({ reason, cleaned: isCleaned || undefined }),
      }),
      done: (answer) => {
        const { attach_handles: free = [], cleaning = [] } = (answer ?? {}) as Freed;
        return `Device ${uuid}: ${counted(free.length, 'attach handle')} free, ${cleaning.length} being cleaned.`;
      },
    },
  } as const satisfies Readonly<Record<string, Action>>;
}
