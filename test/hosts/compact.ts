// A record without the functions that no driver and no guard asks for: a host has hundreds of
// them, such as the registers of its memory controllers.

import type { HostRecord, RecordedFunction } from '#agent/record/host-record.ts';
import { driverFor } from '#agent/self-test/offer-all.ts';

/** Storage, networks, displays, co-processors, accelerators; virtual functions of them, too. */
const asked = /^(01|02|03|0b4|12)/;

export function compact(record: HostRecord): HostRecord {
  const byAddress = new Map(record.functions.map((fn) => [fn.address, fn]));
  const kept = new Set<string>();
  const keep = (fn: RecordedFunction | undefined) => {
    if (!fn || kept.has(fn.address)) return;
    kept.add(fn.address);
    keep(byAddress.get(fn.values.below ?? ''));
    keep(byAddress.get(fn.values.physical ?? ''));
  };
  for (const fn of record.functions) if (isAsked(fn)) keep(fn);
  const shared = new Set(
    [...kept].flatMap((address) => {
      const fn = byAddress.get(address);
      return fn && isAsked(fn) ? [slot(address), groupOf(fn) ?? slot(address)] : [];
    }),
  );
  // Others of a card, or of an IOMMU group, may go with it or stand in its way.
  for (const fn of record.functions) {
    if (shared.has(slot(fn.address)) || shared.has(groupOf(fn) ?? '')) keep(fn);
  }
  return { ...record, functions: record.functions.filter(({ address }) => kept.has(address)) };
}

/** NVSwitches are bridges of class 0680, which go to a guest with the GPUs. */
function isAsked(fn: RecordedFunction): boolean {
  const isSwitch = fn.classCode.startsWith('0680') && fn.ids.startsWith('10de');
  return asked.test(fn.classCode) || driverFor(fn) !== undefined || isSwitch;
}

function groupOf({ values: { group } }: RecordedFunction): string | undefined {
  return group === 'none' ? undefined : group;
}

function slot(address: string): string {
  return address.slice(0, address.lastIndexOf('.'));
}
