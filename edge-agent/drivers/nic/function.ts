// What the physical function of a network card holds of a virtual one (IFLA_VFINFO_LIST of
// rtnetlink), in the JSON of iproute2 5.15 to 7.1. Pure.

import * as z from 'zod';
import { present } from '#core/shapes/derive/present.ts';

const mac = z.string().regex(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
const rate = z.int().min(0).max(0xffffffff);
/** `{}` for a function without a VLAN. */
const vlan = z.object({
  vlan: z.int().min(0).max(4095).default(0),
  qos: z.int().min(0).max(7).default(0),
  protocol: z.enum(['802.1Q', '802.1ad']).default('802.1Q'),
});

/** A card's driver does not show what it cannot set. */
export const functionForm = z.object({
  vf: z.int().min(0).max(0xffff),
  address: mac,
  vlan_list: z.array(vlan).max(1).default([]),
  rate: z.object({ max_tx: rate, min_tx: rate }).optional(),
  spoofchk: z.boolean().optional(),
  trust: z.boolean().optional(),
  link_state: z.enum(['auto', 'enable', 'disable']).optional(),
});

/** The form on disk. */
export const functionSettings = z.object({
  mac,
  /** `0`, or `100 qos 3`; with `proto 802.1ad` if that is the protocol. */
  vlan: z.string().regex(/^\d{1,4}( qos [0-7])?( proto 802\.1ad)?$/),
  /** Mbit/s; 0 for no limit. */
  max_tx_rate: rate.exactOptional(),
  min_tx_rate: rate.exactOptional(),
  spoof_check: z.boolean().exactOptional(),
  trust: z.boolean().exactOptional(),
  link_state: z.enum(['auto', 'enable', 'disable']).exactOptional(),
});
export type FunctionSettings = z.infer<typeof functionSettings>;

export const noMac = '00:00:00:00:00:00';

/** Settings of a function that the kernel has just made, and the agent has not seen before. */
export const kernelDefaults: FunctionSettings = {
  mac: noMac,
  vlan: '0',
  max_tx_rate: 0,
  min_tx_rate: 0,
  spoof_check: true,
  trust: false,
  link_state: 'auto',
};

export function toSettings(shown: z.infer<typeof functionForm>): FunctionSettings {
  const [{ vlan: id = 0, qos = 0, protocol = '802.1Q' } = {}] = shown.vlan_list;
  const text = `${id}${qos ? ` qos ${qos}` : ''}${protocol === '802.1ad' ? ` proto ${protocol}` : ''}`;
  return {
    mac: shown.address,
    vlan: text,
    ...(shown.rate && { max_tx_rate: shown.rate.max_tx, min_tx_rate: shown.rate.min_tx }),
    ...present({ spoof_check: shown.spoofchk, trust: shown.trust, link_state: shown.link_state }),
  };
}

/** One thing that iproute2 sets by itself. */
interface FunctionDifference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
  /** Behind `vf <number>`. */
  readonly args: readonly string[];
}

/** What is not shown, or was not, is left out: it cannot be set. */
export function compareSettings(
  now: FunctionSettings,
  recorded: FunctionSettings,
): FunctionDifference[] {
  const differences: FunctionDifference[] = [];
  const compare = (what: string, before: unknown, after: unknown, args: readonly string[]) => {
    if (before === undefined || after === undefined || before === after) return;
    differences.push({ what, before: String(before), after: String(after), args });
  };
  compare('trust', now.trust, recorded.trust, ['trust', onOff(recorded.trust)]);
  compare('MAC address', now.mac, recorded.mac, ['mac', recorded.mac]);
  compare('VLAN', now.vlan, recorded.vlan, ['vlan', ...recorded.vlan.split(' ')]);
  const { max_tx_rate: max, min_tx_rate: min } = recorded;
  const rates = ['min_tx_rate', String(min), 'max_tx_rate', String(max)];
  compare('highest rate', now.max_tx_rate, max, rates);
  compare('lowest rate', now.min_tx_rate, min, rates);
  const { spoof_check: spoof, link_state: state } = recorded;
  compare('spoof check', now.spoof_check, spoof, ['spoofchk', onOff(spoof)]);
  compare('link state', now.link_state, state, ['state', state ?? 'auto']);
  return differences;
}

function onOff(value: boolean | undefined): string {
  return value ? 'on' : 'off';
}
