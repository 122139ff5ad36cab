// Corrects the marks of hosts and devices that may have an incident. The streams set them; marks
// of rows that are older than the marks, and needless marks, are left to the sweep. A mark is read
// before its row: one that is set in between differs from the one that was read, and stays.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import {
  addMarkRound,
  type IncidentMark,
  markDevice,
  markHost,
  mayDeviceHaveIncident,
  mayHostHaveIncident,
} from '#core/domain/history/incident-marks.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import type { StoredMark } from '#core/store/hosts/incident-marks.ts';
import { timeNow } from '../time-now.ts';

const atOnce = 16;
/** The sweep has a minute for all of its parts; what is left is for the next one. */
const removalsMax = 1000;

/** Marks hosts that lack a mark, and removes needless marks of hosts. */
export async function keepHostMarks(
  deps: ConsumerDeps,
  hosts: readonly HostSummary[],
): Promise<void> {
  const { inventory, incidentMarks } = deps.store;
  const marks = await incidentMarks.marks('host');
  const marked = new Set(marks.map(({ id }) => id));
  const suspected = new Set(hosts.filter(mayHostHaveIncident).map(({ hostname }) => hostname));
  await setMarks(deps, [...suspected].filter((hostname) => !marked.has(hostname)).map(markHost));
  // The list comes from an index, which may lag: the row itself decides.
  const needless = marks.filter(({ id }) => !suspected.has(id)).slice(0, removalsMax);
  await forEachAtOnce(needless, atOnce, async (mark) => {
    const summary = await inventory.hostSummary(mark.id);
    if (!summary || !mayHostHaveIncident(summary)) await incidentMarks.unmark(mark);
  });
}

/** Removes marks of deleted devices. @param marks read before the hosts were listed */
export async function dropMarksOfDeleted(
  { store: { holds, incidentMarks } }: ConsumerDeps,
  marks: readonly StoredMark[],
  hosts: readonly HostSummary[],
): Promise<void> {
  const listed = new Set(hosts.map(({ hostname }) => hostname));
  const needless = marks.filter(({ hostname }) => !listed.has(hostname)).slice(0, removalsMax);
  await forEachAtOnce(needless, atOnce, async (mark) => {
    const device = await holds.device(mark.hostname, mark.id);
    if (!device) await incidentMarks.unmark(mark);
  });
}

/**
 * Marks devices of a host that lack a mark, and removes needless ones.
 *
 * @param marks of all devices, read before the host
 */
export async function keepDeviceMarks(
  deps: ConsumerDeps,
  hostname: string,
  marks: readonly StoredMark[],
  devices: readonly Device[],
  handlesOf: (device: Device) => readonly AttachHandle[],
): Promise<void> {
  const ofHost = marks.filter((mark) => mark.hostname === hostname);
  const marked = new Set(ofHost.map(({ id }) => id));
  const suspected = devices.filter((device) => mayDeviceHaveIncident(device, handlesOf(device)));
  await setMarks(deps, suspected.filter(({ uuid }) => !marked.has(uuid)).map(markDevice));
  const needed = new Set<string>(suspected.map(({ uuid }) => uuid));
  for (const mark of ofHost) {
    if (!needed.has(mark.id)) await deps.store.incidentMarks.unmark(mark);
  }
}

/** Notes a complete round over all hosts. @param at when it began */
export async function noteMarkRound({ store }: ConsumerDeps, at: string): Promise<void> {
  const { incidentMarks } = store;
  await incidentMarks.putRounds(addMarkRound(await incidentMarks.rounds(), at));
}

async function setMarks(deps: ConsumerDeps, marks: readonly IncidentMark[]): Promise<void> {
  const now = timeNow(deps);
  await forEachAtOnce(marks, atOnce, (mark) => deps.store.incidentMarks.mark(mark, now));
}
