// A request that Cyborg's tests or its API reference send, with Cyborg's answer.

import type * as z from 'zod';
import type { Ask, World } from '#test/support/world.ts';

export type Request = readonly [method: string, path: string, ask?: Ask];

/** What the requests meet. */
export interface Meeting {
  readonly world: World;
  readonly known: {
    /** Uuids of what is there before the requests. */
    readonly device: string;
    readonly deployable: string;
    readonly attribute: string;
    readonly profile: string;
    /** Uuid of a bound ARQ of instance {@link instances.bound}. */
    readonly bound: string;
    readonly image: string;
    /** The integer of `deployable`. */
    readonly deployableId: number;
    /** Deployables that can be programmed. */
    readonly regions: readonly string[];
  };
  /** Creates an ARQ. */
  unbound(): Promise<string>;
  /** Creates an ARQ, and binds it to an instance of its own. */
  bound(): Promise<{ readonly uuid: string; readonly instance: string }>;
}

export interface Pair {
  readonly name: string;
  request(at: Meeting): Request | Promise<Request>;
  /** Cyborg's. */
  readonly status: number;
  readonly shape?: z.ZodType;
  /** The status here, and words of docs/api-differences.md that name the difference. */
  readonly here?: readonly [status: number, named: string];
}

export const none = '99999999-0000-4000-8000-000000000009';
export const profiles = '/v2/device_profiles';

export const instances = {
  bound: '77cc0000-0000-4000-8000-000000000001',
  unresolved: '77cc0000-0000-4000-8000-000000000002',
};

let count = 0;
export const fresh = (what: string) => `${what}-${++count}`;
export const freshInstance = () =>
  `77dd0000-0000-4000-8000-0000000${String(++count).padStart(5, '0')}`;

export const member = { token: 'demo-token' };
export const nova = { ...member, serviceToken: 'nova-token' };
export const admin = { token: 'admin-token' };
export const by = (token: object, microversion: string, body?: unknown): Ask => ({
  ...token,
  microversion: `accelerator ${microversion}`,
  ...(body !== undefined && { body }),
});

export const groups = [
  {
    'resources:FPGA': '1',
    'trait:CUSTOM_FPGA_INTEL_PAC_ARRIA10': 'required',
    'trait:CUSTOM_FUNCTION_ID_3AFB': 'required',
  },
  { 'resources:CUSTOM_ACCELERATOR_FOO': '2', 'trait:CUSTOM_TRAIT_ALWAYS': 'required' },
];
